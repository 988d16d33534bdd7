package syncs

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// watched tells what the controller wrote that acts on an object, up to a sync of a process that only
// watches: the newest write, and the newest size with the sync here that says why.
func (s *Teller) watched(t *telemetry.Trace, v *views.Wrote) {
	kept := []*telemetry.Trace{t}
	if s.ofThisRun(t) {
		kept = s.Journal.Before(t.Object, t.Seq+1, source.HistoryRows)
	}
	for _, x := range slices.Backward(kept) {
		for i := len(x.Causes) - 1; i >= 0 && (v.Last == nil || v.LastSize == nil); i-- {
			c := &x.Causes[i]
			if c.Manager == "" || !s.byController(t, c) {
				continue
			}
			if v.Last == nil {
				v.Last = changeStep(c).Plain(", ").Since(c.At).Plain(" ago.")
			}
			if size, ok := sizeIn(c); ok && v.LastSize == nil {
				v.LastSize = changeStep(size).Plain(", ").Since(c.At).Plain(" ago.").Join(s.whySize(kept, size))
			}
		}
	}
	switch {
	case v.Last != nil:
	case !s.ofThisRun(t):
		v.Last = writtenEarlier("was written")
	default:
		v.Last = views.Say("No controller has written to it since this process watches, as far as is recorded.")
	}
	if v.LastSize.String() == v.Last.String() {
		v.LastSize = nil
	}
}

// byController reports whether a controller may have made a change, and not whoever owns the object:
// it is one of a child, or of the status.
func (s *Teller) byController(t *telemetry.Trace, c *telemetry.Cause) bool {
	if len(c.Fields) == 0 {
		return false
	}
	own := c.Object == s.KindOf(t.Loop)+" "+t.Name
	return !own || !slices.ContainsFunc(c.Fields, func(f decision.Change) bool { return !strings.HasPrefix(f.Field, "status.") })
}

// sizeIn is a cause with its change of a size alone.
func sizeIn(c *telemetry.Cause) (*telemetry.Cause, bool) {
	i := slices.IndexFunc(c.Fields, func(f decision.Change) bool { return f.Field == "spec.replicas" })
	if i < 0 {
		return nil, false
	}
	alone := *c
	alone.Fields = c.Fields[i : i+1]
	return &alone, true
}

// whySize leads to the newest sync that had decided the same size; where there is none, as a cache here
// was behind that of the other controller, the comparison has the states that none of them saw.
func (s *Teller) whySize(kept []*telemetry.Trace, c *telemetry.Cause) views.Text {
	for _, x := range slices.Backward(kept) {
		for _, r := range x.Rounds {
			for i := range r.Verdict.Actions {
				a := &r.Verdict.Actions[i]
				if a.Size != nil && c.Object == a.Target.Kind+" "+a.Target.Name && c.Fields[0].To == words.Digits(a.Size.To) {
					return views.Say(" ").Link("Sync "+words.Digits(x.Seq), address.Sync(x)).Plain(" here had decided the same, by " + a.Question + ".")
				}
			}
		}
	}
	return views.Say(" It was written before a sync here could decide it: ").Link("the comparison", "/shadow").Plain(" tells whether the rules say so.")
}
