package create

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

const (
	// followEvery is how often the objects are looked at, stuckFor how long one has to need
	// somebody before it counts (a new namespace has no ServiceAccount for a moment), and
	// unreadFor how long it may be unreadable: API servers are restarted.
	followEvery = time.Second
	stuckFor    = 5 * time.Second
	unreadFor   = 30 * time.Second
	// ignoredFor is how long no controller may come to an object before that is said.
	ignoredFor = 30 * time.Second
)

// State is how an object is.
type State struct {
	Sentence decision.Sentence
	// Pending is set while a loop has not reacted yet to what was written.
	Pending bool
	// Ignored is set while a status is still of what was there before: no controller has come to it.
	Ignored bool
	// Overruled says who keeps it from having any of the pods that were asked for; "" for nobody.
	Overruled string
	// Lines are what happened since the last look.
	Lines []string
}

// Stuck is the end of a watch at an object that needs somebody.
type Stuck struct {
	Object   Object
	Sentence string
}

func (s *Stuck) Error() string { return s.Object.String() + ": " + s.Sentence }

// String is the object as commands take it: deployment/web.
func (o Object) String() string { return strings.ToLower(o.Kind.Kind) + "/" + o.Name }

// Loop is the loop that keeps it; "" for none.
func (o Object) Loop() string {
	if r := registrationOf(o.Kind); r != nil {
		return r.Loop.Name
	}
	return ""
}

// Look finds out how an object is now.
type Look func(context.Context, Object) (State, error)

// Follow looks at objects until all are settled, and says what happens meanwhile. round is
// called before each turn. The error is a *Stuck where one needs somebody.
func Follow(ctx context.Context, list []Object, round func() Look, say func(Object, string)) error {
	f := &follower{say: say, began: time.Now(), since: map[Object]time.Time{}, blind: map[Object]time.Time{}, last: map[Object]string{}, text: map[Object]string{}, alone: map[Object]time.Time{}}
	for _, o := range list {
		if o.Loop() != "" {
			f.left = append(f.left, o)
		}
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if err := f.turn(ctx, round()); err != nil || len(f.left) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return f.unfinished(ctx)
		case <-tick.C:
		}
	}
}

type follower struct {
	say   func(Object, string)
	began time.Time
	left  []Object
	since map[Object]time.Time // that need somebody
	blind map[Object]time.Time // that cannot be read
	last  map[Object]string    // sentence that was said
	text  map[Object]string    // of the last look
	alone map[Object]time.Time // to which no controller comes; far in the future once that was said
}

func (f *follower) turn(ctx context.Context, look Look) error {
	var left []Object
	for _, o := range f.left {
		s, err := look(ctx, o)
		switch {
		case ctx.Err() != nil:
			return f.unfinished(ctx)
		case err != nil:
			if err := f.unread(o, err); err != nil {
				return err
			}
			left = append(left, o)
			continue
		}
		delete(f.blind, o)
		done, err := f.note(o, &s)
		if err != nil {
			return err
		}
		if !done {
			left = append(left, o)
		}
	}
	f.left = left
	return nil
}

// unread bears with an object that cannot be read for a while, unless it is gone.
func (f *follower) unread(o Object, err error) error {
	if f.blind[o].IsZero() {
		f.blind[o] = time.Now()
		if !errors.Is(err, errGone) {
			f.say(o, "cannot be read, will try again: "+err.Error())
		}
	}
	if errors.Is(err, errGone) || time.Since(f.blind[o]) >= unreadFor {
		return fmt.Errorf("follow %s: %w", o, err)
	}
	return nil
}

// errGone is what is told of an object that was written and is not there any more.
var errGone = errors.New("it is gone: somebody has deleted it")

// note says what is new of one object, and whether it has come to its end.
func (f *follower) note(o Object, s *State) (done bool, err error) {
	now := time.Now()
	for _, line := range s.Lines {
		f.say(o, line)
	}
	text := s.Sentence.At(now)
	if s.Overruled != "" {
		text += " " + s.Overruled
	}
	f.text[o] = text
	done = Complete(s.Sentence) && !s.Pending && s.Overruled == ""
	if key := keyOf(s.Sentence); key != f.last[o] && (done || !Complete(s.Sentence)) {
		f.last[o] = key
		f.say(o, text)
	}
	f.ignored(o, s, now)
	if s.Ignored || !NeedsYou(s.Sentence, now) && s.Overruled == "" { // Of before, it may be over already.
		delete(f.since, o)
		return done, nil
	}
	if f.since[o].IsZero() {
		f.since[o] = now
	}
	if now.Sub(f.since[o]) < stuckFor {
		return false, nil
	}
	return false, &Stuck{o, text}
}

// ignored says once that no controller comes to an object: perhaps none runs.
func (f *follower) ignored(o Object, s *State, now time.Time) {
	switch since, known := f.alone[o]; {
	case !s.Ignored:
		delete(f.alone, o)
	case !known:
		f.alone[o] = now
	case now.Sub(since) >= ignoredFor:
		f.alone[o] = now.Add(24 * time.Hour)
		f.say(o, "no controller has come to it for "+prose.Span(ignoredFor)+": does one run for this cluster? `loopscope manager` starts one")
	}
}

// keyOf is a sentence without what the clock alone changes in it.
func keyOf(s decision.Sentence) string { return string(s.Tone) + s.Code + s.Lead.At(time.Time{}) }

// Complete reports whether a sentence says that nothing is left to happen.
func Complete(s decision.Sentence) bool {
	return s.Tone == decision.ToneOK || s.Code == "scaled-to-zero"
}

// NeedsYou reports whether a sentence says that nothing goes on by itself: it has failed, it
// waits for what somebody has to do, or it is paused or being deleted.
func NeedsYou(s decision.Sentence, now time.Time) bool {
	return s.Tone == decision.ToneFailed || s.Tone == decision.ToneNeutral && !Complete(s) || strings.HasPrefix(s.Then.At(now), "Needs action: ")
}

// unfinished says why a watch ends early, and where things stand.
func (f *follower) unfinished(ctx context.Context) error {
	why := "interrupted after "
	after := time.Since(f.began)
	if until, bounded := ctx.Deadline(); bounded && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why, after = "not complete after ", until.Sub(f.began).Round(time.Second)
	}
	var names []string
	for _, o := range f.left {
		names = append(names, o.String())
	}
	return fmt.Errorf("%s%s: %s. What was written stays; %s", why, prose.Span(after), prose.Some(names, mostNames), f.whereToLook(f.left[0]))
}

// whereToLook says where to read on about an object. explain reads some kinds alone.
func (f *follower) whereToLook(o Object) string {
	if slices.ContainsFunc(controllers.Explained, func(r engine.Registration) bool { return r.Loop.Name == o.Loop() }) {
		return fmt.Sprintf("`loopscope explain %s -n %s` says why it is as it is", o, o.Namespace)
	}
	shows := fmt.Sprintf("`kubectl describe %s -n %s` shows its conditions and events", o, o.Namespace)
	if f.text[o] == "" {
		return shows
	}
	return fmt.Sprintf("%s. Of %s it was last said: %s", shows, o, f.text[o])
}

// Round returns a look at the cluster itself, which reads each namespace once.
func (r *Request) Round(client kubernetes.Interface) Look {
	f := &foreseer{r: r, client: client, around: map[string]*surroundings{}, current: true}
	return f.now
}

// now is what a sync of an object would decide now, and whether the loops have something to do for it.
func (f *foreseer) now(ctx context.Context, o Object) (State, error) {
	s := f.surroundings(ctx, o.Namespace, false)
	if s.blind != nil {
		return State{}, s.blind
	}
	for _, w := range s.workloads {
		if w.kind != o.Kind.Kind || w.meta.GetName() != o.Name {
			continue
		}
		if string(w.meta.GetUID()) != o.UID {
			return State{}, fmt.Errorf("%w, and another one has its name", errGone)
		}
		t, err := s.look(ctx, f.client, registrationOf(o.Kind), w)
		if err != nil {
			return State{}, err
		}
		ignored := s.unobserved(w)
		return State{Sentence: t.Sentence, Pending: ignored || wouldWrite(t), Ignored: ignored, Overruled: w.overruled(o.Pods)}, nil
	}
	return State{}, errGone
}

// podsAskedIn is how many pods an object that was written is to have; 0 for what has none itself.
func podsAskedIn(info *resource.Info) int64 {
	if registrationOf(info.Mapping.GroupVersionKind) == nil {
		return 0
	}
	w, err := workloadOf(info.Mapping.GroupVersionKind.Kind, info.Object)
	if err != nil { // It was written all the same.
		return 0
	}
	return w.wanted()
}

// overruled says who has scaled to 0 what was asked to have so many pods.
func (w *workload) overruled(asked int64) string {
	if asked == 0 || w.wanted() > 0 {
		return ""
	}
	by := "somebody has scaled it to 0 since: scale it up again"
	if owner := metav1.GetControllerOf(w.meta); owner != nil {
		by = owner.Kind + " " + owner.Name + ", which owns it, has scaled it to 0: give it labels that the " + owner.Kind + " does not select"
	}
	return "Needs action: " + prose.Count(asked, "pod") + prose.Plural(asked, " was", " were") + " asked for, and " + by + "."
}

// unobserved reports whether the status of a workload, or of a ReplicaSet of it, is of an
// earlier generation.
func (s *surroundings) unobserved(w *workload) bool {
	if w.observed < w.meta.GetGeneration() {
		return true
	}
	for _, other := range s.workloads {
		if metav1.IsControlledBy(other.meta, w.meta) && other.observed < other.meta.GetGeneration() {
			return true
		}
	}
	return false
}

func wouldWrite(t *telemetry.Trace) bool {
	n := len(t.Rounds)
	return n > 0 && len(t.Rounds[n-1].Verdict.Actions) > 0
}
