package telemetry

import (
	"fmt"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// daily are the ways to write a time of day, and full those to write an instant.
// Without a zone both are UTC, as everything that is printed is.
var (
	daily = []string{"15:04", "15:04:05"}
	full  = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}
)

// ParseMoment reads an instant as people give one: a date with a time
// ("2026-11-21T03:02:24Z"), a time of day, which is the last one that was
// ("03:02"), or how long ago it was ("90m").
func ParseMoment(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UTC(), nil
	}
	for _, layout := range full {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	for _, layout := range daily {
		if t, err := time.Parse(layout, text); err == nil {
			return lastTime(t, now.UTC()), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: give one such as 2026-11-21T03:02:24Z, 03:02 (UTC, the last one) or 90m (ago)", prose.Clip(text, 60))
}

// lastTime is that time of day today, or yesterday where it is still to come.
func lastTime(of, now time.Time) time.Time {
	t := time.Date(now.Year(), now.Month(), now.Day(), of.Hour(), of.Minute(), of.Second(), 0, time.UTC)
	if t.After(now) {
		t = t.AddDate(0, 0, -1)
	}
	return t
}
