package diagnosis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// What keeps an object that is being deleted is named, and who ends it: a controller, or the garbage
// collector, which waits for pods of which one may be kept itself.
func TestDeletion(t *testing.T) {
	held := decision.TerminatingPod{Name: "web-a", Until: noon.Add(-time.Minute), Finalizers: []string{"example.com/held"}}
	const hold, other = "example.com/hold", "other.org/x"
	for name, c := range map[string]struct {
		finalizers []string
		pods       []decision.TerminatingPod
		blocking   int64
		want       string
	}{
		"no finalizer":         {nil, nil, 0, ""},
		"a controller":         {[]string{hold}, nil, 2, "a finalizer keeps it (example.com/hold), and only its status is updated | Needs action: unblocks when the controller that set example.com/hold removes it; until then it stays"},
		"two controllers":      {[]string{hold, other}, nil, 2, "finalizers keep it (example.com/hold, other.org/x), and only its status is updated | Needs action: unblocks when the controllers that set example.com/hold, other.org/x remove them; until then it stays"},
		"foreground":           {[]string{"foregroundDeletion"}, []decision.TerminatingPod{{Name: "web-a", Until: noon.Add(time.Second)}}, 1, "the garbage collector waits for pod web-a, which is still terminating, up to 1s more | Unblocks when the last of them is gone; until then only its status is updated"},
		"foreground, not yet":  {[]string{"foregroundDeletion"}, nil, 2, "the garbage collector waits for 2 pods, which are not deleted yet | Unblocks when the last of them is gone; until then only its status is updated"},
		"foreground, held":     {[]string{"foregroundDeletion"}, []decision.TerminatingPod{held}, 1, "the garbage collector waits for pod web-a, which is still terminating: a finalizer blocks its deletion (example.com/held) | Needs action: unblocks when the controller that set example.com/held removes it; until then only its status is updated"},
		"foreground, one held": {[]string{"foregroundDeletion"}, []decision.TerminatingPod{held, {Name: "web-b", Until: noon}}, 2, "the garbage collector waits for 2 pods, which are still terminating: a finalizer blocks the deletion of web-a (example.com/held) | Needs action: unblocks when the controller that set example.com/held removes it, and all are gone; until then only its status is updated"},
		"foreground, no pods":  {[]string{"foregroundDeletion"}, nil, 0, "the garbage collector waits for other objects that it owns | Unblocks when the last of them is gone; until then only its status is updated"},
		"both":                 {[]string{hold, "foregroundDeletion"}, nil, 2, "a finalizer keeps it (example.com/hold), and the garbage collector waits for 2 pods, which are not deleted yet | Needs action: unblocks when the controller that set example.com/hold removes it and when the last of them is gone"},
		"orphan":               {[]string{"orphan"}, nil, 2, "the garbage collector takes the reference to it off what it owns, which stays | Unblocks when that is done; until then only its status is updated"},
	} {
		look := diagnosis.Pods{Namespace: "shop", Now: noon}
		going := look.Deletion(diagnosis.Kept{
			Deletion: &decision.Deletion{Since: noon.Add(-time.Hour), Finalizers: c.finalizers, Blocking: c.blocking}, Meanwhile: "; until then it stays",
			Awaited: func() decision.Finding {
				if c.blocking == 0 {
					return diagnosis.Elsewhere()
				}
				return look.Awaited(c.pods, c.blocking)
			},
		}, 150)
		got, tone := "", decision.ToneNeutral
		if going != nil {
			got = going.Lead.At(noon) + " | " + going.Then.At(noon)
		}
		if strings.Contains(c.want, "Needs action") {
			tone = decision.ToneWaiting
		}
		if got != c.want || going != nil && going.Tone != tone {
			t.Errorf("%s: %+v\n\t%s, want\n\t%s", name, going, got, c.want)
		}
	}
	if (diagnosis.Pods{}).Deletion(diagnosis.Kept{}, 150) != nil {
		t.Error("an object that is not being deleted, or of which an older recording says no more, is kept")
	}
}

// A controller may take a moment for what its finalizer is for: only then somebody has to look.
func TestFinalizer(t *testing.T) {
	d := &decision.Deletion{Since: noon, Finalizers: []string{"example.com/" + strings.Repeat("x", 100)}}
	for after, needs := range map[time.Duration]bool{0: false, time.Minute - 1: false, time.Minute: true} {
		var next time.Time
		f := diagnosis.Pods{Now: noon.Add(after), Next: &next}.Finalizer(d)
		if f == nil || f.NeedsAction != needs || next.IsZero() != needs || diagnosis.Length(f.After) > 110 {
			t.Errorf("after %s: %+v, changes at %s", after, f, next)
		}
	}
	for _, d := range []*decision.Deletion{nil, {}, {Finalizers: []string{"foregroundDeletion", "orphan"}}} {
		if f := (diagnosis.Pods{Now: noon}).Finalizer(d); f != nil {
			t.Errorf("%+v: %+v", d, f)
		}
	}
	if got := diagnosis.Unfinalized([]string{"foregroundDeletion"}).At(noon); got != "when the garbage collector, whose finalizer it is, removes it" {
		t.Error(got)
	}
}
