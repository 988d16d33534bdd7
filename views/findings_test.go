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

// TestFindingsTitle: pods that are there and have to go are not said to be unavailable.
func TestFindingsTitle(t *testing.T) {
	for _, c := range []struct {
		codes []string
		want  string
	}{
		{[]string{"delete-refused"}, "Why pods are not gone"},
		{[]string{"delete-refused", "pods-terminating"}, "Why pods are not gone"},
		{[]string{"delete-refused", "image-pull"}, "Why pods are not available"},
		{[]string{"image-pull"}, "Why pods are not available"},
	} {
		var v Object
		for _, code := range c.codes {
			v.Findings = append(v.Findings, Finding{Code: code, Old: true})
		}
		var html strings.Builder
		if err := FindingsPart(v).Render(t.Context(), &html); err != nil || !strings.Contains(html.String(), c.want) {
			t.Errorf("%v: %v, %s", c.codes, err, html.String())
		}
	}
}
