package views

import (
	"strings"
	"testing"
	"time"
)

// What keeps pods lasts; that they were taken away happened.
func TestFindingsSaySinceWhen(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		finding       Finding
		before, after string
	}{
		{Finding{Count: 2, Since: &at}, ", for ", ""},
		{Finding{Count: 1, Since: &at, Past: true}, ", ", " ago"},
		{Finding{Count: 2, Since: &at, Past: true}, ", the first ", " ago"},
	} {
		c.finding.For = Text{}.Since(at)
		text := c.finding.lasts()
		var words strings.Builder
		for _, run := range text {
			words.WriteString(run.Text)
		}
		if words.String() != c.before+c.after || text[1].Kind != Since || !text[1].At.Equal(at) {
			t.Errorf("%+v: %+v", c.finding, text)
		}
	}
}
