package controllers

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry/safetext"
)

// hidden is every kind of character that is not for reading, and a line's end.
const hidden = "\x1b]0;\x07\x00\x7f\r\n\u009b\u061c\u200b\u200f\u2028\u202e\u2066\ufeff\U000e0041"

// TestNothingHiddenIsRecorded plants characters that are not for reading in every string
// of every object that the loops see: none of them is recorded, logged or shown, and an
// image or a name makes no line of its own.
func TestNothingHiddenIsRecorded(t *testing.T) {
	longUnderRace(t)
	answers := slices.Sorted(maps.Keys(replies))
	for i, situation := range slices.Sorted(maps.Keys(situations)) {
		reply := answers[i%len(answers)]
		_, text := plantedIn(t, situation, reply, hidden, hidden)
		for _, s := range textsIn(text) {
			if i := strings.IndexFunc(s, safetext.Hidden); i >= 0 {
				t.Fatalf("%s, %s: %q is recorded", situation, reply, s[max(0, i-60):min(len(s), i+20)])
			}
		}
	}
}

// textsIn are all strings of the JSON values that stand in a text, and its lines that are none.
func textsIn(text string) (list []string) {
	for line := range strings.Lines(text) {
		var value any
		if json.Unmarshal([]byte(line), &value) != nil {
			list = append(list, line)
			continue
		}
		list = append(list, textsOf(value)...)
	}
	return list
}

func textsOf(value any) (list []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, inner := range v {
			list = append(list, textsOf(inner)...)
		}
	case map[string]any:
		for key, inner := range v {
			list = append(append(list, key), textsOf(inner)...)
		}
	}
	return list
}

// longUnderRace leaves a test out of short runs, as those under the race detector are:
// it works in one goroutine, where the detector finds nothing and takes ten times as long.
func longUnderRace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("works in one goroutine and takes seconds under the race detector")
	}
}
