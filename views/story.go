package views

import "time"

// Story is the page of one rollout from its change to its end.
type Story struct {
	Headline Text   `json:"headline"`
	Then     Text   `json:"then"`
	AsOf     *AsOf  `json:"asOf,omitempty"`
	Object   Link   `json:"object"`
	Note     string `json:"-"`
	Beats    []Beat `json:"-"`
	// Quiet syncs are left out, and are there at the address All.
	Quiet int    `json:"-"`
	All   string `json:"-"`
	// Story is what the twin holds.
	Story any `json:"story"`
}

// Beat is one line of a story.
type Beat struct {
	At time.Time
	// Step is the time since the beginning.
	Step string
	Kind string // of a telemetry.Beat
	Mark Mark
	Text Text
	// Waited says what the pause before it was for; nil for none.
	Waited Text
	Href   string
}

// Chain is the page of a sync between its causes and its effects.
type Chain struct {
	Headline Text  `json:"headline"`
	Then     Text  `json:"then"`
	Sync     Link  `json:"sync"`
	Origins  []Hop `json:"-"`
	Effects  []Hop `json:"-"`
	Chain    any   `json:"chain"`
}

// Hop is one line of a chain's tree.
type Hop struct {
	// Event is what joins it to the line that it hangs on.
	Event Text
	At    time.Time
	Mark  Mark
	Text  Text
	Href  string
	Cut   int
	Hops  []Hop
}
