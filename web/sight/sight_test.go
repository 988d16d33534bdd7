package sight

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var loops = decision.Loops{
	{Name: "pile", Kind: "Pile", Shows: []decision.Resource{{Group: "g", Name: "piles"}, {Name: "stones"}}},
	{Name: "stone", Kind: "Stone", Owner: "pile", Shows: []decision.Resource{{Name: "stones"}}},
	{Name: "secretive", Kind: "Secretive"},
}

// viewer has rights by resource and namespace, "" for all, and counts what is asked.
type viewer struct {
	mu    sync.Mutex
	may   map[string]bool
	err   error
	asked []string
}

func (v *viewer) Name() string { return "somebody" }

func (v *viewer) answer(key string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, key)
	return v.may[key], v.err
}

func (v *viewer) May(_ context.Context, r decision.Resource, namespace string) (bool, error) {
	return v.answer(r.String() + " " + namespace)
}

func (v *viewer) Opens(_ context.Context, path string) (bool, error) { return v.answer(path) }

func (v *viewer) allow(may bool, keys ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, k := range keys {
		v.may[k] = may
	}
}

func (v *viewer) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.asked)
}

func who(keys ...string) *viewer {
	v := &viewer{may: map[string]bool{}}
	v.allow(true, keys...)
	return v
}

func object(loop, namespace, name string) telemetry.Object {
	return telemetry.Object{Loop: loop, Namespace: namespace, Name: name}
}

// An object is seen by whoever may get all that its syncs tell of, there or everywhere; what nobody
// has declared by whoever may everything.
func TestSees(t *testing.T) {
	for name, c := range map[string]struct {
		rights []string
		o      telemetry.Object
		want   bool
	}{
		"everywhere":            {[]string{"piles.g ", "stones "}, object("pile", "a", "x"), true},
		"there":                 {[]string{"piles.g a", "stones a"}, object("pile", "a", "x"), true},
		"elsewhere":             {[]string{"piles.g b", "stones b"}, object("pile", "a", "x"), false},
		"one of two":            {[]string{"piles.g a"}, object("pile", "a", "x"), false},
		"the other of two":      {[]string{"stones a"}, object("pile", "a", "x"), false},
		"half here, half there": {[]string{"piles.g ", "stones a"}, object("pile", "a", "x"), false},
		"its own kind":          {[]string{"stones a"}, object("stone", "a", "x"), true},
		"no namespace":          {[]string{"stones a"}, object("stone", "", "x"), false},
		"no namespace, all":     {[]string{"stones "}, object("stone", "", "x"), true},
		"says nothing":          {[]string{"piles.g ", "stones "}, object("secretive", "a", "x"), false},
		"says nothing, all":     {[]string{"everything "}, object("secretive", "a", "x"), true},
		"unknown":               {[]string{"piles.g ", "stones "}, object("nobodys", "a", "x"), false},
		"unknown, there":        {[]string{"everything a"}, object("nobodys", "a", "x"), true},
		"no loop":               {[]string{"piles.g ", "stones "}, telemetry.Object{}, false},
	} {
		if got := NewScope(who(c.rights...), loops).Sees(c.o); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !(*Scope)(nil).Sees(object("pile", "a", "x")) || !(*Scope)(nil).Opens("/") || !(*Scope)(nil).Everything(nil) || NewScope(Nobody, loops).Opens("/") {
		t.Error("no scope sees everything, and nobody nothing")
	}
}

// A sync that names something of another namespace is seen by whoever may see that, too.
func TestSyncsThatNameOthers(t *testing.T) {
	cause := func(of string) *telemetry.Trace {
		return &telemetry.Trace{Object: object("stone", "a", "x"), Causes: []telemetry.Cause{{Object: "Stone y"}, {Object: of}, {}}}
	}
	action := func(kind, namespace string) *telemetry.Trace {
		return &telemetry.Trace{Object: object("stone", "a", "x"), Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{{Target: decision.Ref{Kind: kind, Namespace: namespace, Name: "y"}}}}}}}
	}
	held := func(h decision.Held) *telemetry.Trace {
		return &telemetry.Trace{Object: object("stone", "a", "x"), Rounds: []decision.Round{{Verdict: decision.Verdict{Held: []decision.Held{{}, h}}}}}
	}
	stone := decision.Ref{Kind: "Stone", Namespace: "b", Name: "y"}
	here, both, all := []string{"stones a"}, []string{"stones a", "stones b"}, []string{"stones ", "everything b"}
	for name, c := range map[string]struct {
		rights []string
		sync   *telemetry.Trace
		want   bool
	}{
		"none":            {here, cause("Stone z"), true},
		"another":         {here, cause("Stone b/z"), false},
		"another, seen":   {both, cause("Stone b/z"), true},
		"unknown":         {both, cause("Secret b/z"), false},
		"unknown, seen":   {all, cause("Secret b/z"), true},
		"written":         {here, action("Stone", "b"), false},
		"written here":    {here, action("Secret", "a"), true},
		"written, seen":   {both, action("Stone", "b"), true},
		"held":            {here, held(decision.Held{Target: stone}), false},
		"held, seen":      {both, held(decision.Held{Target: stone}), true},
		"held by another": {here, held(decision.Held{When: decision.Unblock{Of: stone}}), false},
		"held for all":    {here, held(decision.Held{Target: decision.Ref{Kind: "Mountain", Name: "y"}}), false},
		"held here":       {here, held(decision.Held{Target: decision.Ref{Kind: "Secret", Namespace: "a"}}), true},
		"of another loop": {here, &telemetry.Trace{Object: object("pile", "a", "x")}, false},
	} {
		if got := NewScope(who(c.rights...), loops).SeesSync(c.sync); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What a viewer may is remembered for a while, and asked once by all who wait for it.
func TestRightsAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := who("stones a")
		s := NewScope(v, loops)
		here, there := object("stone", "a", "x"), object("stone", "b", "x")
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { s.Sees(here); s.Sees(there) })
		}
		all.Wait()
		if n := v.count(); n != 3 { // Everywhere, here and there.
			t.Errorf("%d questions: %v", n, v.asked)
		}
		v.allow(false, "stones a")
		v.allow(true, "stones b")
		time.Sleep(allowedFor - time.Second)
		if !s.Sees(here) || s.Sees(there) || s.changes.Load() != 0 {
			t.Error("it was asked too early")
		}
		time.Sleep(time.Second)
		if s.Sees(here) || s.Sees(there) || s.changes.Load() != 1 {
			t.Errorf("a right that ended is not noticed after %s, %d changes", allowedFor, s.changes.Load())
		}
		time.Sleep(deniedFor)
		if !s.Sees(there) || s.changes.Load() != 2 {
			t.Errorf("a new right is not noticed after %s, %d changes", deniedFor, s.changes.Load())
		}
	})
}

// Where nobody can say what a viewer may, the viewer may not, and it is soon asked again.
func TestNobodyCanSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := who("stones a", "/queues")
		v.err = errors.New("no answer")
		s := NewScope(v, loops)
		if s.Sees(object("stone", "a", "x")) || s.Opens("/queues") {
			t.Error("it is allowed")
		}
		v.err = nil
		time.Sleep(failedFor)
		if !s.Sees(object("stone", "a", "x")) || !s.Opens("/queues") {
			t.Errorf("it is not allowed after %s", failedFor)
		}
		v.allow(false, "/queues")
		if time.Sleep(allowedFor); s.Opens("/queues") {
			t.Error("a path is not looked at again")
		}
	})
}

// What is remembered is bounded, and whatever was known counts as changed when it is forgotten.
func TestRightsAreBounded(t *testing.T) {
	s := NewScope(who(), loops)
	for i := range mostKnown + 10 {
		s.Opens("/" + strconv.Itoa(i))
	}
	if n := len(s.known); n > mostKnown || s.changes.Load() != 1 {
		t.Errorf("%d are known, %d changes", n, s.changes.Load())
	}
}

// TestPrepare: one question for each resource is enough for whoever may see everything, however many
// namespaces there are; and all that there is to know of the others is asked.
func TestPrepare(t *testing.T) {
	j := telemetry.NewJournal(telemetry.JournalOptions{Loops: loops})
	for i := range 300 {
		j.Record(&telemetry.Trace{Object: object("pile", "ns-"+strconv.Itoa(i), "x")})
		j.Record(&telemetry.Trace{Object: object("stone", "ns-"+strconv.Itoa(i), "x")})
	}
	everything := who("piles.g ", "stones ", "everything ", "events ")
	s := NewScope(everything, loops)
	NewJournal(j, s).Prepare()
	if n := everything.count(); n != 4 || !s.Everything(j.Board().Loops()) || len(NewJournal(j, s).Board().Rows("pile")) != 300 || everything.count() != 4 {
		t.Errorf("%d questions: %v", n, everything.asked)
	}
	one := who("piles.g ns-7", "stones ns-7")
	view := NewJournal(j, NewScope(one, loops))
	view.Prepare()
	n := one.count()
	if rows := view.Board().Rows("pile"); len(rows) != 1 || rows[0].Trace.Namespace != "ns-7" || view.Board().Len() != 2 || one.count() != n || n > 700 {
		t.Errorf("%d questions, then %d", n, one.count())
	}
}

// journal has a pile and its stone in each of two namespaces, and a viewer who sees the first.
func journal() (all *telemetry.Journal, seen *Journal, v *viewer) {
	all = telemetry.NewJournal(telemetry.JournalOptions{Loops: loops, Epoch: "e"})
	for _, ns := range []string{"a", "b", "b", "b"} {
		all.Record(&telemetry.Trace{Object: object("pile", ns, "x"), Ended: time.Unix(1, 0)})
		all.Record(&telemetry.Trace{Object: object("stone", ns, "y"), Owner: "x", Ended: time.Unix(1, 0)})
	}
	v = who("piles.g a", "stones a")
	return all, NewJournal(all, NewScope(v, loops)), v
}

// TestJournal: every way to a sync leads to those that may be seen.
func TestJournal(t *testing.T) {
	_, j, _ := journal()
	here, there := object("pile", "a", "x"), object("pile", "b", "x")
	for name, of := range map[string]func(o telemetry.Object, seq uint64) bool{
		"get":      func(_ telemetry.Object, seq uint64) bool { _, ok := j.Get(seq); return ok },
		"of":       func(o telemetry.Object, _ uint64) bool { return len(j.Of(o, 9)) > 0 },
		"since":    func(o telemetry.Object, _ uint64) bool { return len(j.Since(o, 0, 9)) > 0 },
		"before":   func(o telemetry.Object, _ uint64) bool { return len(j.Before(o, 9, 9)) > 0 },
		"prev":     func(o telemetry.Object, _ uint64) bool { _, ok := j.Prev(o, 9); return ok },
		"after":    func(o telemetry.Object, _ uint64) bool { _, ok := j.After(o, 0); return ok },
		"family":   func(o telemetry.Object, _ uint64) bool { return len(j.Family(o)) > 0 },
		"marks":    func(o telemetry.Object, _ uint64) bool { return len(j.Marks(o, 9)) > 0 },
		"row":      func(o telemetry.Object, _ uint64) bool { _, ok := j.Board().Row(o); return ok },
		"board":    func(o telemetry.Object, _ uint64) bool { x, ok := j.Board().Get(o); return ok && x != nil },
		"children": func(o telemetry.Object, _ uint64) bool { return len(j.Board().Children("stone", o.Namespace, "x")) > 0 },
		"back": func(o telemetry.Object, _ uint64) (any bool) {
			j.Back(o, func(*telemetry.Mark) bool { any = true; return true })
			return any
		},
	} {
		if !of(here, 1) || of(there, 3) {
			t.Errorf("%s: what is seen %v, what is not %v", name, of(here, 1), of(there, 3))
		}
	}
	if rows := j.Board().Rows("pile"); len(rows) != 1 || len(j.Board().List("stone")) != 1 || j.Board().Len() != 2 {
		t.Errorf("the board has %d", len(rows))
	}
	if got := j.Board().Loops(); !slices.Equal(got, []string{"pile", "stone"}) || j.Folded(there) != 0 || j.Last() != 8 || j.Epoch() != "e" {
		t.Errorf("it has %v, %d", got, j.Last())
	}
}

// TestKinds: whoever may see one of two kinds gets neither the syncs nor the chains of the other one,
// and no archive reads out a sync that names what is hidden.
func TestKinds(t *testing.T) {
	all, _, _ := journal()
	all.Record(&telemetry.Trace{Object: object("stone", "a", "z"), Causes: []telemetry.Cause{{Object: "Stone b/y"}}})
	j := NewJournal(all, NewScope(who("stones a"), loops))
	for _, x := range j.Family(object("stone", "a", "y")) {
		if x.Loop != "stone" {
			t.Errorf("it has a sync of %s", x.Object.Key())
		}
	}
	var found []string
	err := j.scope.Archive(all.Archive()).Each(t.Context(), telemetry.Query{}, func(x *telemetry.Trace) error {
		found = append(found, x.Loop+" "+x.Key())
		return nil
	})
	if err != nil || !slices.Equal(found, []string{"stone a/y"}) {
		t.Errorf("it has %v, %v", found, err)
	}
}

// TestNext: what was for others is passed over, and not met again.
func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, j, _ := journal()
		batch, upto, missed, err := j.Next(t.Context(), 0)
		if err != nil || len(batch) != 2 || upto != 8 || missed != 0 {
			t.Fatalf("%d, up to %d, %d missed, %v", len(batch), upto, missed, err)
		}
		all.Record(&telemetry.Trace{Object: object("pile", "b", "x")})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if batch, upto, _, err = j.Next(ctx, upto); err == nil || batch != nil || upto != 9 {
			t.Errorf("%d, up to %d, %v", len(batch), upto, err)
		}
		if _, err := j.Missed(t.Context(), 2); err != nil {
			t.Error(err)
		}
	})
}

// TestSynced: what has changed is known as long as the viewer's rights are the same.
func TestSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, j, v := journal()
		if _, ok := j.Synced("pile", 0); ok {
			t.Error("the first time it is not known what there was before")
		}
		if objects, ok := j.Synced("pile", 0); !ok || len(objects) != 1 || !objects[object("pile", "a", "x")] {
			t.Errorf("%v, %v", objects, ok)
		}
		v.allow(false, "piles.g a")
		time.Sleep(allowedFor)
		if _, ok := j.Synced("pile", 0); ok {
			t.Error("a right that has ended leaves the rest as it was")
		}
		if objects, ok := j.Synced("pile", 0); !ok || len(objects) > 0 {
			t.Errorf("%v, %v", objects, ok)
		}
	})
}

// TestArchive: an archive has what may be seen, and says of the rest that it is not kept.
func TestArchive(t *testing.T) {
	all, j, _ := journal()
	for i := range 300 { // More than a page of what is hidden.
		all.Record(&telemetry.Trace{Object: object("pile", "b", "n"+strconv.Itoa(i)), Ended: time.Unix(2, 0)})
	}
	a := j.scope.Archive(all.Archive())
	if found, err := a.Search(t.Context(), telemetry.Query{Limit: 50}); err != nil || len(found.Hits) != 2 || found.Next != "" {
		t.Errorf("%d found, next %q, %v", len(found.Hits), found.Next, err)
	}
	if found, err := a.Search(t.Context(), telemetry.Query{Namespace: "b"}); err != nil || len(found.Hits) > 0 || found.Next != "" {
		t.Errorf("%d found, next %q, %v", len(found.Hits), found.Next, err)
	}
	n := 0
	if err := a.Each(t.Context(), telemetry.Query{Limit: 2}, func(*telemetry.Trace) error { n++; return nil }); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := a.Get(t.Context(), "e", 3); !errors.Is(err, telemetry.ErrNotKept) {
		t.Error(err)
	}
	if _, err := a.AsOf(t.Context(), object("pile", "b", "x"), time.Now()); !errors.Is(err, telemetry.ErrNotKept) {
		t.Error(err)
	}
	if x, err := a.Get(t.Context(), "e", 1); err != nil || x.Seq != 1 {
		t.Error(x, err)
	}
	if x, err := a.AsOf(t.Context(), object("pile", "a", "x"), time.Now()); err != nil || x.Seq != 1 {
		t.Error(x, err)
	}
}

// TestStates: keys, waits, differences and names of others are left out, and counts are of the rest.
func TestStates(t *testing.T) {
	_, j, _ := journal()
	s := j.scope
	key := func(key string, phase telemetry.KeyPhase, causes ...string) telemetry.KeyState {
		k := telemetry.KeyState{Key: key, Phase: phase}
		for _, c := range causes {
			k.Causes = append(k.Causes, telemetry.Cause{Object: c})
		}
		return k
	}
	state := telemetry.LoopState{Name: "pile", Queue: telemetry.QueueState{Busy: 9, Ready: 9, Waiting: 9, Dirty: 9, Adds: 100, Keys: []telemetry.KeyState{
		key("a/x", telemetry.KeyReady, "Pile b/z", "Stone w"), key("a/y", telemetry.KeyDirty), key("a/w", telemetry.KeyWaiting), key("a/p", telemetry.KeyProcessing), key("b/x", telemetry.KeyReady), key("x", telemetry.KeyReady)}},
		Echoes: []telemetry.EchoState{{Object: "Pile x"}}, Expectations: []telemetry.ExpectationState{{Key: "a/x"}, {Key: "b/x"}}, Caches: []telemetry.CacheState{{Resource: "piles", Objects: new(6)}}}
	l := s.Loops(func() []telemetry.LoopState { return []telemetry.LoopState{state} })()[0]
	if q := l.Queue; len(q.Keys) != 4 || q.Busy != 2 || q.Ready != 1 || q.Waiting != 1 || q.Dirty != 1 || q.Adds != 100 || len(q.Keys[0].Causes) != 1 || q.Keys[0].Folded != 1 {
		t.Errorf("the queue is %+v", q)
	}
	if len(l.Caches) != 1 || l.Caches[0].Objects != nil || state.Caches[0].Objects == nil {
		t.Errorf("caches %+v, of %+v: the objects that are not seen are counted", l.Caches, state.Caches)
	}
	if len(l.Echoes) != 0 || len(l.Expectations) != 1 || len(state.Queue.Keys) != 6 || len(state.Expectations) != 2 || len(state.Queue.Keys[0].Causes) != 2 {
		t.Errorf("it is %+v of %+v", l, state)
	}
	// Who may see all of one loop is not shown what another one that shares its record waits for.
	stones := NewScope(who("stones "), loops).Loops(func() []telemetry.LoopState {
		return []telemetry.LoopState{{Name: "stone", Echoes: []telemetry.EchoState{{Object: "Pile x"}}}, {Name: "pile"}}
	})()
	if len(stones[0].Echoes) != 0 {
		t.Errorf("it waits for %+v", stones[0].Echoes)
	}
	if q := s.Queue(func(string) telemetry.QueueState { return state.Queue })("pile"); len(q.Keys) != 4 {
		t.Errorf("it has %d keys", len(q.Keys))
	}
	sh := s.Shadow(func() telemetry.ShadowState {
		return telemetry.ShadowState{Syncs: 7, Differences: []telemetry.Difference{{Object: object("pile", "b", "x")}, {Object: object("pile", "a", "x")},
			{Object: object("pile", "a", "y"), Predictable: decision.Predictable{Aspect: decision.AspectEvent}}}}
	})()
	if len(sh.Differences) != 1 || sh.Differences[0].Object.Namespace != "a" || sh.Syncs != 7 {
		t.Errorf("the comparison is %+v", sh)
	}
	due := s.Due(func(o telemetry.Object) []telemetry.Difference {
		return []telemetry.Difference{{Object: o}, {Object: object("pile", "a", "y")}}
	})
	if seen, hidden := due(object("pile", "a", "x")), due(object("pile", "b", "x")); len(seen) != 2 || len(hidden) != 1 || hidden[0].Object.Name != "y" {
		t.Errorf("due are %+v and %+v", seen, hidden)
	}
	for of, want := range map[string]string{"Pile a/x": "Pile a/x", "Pile b/x": "", "Secret b/x": "", "": ""} {
		if r := s.Rival(func() telemetry.Rival { return telemetry.Rival{Writes: 3, Object: of} })(); r.Object != want || r.Writes != 3 {
			t.Errorf("of %s it is %+v", of, r)
		}
	}
	warnings := func(v *viewer) int {
		list, err := NewScope(v, loops).Warnings(func(context.Context, string, []string) ([]telemetry.Warning, error) {
			return []telemetry.Warning{{}}, nil
		})(t.Context(), "a", nil)
		if err != nil {
			t.Error(err)
		}
		return len(list)
	}
	if warnings(who()) != 0 || warnings(who("events b")) != 0 || warnings(who("events a")) != 1 || warnings(who("events ")) != 1 {
		t.Error("events are shown to others than those who may get them")
	}
}
