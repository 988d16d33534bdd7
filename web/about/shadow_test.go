package about

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
)

// The sentence of a comparison, from what is nothing to what needs somebody.
func TestShadowHeadline(t *testing.T) {
	for want, x := range map[string][3]uint64{
		"Nothing could be compared yet.": {0, 0, 0},
		"The one decision of the other controller that can be compared agrees with Kubernetes' rules.":      {0, 0, 1},
		"All 1,530 decisions of the other controller that can be compared agree with Kubernetes' rules.":    {0, 0, 1530},
		"1 decision that is due has not been written. Does the other controller run?":                       {0, 1, 9},
		"2 of 9 decisions that can be compared differ from the other controller and are not explained.":     {2, 1, 9},
		"1 of 1,537 decisions that can be compared differs from the other controller and is not explained.": {1, 1, 1537},
	} {
		if got := shadowHeadline(x[0], x[1], x[2]); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

// What the page says of events, by whether they are watched and what was seen.
func TestShadowEvents(t *testing.T) {
	for want, e := range map[string]telemetry.ShadowEvents{
		"They are not compared yet: the watch has not begun.":                                      {},
		"They are not compared: events is forbidden. It takes the rights to list and watch events": {Why: "events is forbidden"},
		"so a missing one is no difference: none was due so far.":                                  {Followed: true},
		"no event was seen for 2 of the 1,024 creations, deletions and new sizes that agree.":      {Followed: true, Told: 1024, Untold: 2},
	} {
		if got := shadowEvents(&e).Text.String(); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// How many agree is not said again where the headline says that all do.
func TestAgreeText(t *testing.T) {
	agrees, departs, differs, overdue := telemetry.ShadowAgrees, telemetry.ShadowDeparture, telemetry.ShadowUnexplained, telemetry.ShadowOverdue
	for want, counts := range map[string]map[telemetry.ShadowVerdict]uint64{
		"No write of another controller that can be compared was seen so far. ": {},
		"": {agrees: 129},
		"1 of them agrees with a rule of Kubernetes from which the loops here depart on purpose. ": {agrees: 128, departs: 1},
		"1,000 of 1,002 agree (99.8%). ": {agrees: 1000, differs: 2},
		"3 of 4 agree (75.0%). 2 of them agree with a rule of Kubernetes from which the loops here depart on purpose. ": {agrees: 1, departs: 2, differs: 1},
		"3 of 4 agree (75.0%). ": {agrees: 3, overdue: 1},
	} {
		tally := tallyOf([]telemetry.ShadowQuestion{{Counts: counts}})
		if got := agreeText(&tally); got != want {
			t.Errorf("%v: %q, want %q", counts, got, want)
		}
	}
}
