package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fieldselector "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// followAgain is how soon a watch of events that ended is begun again, and followAllowed how soon one
	// that is not permitted.
	followAgain, followAllowed = 5 * time.Second, 5 * time.Minute
	// combined begins the message of an event that stands for several with other messages: that of the
	// newest of them follows.
	combined = "(combined from similar events): "
)

// notOfPods leaves the events of pods out at the API server: they are most of all, and no loop here publishes any.
var notOfPods = fieldselector.OneTermNotEqualSelector("involvedObject.kind", "Pod").String()

// Publications follows the events that the controllers of other processes publish about the objects of
// loops. Nothing is kept of them, and what was published before it began is left out.
type Publications struct {
	Client    kubernetes.Interface
	Namespace string // "" for all
	// Of are the loops; those that predict no events are left out.
	Of     []Registration
	Clock  clock.Clock
	Logger *slog.Logger
	// Heard is told of each event, and Follows of whether they are watched, with a reason where not. Neither may block.
	Heard   func(*telemetry.Published)
	Follows func(events bool, why string)
}

// Run follows them until ctx ends. Where it may not it tries again every five minutes.
func (p *Publications) Run(ctx context.Context) error {
	why := ""
	for {
		err := p.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		wait := followAgain
		switch {
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err): // Nothing was missed but what came in between.
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			wait = followAllowed
			fallthrough
		default:
			if now := redact.Line(err.Error()); now != why {
				why = now
				p.Logger.Info("Events are not compared", "error", why)
			}
			p.Follows(false, why)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.Clock.After(wait):
		}
	}
}

// follow watches until the watch cannot go on.
func (p *Publications) follow(ctx context.Context) error {
	events := p.Client.CoreV1().Events(p.Namespace)
	now, err := events.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	begin := cache.WatchFuncWithContext(func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.FieldSelector = notOfPods
		w, err := events.Watch(ctx, o)
		if err == nil {
			p.Follows(true, "")
		}
		return w, err
	})
	w, err := watchtools.NewRetryWatcherWithContext(ctx, now.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: begin})
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		switch o := e.Object.(type) {
		case *corev1.Event:
			if e.Type == watch.Deleted {
				continue
			}
			if heard := p.published(o); heard != nil {
				p.Heard(heard)
			}
		case *metav1.Status:
			return apierrors.FromObject(o)
		}
	}
	return errors.New("the watch of events has ended")
}

// published is an event as it is compared; nil for one that is of no loop here.
func (p *Publications) published(e *corev1.Event) *telemetry.Published {
	group, err := schema.ParseGroupVersion(e.InvolvedObject.APIVersion)
	by := cmp.Or(e.ReportingController, e.Source.Component)
	at := slices.IndexFunc(p.Of, func(r Registration) bool {
		return r.Settings.Component == by && r.Loop.Kind == e.InvolvedObject.Kind && r.Resource.Group == group.Group && predictsEvents(&r.Loop)
	})
	if err != nil || at < 0 {
		return nil
	}
	w := warning(e)
	return &telemetry.Published{
		Object: telemetry.Object{Loop: p.Of[at].Loop.Name, Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name},
		UID:    string(e.InvolvedObject.UID), Named: e.Name, Component: by, At: p.Clock.Now(), Stamped: w.At,
		Event: decision.Event{Type: redact.Line(e.Type), Reason: w.Reason, Message: strings.TrimPrefix(w.Message, combined)},
	}
}

func predictsEvents(l *decision.Loop) bool {
	return slices.ContainsFunc(l.Predicts, func(p decision.Predictable) bool { return p.Aspect == decision.AspectEvent })
}
