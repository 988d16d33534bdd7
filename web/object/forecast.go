package object

import (
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/words"
)

// shownFates is how many pods a page ranks.
const shownFates = 10

// Forecast is which pods would go next, ranked by the loop's own package as of
// now from what the newest sync saw.
func Forecast(t *telemetry.Trace, snap *replicaset.Snapshot, now time.Time) *views.Forecast {
	later := *snap
	var within string
	later.Now, within = rankedAt(snap.Now, now)
	fates, of := replicaset.Forecast(&later, shownFates)
	f := &views.Forecast{Note: "Of the " + prose.Count(of, "pod") + " that sync " + words.Digits(t.Seq) + " saw, ranked as of now, to within " + within + "."}
	switch {
	case of == 0:
		f.Note = "It has no pod that could go."
		return f
	case of == 1:
		f.Note = "It is the only one, so nothing is compared."
	}
	f.More = of - len(fates)
	for _, x := range fates {
		v := words.Victim(x.Victim)
		v.Why, v.Because = words.Text(x.Words, false), x.Because
		f.Pods = append(f.Pods, v)
	}
	return f
}

// rankedAt is now in steps, and how long a step is: ages do not put pods in another
// order with every second, and a page that only waits stays as it is.
func rankedAt(seen, now time.Time) (time.Time, string) {
	step, within := 10*time.Second, "10 seconds"
	if now.Sub(seen) > 5*time.Minute {
		step, within = time.Minute, "a minute"
	}
	if now = now.Truncate(step); now.After(seen) {
		return now.UTC(), within
	}
	return seen, within
}

// echoLines are its writes that the newest sync did not find in the caches yet.
func echoLines(snap *replicaset.Snapshot) []views.Line {
	lines := make([]views.Line, 0, len(snap.Echo))
	for _, e := range snap.Echo {
		text := views.Say("written at rv ").Strong(e.Written).Plain(", the cache is at " + prose.OrNone(e.Cached) + ", for ").Since(e.Since)
		if !e.Check.IsZero() {
			text = text.Plain("; looks again in ").Until(e.Check)
		}
		lines = append(lines, views.Line{Label: e.Object, Text: text.Plain(".")})
	}
	return lines
}
