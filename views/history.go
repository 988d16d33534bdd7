package views

import "time"

// History is the search through the syncs that are kept on disk.
type History struct {
	Headline Text    `json:"headline"`
	Then     Text    `json:"then,omitempty"`
	Filter   Filter  `json:"filter"`
	Syncs    []Found `json:"syncs"`
	// Next is the page with older syncs.
	Next string `json:"next,omitempty"`
	// Empty stands in for the table when there is nothing to list.
	Empty *Problem `json:"empty,omitempty"`
}

// Found is one kept sync.
type Found struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Owner  string    `json:"-"`
	Own    string    `json:"-"`
	Object string    `json:"object"`
	Result Mark      `json:"result"`
	Says   string    `json:"says"`
	Error  string    `json:"error,omitempty"`
	Leaf   string    `json:"leaf,omitempty"`
	Took   string    `json:"took"`
	Number string    `json:"sync"`
	Href   string    `json:"href"`
}
