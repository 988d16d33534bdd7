package engine

import (
	"context"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	"github.com/loopscope/loopscope/telemetry"
)

const (
	// watchAgain is the pause after a watch that failed.
	watchAgain = 5 * time.Second
	// listPage is how many objects are listed at once where the labels of all are needed.
	listPage = 500
)

// seen is how far the watches of a place have come.
type seen struct {
	version string                       // the next one begins here, "" for now
	labels  map[string]map[string]string // by name
	gap     bool                         // something may have changed unseen
}

// watch follows a place until nobody waits for it.
func (u *unblocker) watch(ctx context.Context, at place) {
	var known seen
	for brief := false; ctx.Err() == nil; {
		began, wasBrief := time.Now(), brief
		err := u.once(ctx, at, &known)
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) { // Not 401: credentials are renewed.
			u.deny(at, err)
			return
		}
		brief = time.Since(began) < wakeEvery
		if err == nil && !(brief && wasBrief) {
			continue // A watch ends now and then, but not each as it begins.
		}
		pause := time.NewTimer(watchAgain)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// once is one watch, from its beginning to its end. It shows what changed since the one before,
// unless that is too long ago for the API server.
func (u *unblocker) once(ctx context.Context, at place, known *seen) error {
	r := enders[at.code]
	from := u.client.Resource(r.resource).Namespace(at.namespace)
	if known.version == "" {
		if err := known.list(ctx, from, r.labelsOnly); err != nil {
			return err
		}
		if known.gap {
			known.gap = false
			u.wakeUnseen(at)
		}
	}
	events, err := from.Watch(ctx, metav1.ListOptions{ResourceVersion: known.version, AllowWatchBookmarks: true})
	if err != nil {
		known.forgetIfGone(err)
		return err
	}
	defer events.Stop()
	pending := map[string]telemetry.Cause{} // the newest change; of each object, where keys wait for one of their own
	tick := time.NewTicker(wakeEvery)
	defer tick.Stop()
	var last time.Time
	wake := func() {
		for _, cause := range pending {
			u.wakeAll(at, cause)
		}
		clear(pending)
		last = time.Now()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-events.ResultChan():
			if !open || e.Type == watch.Error {
				wake() // The next watch does not show these changes again.
				if open {
					known.forgetIfGone(apierrors.FromObject(e.Object))
				}
				return nil
			}
			if o, ok := e.Object.(metav1.Object); ok {
				known.version = o.GetResourceVersion()
			}
			if e.Type == watch.Bookmark || r.labelsOnly && sameLabels(known.labels, e) || r.named && !u.concerns(at, e) {
				continue
			}
			cause, of := changeOf(e, r.kind), ""
			if r.named {
				of = cause.Object
			}
			pending[of] = cause
		case <-tick.C:
		}
		if len(pending) > 0 && time.Since(last) >= wakeEvery {
			wake()
		}
	}
}

// list takes the version at which a watch can begin, and the labels of all objects where
// they count. While lists fail, changes go unseen.
func (s *seen) list(ctx context.Context, from metadata.ResourceInterface, labels bool) error {
	opts := metav1.ListOptions{Limit: 1}
	if labels {
		opts.Limit = listPage
	}
	found := map[string]map[string]string{}
	for {
		page, err := from.List(ctx, opts)
		if err != nil {
			s.gap = true
			return err
		}
		for i := range page.Items {
			found[page.Items[i].Name] = page.Items[i].Labels
		}
		if opts.Continue = page.Continue; !labels || opts.Continue == "" {
			s.version, s.labels = page.ResourceVersion, found
			return nil
		}
	}
}

// forgetIfGone has the next watch begin now where the API server no longer knows what this one
// was to begin with.
func (s *seen) forgetIfGone(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		s.version, s.gap = "", true
	}
}

// sameLabels reports whether nothing of an object changed that its labels show, and
// remembers them.
func sameLabels(known map[string]map[string]string, e watch.Event) bool {
	o, ok := e.Object.(metav1.Object)
	if !ok {
		return true
	}
	before, seen := known[o.GetName()]
	known[o.GetName()] = o.GetLabels()
	return e.Type == watch.Modified && (!seen || maps.Equal(before, o.GetLabels()))
}

func changeOf(e watch.Event, kind string) telemetry.Cause {
	kinds := map[watch.EventType]telemetry.CauseKind{watch.Added: telemetry.CauseAdded, watch.Deleted: telemetry.CauseDeleted}
	c := telemetry.Cause{Kind: telemetry.CauseModified, At: time.Now(), Object: kind}
	if k, ok := kinds[e.Type]; ok {
		c.Kind = k
	}
	if o, ok := e.Object.(metav1.Object); ok {
		c.Object, c.NewRV = kind+" "+o.GetName(), o.GetResourceVersion()
	}
	return c
}
