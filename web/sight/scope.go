// Package sight is what a viewer may see, and nothing else. Pages have the record by a Journal of
// this package alone, which leaves out what its viewer may not get: no page can forget to ask. It
// makes nothing of what it lets through, and knows no page and no request.
package sight

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Viewer is who reads. Its methods must be safe for concurrent use.
type Viewer interface {
	// Name tells viewers apart: two of the same name may the same. It is not shown.
	Name() string
	// May reports whether the viewer may get and list the objects of a resource in a namespace, or
	// with "" in all of them and those without one.
	May(ctx context.Context, r decision.Resource, namespace string) (bool, error)
	// Opens reports whether the viewer may read what is at a path of the console.
	Opens(ctx context.Context, path string) (bool, error)
}

const (
	// allowedFor and deniedFor are how long it is remembered what a viewer may, failedFor how long
	// that nobody could say so. Who may see one of a thousand namespaces is denied the others, so
	// that a right which is new is noticed later than one that has ended.
	allowedFor, deniedFor, failedFor = 15 * time.Second, time.Minute, 2 * time.Second
	// askWithin is how long an answer may take, and askedAtOnce how many are waited for at once.
	askWithin, askedAtOnce = 10 * time.Second, 16
	// silentFor is how long nobody is asked after an answer that took longer.
	silentFor = 30 * time.Second
	// mostKnown bounds the answers that are remembered of one viewer.
	mostKnown = 20_000
)

// Scope is what one viewer may see. A nil Scope sees everything. It is safe for concurrent use.
type Scope struct {
	viewer Viewer
	loops  decision.Loops

	asking  singleflight.Group
	mu      sync.Mutex
	known   map[question]reply
	changes atomic.Uint64 // how often a known answer became another one
	// silent is until when nobody is asked, as nobody has answered in time: who draws a page for one
	// viewer keeps all others waiting meanwhile.
	silent atomic.Int64
}

// question is about a resource in a namespace, or about a path.
type question struct {
	resource        decision.Resource
	namespace, path string
}

func (q question) key() string {
	return q.resource.Group + "\x00" + q.resource.Name + "\x00" + q.namespace + "\x00" + q.path
}

type reply struct {
	may   bool
	until time.Time
}

// nobody is who may nothing.
type nobody struct{}

func (nobody) Name() string { return "nobody" }

func (nobody) May(context.Context, decision.Resource, string) (bool, error) { return false, nil }

func (nobody) Opens(context.Context, string) (bool, error) { return false, nil }

// Nobody is the viewer who may nothing.
var Nobody Viewer = nobody{}

// NewScope returns what a viewer may see of what these loops do.
func NewScope(v Viewer, loops decision.Loops) *Scope {
	return &Scope{viewer: v, loops: loops, known: map[question]reply{}}
}

// Opens reports whether the viewer may read what is at a path.
func (s *Scope) Opens(path string) bool { return s == nil || s.may(question{path: path}) }

// Whole reports whether the viewer may see all objects of a loop.
func (s *Scope) Whole(loop string) bool { return s == nil || s.told(loop, "") }

// Everything reports whether nothing is left out for the viewer.
func (s *Scope) Everything(loops []string) bool {
	if s == nil {
		return true
	}
	for _, l := range append(s.loops.Names(), loops...) {
		if !s.Whole(l) {
			return false
		}
	}
	return s.may(question{resource: decision.Events})
}

// Sees reports whether the viewer may see an object, and the syncs of it.
func (s *Scope) Sees(o telemetry.Object) bool {
	return s.Whole(o.Loop) || o.Namespace != "" && s.told(o.Loop, o.Namespace)
}

// told reports whether the viewer may get all that syncs of a loop tell of, in a namespace.
func (s *Scope) told(loop, namespace string) bool {
	for _, r := range s.loops.Of(loop).Told() {
		if !s.may(question{resource: r, namespace: namespace}) {
			return false
		}
	}
	return true
}

// SeesSync reports whether the viewer may see a sync: its object, and what it names in other namespaces.
func (s *Scope) SeesSync(t *telemetry.Trace) bool {
	if s == nil {
		return true
	}
	if !s.Sees(t.Object) {
		return false
	}
	for i := range t.Causes {
		if !s.seesNamed(t.Object, t.Causes[i].Object) {
			return false
		}
	}
	for i := range t.Rounds {
		v := &t.Rounds[i].Verdict
		for j := range v.Actions {
			if !s.seesRef(t, &v.Actions[j].Target) {
				return false
			}
		}
		for j := range v.Held {
			if h := &v.Held[j]; !s.seesRef(t, &h.Target) || !s.seesRef(t, &h.When.Of) {
				return false
			}
		}
	}
	return true
}

// seesRef reports whether the viewer may see what a verdict refers to. What it does not name is no secret.
func (s *Scope) seesRef(t *telemetry.Trace, to *decision.Ref) bool {
	return to.Kind == "" && to.Name == "" || to.Namespace == t.Namespace || s.seesKind(to.Kind, to.Namespace)
}

// seesNamed reports whether the viewer may see what the record of an object calls another one. What
// is in the same namespace is among what its syncs tell of.
func (s *Scope) seesNamed(o telemetry.Object, called string) bool {
	kind, namespace, _, named := o.Called(called)
	return !named || namespace == o.Namespace || s.seesKind(kind, namespace)
}

// seesKind is for what syncs of another namespace name. Nobody knows the resource of a kind that no
// loop has.
func (s *Scope) seesKind(kind, namespace string) bool {
	if loop := s.loops.Named(kind); loop != "" {
		return s.Sees(telemetry.Object{Loop: loop, Namespace: namespace})
	}
	return s.may(question{resource: decision.AllResources, namespace: namespace})
}

// prepareAll finds out what is to be known of all loops.
func (s *Scope) prepareAll(of map[string][]string) {
	var all errgroup.Group
	all.SetLimit(askedAtOnce)
	all.Go(func() error { s.may(question{resource: decision.Events}); return nil })
	for _, loop := range s.loops.Names() {
		all.Go(func() error { s.Whole(loop); return nil })
	}
	_ = all.Wait() // They return nothing.
	s.prepare(of)
}

// prepare asks about many namespaces at once, those of each loop.
func (s *Scope) prepare(of map[string][]string) {
	var all errgroup.Group
	all.SetLimit(askedAtOnce)
	for loop, namespaces := range of {
		if s.Whole(loop) {
			continue
		}
		for _, ns := range namespaces {
			all.Go(func() error { s.told(loop, ns); return nil })
		}
	}
	_ = all.Wait()
}

// may is what is known, or else what the viewer says. Where nobody can say it, the viewer may not.
func (s *Scope) may(q question) bool {
	if may, ok := s.recall(q); ok {
		return may
	}
	if time.Now().UnixNano() < s.silent.Load() {
		return false
	}
	may, _, _ := s.asking.Do(q.key(), func() (any, error) {
		if may, ok := s.recall(q); ok { // Somebody had the answer meanwhile.
			return may, nil
		}
		return s.ask(q), nil
	})
	return may.(bool)
}

// recall is what is remembered, if that is not too long ago.
func (s *Scope) recall(q question) (may, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[q]
	return known.may, ok && time.Now().Before(known.until)
}

func (s *Scope) ask(q question) bool {
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	var may bool
	var err error
	if q.path != "" {
		may, err = s.viewer.Opens(ctx, q.path)
	} else {
		may, err = s.viewer.May(ctx, q.resource, q.namespace)
	}
	if ctx.Err() != nil {
		s.silent.Store(time.Now().Add(silentFor).UnixNano())
	}
	keep := deniedFor
	switch {
	case err != nil:
		may, keep = false, failedFor
	case may, q.path != "", q.namespace == "":
		keep = allowedFor
	}
	s.note(q, reply{may, time.Now().Add(keep)})
	return may
}

// note remembers an answer, and that it was another one before.
func (s *Scope) note(q question, r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.known[q]
	if !ok && len(s.known) >= mostKnown {
		clear(s.known) // Whatever was known may be another now.
		s.changes.Add(1)
	}
	if s.known[q] = r; ok && was.may != r.may {
		s.changes.Add(1)
	}
}
