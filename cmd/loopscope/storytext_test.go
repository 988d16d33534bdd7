package main

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// TestStoryTextSaysHowItEnded, if it has.
func TestStoryTextSaysHowItEnded(t *testing.T) {
	began := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		story telemetry.Story
		want  string
	}{
		"under way": {telemetry.Story{}, "It is not settled yet. It began 2026-11-21 03:00:00 UTC."},
		"not known": {telemetry.Story{LastKnown: began.Add(time.Minute)}, "It was not settled at 2026-11-21 03:01:00 UTC, and nobody knows how it went on. It began 2026-11-21 03:00:00 UTC."},
		"found by a comparison": {telemetry.Story{Object: telemetry.Disagreement(telemetry.Object{Namespace: "shop", Name: "web"})},
			"This is a story of differences, each of which was over when it was found. It began 2026-11-21 03:00:00 UTC."},
		"settled":  {telemetry.Story{Settled: began.Add(5 * time.Second)}, "It was settled after 5s. It began 2026-11-21 03:00:00 UTC."},
		"deleted":  {telemetry.Story{Gone: began.Add(3 * time.Second)}, "The story ended after 3s, with the deletion of the object. It began 2026-11-21 03:00:00 UTC."},
		"replaced": {telemetry.Story{Gone: began.Add(3 * time.Second), Replaced: true, LastKnown: began.Add(time.Second)}, "The story ended with the deletion of the object, at most 3s after it began. It began 2026-11-21 03:00:00 UTC."},
	} {
		var out strings.Builder
		c.story.Began = began
		if err := storyText(&out, &c.story, false); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
}
