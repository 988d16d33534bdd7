// Package facts reads traces: their key numbers, what they held back, which question
// decided them, the snapshot behind them. It knows no page and says nothing in words.
package facts

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Numbers finds key numbers by name.
type Numbers []decision.Fact

// NumbersOf is the key numbers of a sync.
func NumbersOf(t *telemetry.Trace) Numbers { return t.Numbers }

// Find returns the value of that name.
func (n Numbers) Find(name string) (decision.Value, bool) {
	for _, f := range n {
		if f.Name == name {
			return f.Value, true
		}
	}
	return decision.Value{}, false
}

// Count returns the number of that name; false where there is none.
func (n Numbers) Count(name string) (int64, bool) {
	v, ok := n.Find(name)
	if !ok {
		return 0, false
	}
	return v.Int()
}

// Or returns the number of that name, 0 where there is none.
func (n Numbers) Or(name string) int64 {
	c, _ := n.Count(name)
	return c
}

// OldAvailable is how many old pods are available, where new ones are told apart.
func (n Numbers) OldAvailable() int64 {
	if old, ok := n.Count("oldAvailable"); ok {
		return old
	}
	fresh, ok := n.Count("newAvailable")
	if !ok {
		return 0
	}
	return max(0, n.Or("available")-fresh)
}

// Text returns the value of that name as text, "" where there is none.
func (n Numbers) Text(name string) string {
	v, _ := n.Find(name)
	return v.String()
}
