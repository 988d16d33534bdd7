package engine

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// maxPlaces bounds the kinds and namespaces that are watched at once.
	maxPlaces = 64
	// wakeEvery is how often a key is tried because of what refuses its pods.
	wakeEvery = time.Second
	// watchAgain is the pause after a watch that failed.
	watchAgain = 5 * time.Second
)

// enders are what may end what keeps pods, by the code of the finding: it comes to allow
// them, or is what they lack. Secrets are not among them, as who may watch their metadata may
// read them.
var enders = map[string]struct {
	kind       string
	resource   schema.GroupVersionResource
	everywhere bool // has no namespace
	// named is set where only the one counts that the cluster's message names.
	named bool
	// labelsOnly is set where other changes than of labels say nothing, as a node's own.
	labelsOnly bool
}{
	diagnosis.Claim:          {kind: "PersistentVolumeClaim", resource: schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, named: true},
	diagnosis.Config:         {kind: "ConfigMap", resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, named: true},
	diagnosis.Node:           {kind: "Node", resource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, everywhere: true, labelsOnly: true},
	diagnosis.Quota:          {kind: "ResourceQuota", resource: schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}},
	diagnosis.LimitRange:     {kind: "LimitRange", resource: schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}},
	diagnosis.ServiceAccount: {kind: "ServiceAccount", resource: schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}},
	diagnosis.PriorityClass:  {kind: "PriorityClass", resource: schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}, everywhere: true},
}

// place is one kind in one namespace.
type place struct{ code, namespace string }

// lack is what keeps the pods of a key.
type lack struct {
	code    string
	message string // of the cluster
}

// unblocker watches, while something keeps the pods of a key, the metadata of what may end
// that, and has the key tried at once when it changes: the back-off of what refuses pods
// has grown to many minutes by then. Where the right to watch is missing, it does nothing.
// Safe for concurrent use.
type unblocker struct {
	client metadata.Interface // nil: nothing is watched
	logger *slog.Logger
	wake   func(key string, cause telemetry.Cause)

	mu     sync.Mutex
	ctx    context.Context // of Run; nil before it
	group  sync.WaitGroup
	keys   map[string]place
	places map[place]*watched
	denied map[string]bool // by code
}

// watched is a place that is watched, and the keys that wait for it, each with the
// message that names what it waits for.
type watched struct {
	keys map[string]string
	// there are the names of those that were created while it was watched.
	there map[string]bool
	stop  context.CancelFunc
}

// run lets watches begin until ctx ends; wait returns when the last of them has ended.
func (u *unblocker) run(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ctx = ctx
	u.keys, u.places, u.denied = map[string]place{}, map[place]*watched{}, map[string]bool{}
}

func (u *unblocker) wait() { u.group.Wait() }

// follow takes what became of a sync: its key waits for what may end what keeps its
// pods, or for nothing.
func (u *unblocker) follow(t *telemetry.Trace) {
	l, decided := lackOf(t)
	if u.client == nil || !decided {
		return
	}
	key, at := t.Key(), place{l.code, t.Namespace}
	e, known := enders[at.code]
	if e.everywhere {
		at.namespace = ""
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if before := u.keys[key]; before != at {
		u.leave(key, before)
	}
	if known && u.ctx != nil && u.ctx.Err() == nil && !u.denied[at.code] {
		u.join(key, at, l.message)
	}
}

// forget is for a key whose object is gone: its last sync does not say what keeps pods.
func (u *unblocker) forget(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leave(key, u.keys[key])
}

// lackOf is what keeps the pods of a sync's object, nothing for the zero one. It is false
// where the sync does not say: it waited for a write of its own or for pods that it had
// asked for. What keeps pods that exist is left to the top of a family.
func lackOf(t *telemetry.Trace) (lack, bool) {
	if len(t.Rounds) == 0 {
		return lack{}, false
	}
	if v := &t.Rounds[len(t.Rounds)-1].Verdict; v.Stop || slices.ContainsFunc(v.Held, ofPods) {
		return lack{}, false
	}
	if code := refusedBy(t.Rounds); code != "" {
		return lack{code: code}, true
	}
	if f := t.Diagnosis.First(); f != nil && t.Owner == "" && !diagnosis.IsRefusal(f.Code) {
		return lack{f.Code, f.Message}, true
	}
	return lack{}, true
}

func ofPods(h decision.Held) bool {
	return h.Kind == decision.CreatePods || h.Kind == decision.DeletePods
}

// refusedBy is the code of who refused to create pods in the last round, "" for nobody.
func refusedBy(rounds []decision.Round) string {
	last := rounds[len(rounds)-1]
	for i, a := range last.Verdict.Actions {
		if a.Kind != decision.CreatePods || i >= len(last.Outcomes) {
			continue
		}
		if o := last.Outcomes[i]; o.Failure != nil && (o.State == decision.Refused || o.State == decision.Partly) {
			return diagnosis.OfRefusal(diagnosis.Refusal{Message: o.Failure.Message}).Code
		}
	}
	return ""
}

// join is called with the lock held.
func (u *unblocker) join(key string, at place, message string) {
	w := u.places[at]
	if w == nil {
		if len(u.places) >= maxPlaces {
			return // The back-off still tries.
		}
		ctx, stop := context.WithCancel(u.ctx)
		w = &watched{keys: map[string]string{}, there: map[string]bool{}, stop: stop}
		u.places[at] = w
		u.group.Go(func() { u.watch(ctx, at) })
	}
	w.keys[key], u.keys[key] = message, at
}

// leave is called with the lock held.
func (u *unblocker) leave(key string, at place) {
	delete(u.keys, key)
	w := u.places[at]
	if w == nil {
		return
	}
	if delete(w.keys, key); len(w.keys) == 0 {
		w.stop()
		delete(u.places, at)
	}
}

// seen is how far the watches of a place have come.
type seen struct {
	version string                       // the next one begins here, "" for now
	labels  map[string]map[string]string // by name
}

// watch follows a place until nobody waits for it.
func (u *unblocker) watch(ctx context.Context, at place) {
	known := seen{labels: map[string]map[string]string{}}
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
		list, err := from.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		known.version = list.ResourceVersion
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

// forgetIfGone has the next watch begin now where the API server no longer knows what this one
// was to begin with.
func (s *seen) forgetIfGone(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		s.version = ""
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

// arrived are the objects that the pods of a key lacked, and that were created since.
func (u *unblocker) arrived(key string) (list []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.keys[key]
	w := u.places[at]
	if w == nil {
		return nil
	}
	for name, is := range w.there {
		if is && diagnosis.Mentions(w.keys[key], name) {
			list = append(list, enders[at.code].kind+" "+name)
		}
	}
	slices.Sort(list)
	return list
}

// concerns notes that an object came or went, and reports whether a key waits for it.
func (u *unblocker) concerns(at place, e watch.Event) bool {
	o, ok := e.Object.(metav1.Object)
	u.mu.Lock()
	defer u.mu.Unlock()
	w := u.places[at]
	if !ok || w == nil {
		return false
	}
	for _, message := range w.keys {
		if diagnosis.Mentions(message, o.GetName()) {
			w.there[o.GetName()] = e.Type != watch.Deleted && (e.Type == watch.Added || w.there[o.GetName()])
			return true
		}
	}
	return false
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

func (u *unblocker) wakeAll(at place, cause telemetry.Cause) {
	u.mu.Lock()
	var keys []string
	if w := u.places[at]; w != nil {
		_, object, _ := strings.Cut(cause.Object, " ")
		for key, message := range w.keys {
			if !enders[at.code].named || diagnosis.Mentions(message, object) {
				keys = append(keys, key)
			}
		}
	}
	u.mu.Unlock()
	for _, key := range keys {
		u.wake(key, cause)
	}
}

// deny gives up on a kind that may not be watched: the back-off has to do.
func (u *unblocker) deny(at place, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.denied[at.code] {
		u.logger.Info("What keeps pods is not watched", "kind", enders[at.code].kind, "error", redact.Message(err.Error()))
	}
	u.denied[at.code] = true
	if w := u.places[at]; w != nil {
		for key := range w.keys {
			delete(u.keys, key)
		}
		w.stop()
		delete(u.places, at)
	}
}
