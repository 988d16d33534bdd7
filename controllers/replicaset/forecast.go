package replicaset

import (
	"cmp"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Fate is the place of a pod in the order in which pods would be deleted.
type Fate struct {
	decision.Victim
	// Because is the criterion that puts the pod before the one that follows it:
	// "unassigned", "phase", "ready", "settling", "cost", "colocated",
	// "readySince", "restarts", "age" or "uid"; "last" for the one that goes last.
	Because string
	// Words say that of the pod, without its name.
	Words decision.Words
}

// Forecast is the first n pods that would go, in their order, if the size became
// smaller now, of how many there are. It ranks as Decide does, as of s.Now, and
// decides nothing.
func Forecast(s *Snapshot, n int) (fates []Fate, of int) {
	var cs []candidate
	for _, p := range canonical(s.Pods) {
		if s.claimed(p) {
			cs = append(cs, newCandidate(s, p))
		}
	}
	order(cs)
	fates = make([]Fate, 0, min(max(n, 0), len(cs)))
	for i := range cs[:cap(fates)] {
		f := Fate{Victim: decision.Victim{Name: cs[i].pod.Name, UID: cs[i].pod.UID, Rank: int64(i) + 1, Facts: cs[i].facts(s.Now)}}
		f.Because, f.Words = placed(&cs[i], cs[i+1:])
		fates = append(fates, f)
	}
	return fates, len(cs)
}

// placed says why a pod goes before those after it. Where it ties with the next,
// what puts both before the others is said first.
func placed(c *candidate, after []candidate) (because string, w decision.Words) {
	if len(after) == 0 {
		return "last", decision.Words{}.Say("goes last: no other is left")
	}
	because, w = before(c, &after[0])
	for i := 1; i < len(after) && because == "uid"; i++ {
		if other, why := before(c, &after[i]); other != "uid" {
			return other, why.Say("; the UIDs put it before ").Name(after[0].pod.Name)
		}
	}
	return because, w
}

// criterion is one step of the comparison, with what it says of the pod that goes first.
type criterion struct {
	name    string
	compare func(a, b *candidate) int
	words   func(a, b *candidate) decision.Words
}

// criteria in the order in which they are compared, as head and tail do.
var criteria = []criterion{
	{"unassigned", func(a, b *candidate) int { return first(a.pod.Node == "", b.pod.Node == "") },
		func(_, b *candidate) decision.Words { return against("is not scheduled", b, "is") }},
	{"phase", func(a, b *candidate) int { return cmp.Compare(a.phase, b.phase) },
		func(a, b *candidate) decision.Words {
			return against("is "+a.pod.Phase, b, "is "+b.pod.Phase)
		}},
	{"ready", func(a, b *candidate) int { return first(!a.pod.Ready, !b.pod.Ready) },
		func(_, b *candidate) decision.Words { return against("is not ready", b, "is") }},
	{"settling", func(a, b *candidate) int { return first(a.settling, b.settling) },
		func(_, b *candidate) decision.Words {
			return against("is ready but not available yet", b, "is available")
		}},
	{"cost", func(a, b *candidate) int { return cmp.Compare(a.cost, b.cost) },
		func(a, b *candidate) decision.Words {
			return decision.Words{}.Say("has the lower deletion cost: ").Count("deletionCost", a.cost).Say(" against ").Count("deletionCost", b.cost).Say(" of ").Name(b.pod.Name)
		}},
	{"colocated", func(a, b *candidate) int { return cmp.Compare(b.colocated, a.colocated) },
		func(a, b *candidate) decision.Words {
			return decision.Words{}.Say("is on a node with ").Count("colocated", a.colocated).Say(prose.Plural(a.colocated, " pod", " pods")+" of its owner, ").
				Name(b.pod.Name).Say(" on one with ").Count("colocated", b.colocated)
		}},
	{"readySince", func(a, b *candidate) int {
		return cmp.Or(first(a.readyZero, b.readyZero), cmp.Compare(a.readyBucket, b.readyBucket))
	}, func(a, b *candidate) decision.Words {
		return younger("has been ready for a shorter time", "Ready time", a.pod.ReadySince, b, b.pod.ReadySince)
	}},
}

// ties are the criteria of tail, which holds among pods that got ready at the same instant.
var ties = []criterion{
	{"restarts", func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.pod.Restarts, a.pod.Restarts), cmp.Compare(b.pod.SidecarRestarts, a.pod.SidecarRestarts))
	}, func(a, b *candidate) decision.Words {
		x, y := a.pod.Restarts, b.pod.Restarts
		if x == y {
			x, y = a.pod.SidecarRestarts, b.pod.SidecarRestarts
		}
		return decision.Words{}.Say("was restarted more often: ").Count("restarts", x).Say(" times against ").Count("restarts", y).Say(" of ").Name(b.pod.Name)
	}},
	{"age", func(a, b *candidate) int {
		return cmp.Or(first(a.pod.Created.IsZero(), b.pod.Created.IsZero()), cmp.Compare(a.ageBucket, b.ageBucket))
	}, func(a, b *candidate) decision.Words {
		return younger("is younger", "creation time", a.pod.Created, b, b.pod.Created)
	}},
}

// before says why a goes before b, which follows it.
func before(a, b *candidate) (string, decision.Words) {
	list := criteria
	if head(a, b) == 0 && a.pod.ReadySince.Equal(b.pod.ReadySince) {
		list = ties
	}
	for _, c := range list {
		if c.compare(a, b) < 0 {
			return c.name, c.words(a, b)
		}
	}
	return "uid", decision.Words{}.Say("ties with ").Name(b.pod.Name).Say(" in all that counts, so the UIDs decide")
}

func against(is string, b *candidate, other string) decision.Words {
	return decision.Words{}.Say(is + ", ").Name(b.pod.Name).Say(" " + other)
}

func younger(is, what string, at time.Time, b *candidate, other time.Time) decision.Words {
	if at.IsZero() {
		return against("has no "+what, b, "has one")
	}
	return decision.Words{}.Say(is + ": ").Since(at).Say(" against ").Since(other).Say(" of ").Name(b.pod.Name)
}
