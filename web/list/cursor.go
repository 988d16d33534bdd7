package list

import (
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/words"
)

// sinceLayout is the instant in a cursor: always UTC.
const sinceLayout = "2006-01-02T15:04:05.999999999Z"

// cursorOf is the place of an entry in the order of the list, as OUTCOME~SINCE~KEY: the entry
// may have another place, or none, when somebody asks for what comes after it.
func cursorOf(e *entry) string {
	since := ""
	if !e.quiet() && !e.SinceTone.IsZero() {
		since = e.SinceTone.UTC().Format(sinceLayout)
	}
	return strings.Join([]string{outcomeWord(e.place), since, e.key}, "~")
}

// readCursor is an entry that would have that place. Anybody may have written the cursor.
func readCursor(text string) (*entry, bool) {
	parts := strings.SplitN(text, "~", 3)
	if len(parts) < 3 || parts[2] == "" {
		return nil, false
	}
	place := slices.IndexFunc(words.Outcomes, func(o words.Outcome) bool { return isWord(o) == parts[0] })
	since, err := time.Parse(sinceLayout, parts[1])
	if place < 0 || err != nil && parts[1] != "" {
		return nil, false
	}
	namespace, name, namespaced := strings.Cut(parts[2], "/")
	if !namespaced {
		namespace, name = "", parts[2]
	}
	trace := &telemetry.Trace{Object: telemetry.Object{Namespace: namespace, Name: name}}
	return &entry{Row: telemetry.Row{Trace: trace, SinceTone: since}, place: place, key: parts[2]}, true
}

// begin is where the page after a cursor begins in a list: at the first entry that is sorted
// after it. A cursor may be the key of an entry alone, which then has to be there.
func begin(all, matching []*entry, after string) (from int, ok bool) {
	if after == "" {
		return 0, true
	}
	at, ok := readCursor(after)
	if !ok {
		i := slices.IndexFunc(all, func(e *entry) bool { return e.key == after })
		if i < 0 {
			return 0, false
		}
		at = all[i]
	}
	from, found := slices.BinarySearchFunc(matching, at, attentionFirst)
	if found {
		from++
	}
	return from, true
}

// outcomeWord is what is:… and cursors call the outcome at that place.
func outcomeWord(place int) string { return isWord(words.Outcomes[place]) }

func isWord(o words.Outcome) string { return strings.TrimPrefix(o.Word, "on ") }
