package engine

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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

// wakeUnseen has every key of a place tried: what it waits for may have changed while nobody
// watched.
func (u *unblocker) wakeUnseen(at place) {
	u.mu.Lock()
	var keys []string
	if w := u.places[at]; w != nil {
		keys = slices.Collect(maps.Keys(w.keys))
	}
	u.mu.Unlock()
	for _, key := range keys {
		u.wake(key, telemetry.Cause{Kind: telemetry.CauseTimer, At: time.Now(), Code: telemetry.CodeListedAgain})
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
