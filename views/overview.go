package views

import "time"

// Overview is the list of all objects of a loop, attention first.
type Overview struct {
	// Kind is what they are, and Pods whether pods are counted of them.
	Kind     string  `json:"-"`
	Pods     bool    `json:"-"`
	Headline string  `json:"headline"`
	AsOf     *AsOf   `json:"asOf,omitempty"`
	Tally    []Tally `json:"tally"`
	// Beside are the objects that have a list of their own and no place in the header.
	Beside []Beside `json:"beside,omitempty"`
	Filter Filter   `json:"filter"`
	Groups []Group  `json:"groups"`
	// Shown says which rows of how many stand on this page; Next is the page after it.
	Shown string `json:"shown,omitempty"`
	Next  string `json:"next,omitempty"`
	// Empty stands in for the table when there is nothing to list.
	Empty *Problem `json:"empty,omitempty"`
}

// Beside says of the objects of another loop, which are in a list of their own, how they are.
type Beside struct {
	Loop    string `json:"loop"`
	Text    Text   `json:"text"`
	Failed  int    `json:"failed"`
	Waiting int    `json:"waiting"`
	Tone    Tone   `json:"-"`
}

// Tally is the count of one outcome, a link to the list of it.
type Tally struct {
	Mark
	Count   int    `json:"count"`
	Href    string `json:"href"`
	Current bool   `json:"-"`
}

// Filter is the filter box with its terms.
type Filter struct {
	Query string `json:"query,omitempty"`
	Chips []Chip `json:"terms,omitempty"`
	// Known is shown beside a term that filters nothing.
	Known string `json:"known,omitempty"`
	// Action is the page that it filters, Label what it filters there, and Hint
	// shows some terms.
	Action, Label, Hint string `json:"-"`
}

// Chip is one term and the address without it.
type Chip struct {
	Text    string `json:"term"`
	Without string `json:"-"`
	Unknown bool   `json:"unknown,omitempty"`
}

// Group is the rows of one outcome.
type Group struct {
	Name string `json:"name"`
	Note string `json:"note"`
	Rows []Row  `json:"rows"`
}

// Row is one object of the list.
type Row struct {
	ID        string `json:"-"`
	Group     string `json:"group"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Href      string `json:"href"`
	State     Mark   `json:"state"`
	Since     Text   `json:"since,omitempty"`
	// AsOf is when the API server last served, where it has not since and the row is of then.
	AsOf     *time.Time `json:"asOf,omitempty"`
	Revision string     `json:"revision,omitempty"`
	// Quiet rows have one line and no meter: silence is the signal.
	Quiet bool `json:"-"`
	Why   Text `json:"why"`
	// Asked is the deciding question with its answer or arithmetic.
	Asked string `json:"asked,omitempty"`
	// Pods says whether pods are counted of it: then it has Available, or else Numbers.
	Pods      bool   `json:"-"`
	Available string `json:"available,omitempty"`
	Numbers   string `json:"numbers,omitempty"`
	Meter     *Meter `json:"meter,omitempty"`
	// Spark is nil for quiet rows, and where the sizes are not known.
	Spark     *Spark    `json:"spark,omitempty"`
	LastAt    time.Time `json:"lastAt"`
	LastDid   string    `json:"lastDid"`
	Queue     string    `json:"queue"`
	QueueNote Text      `json:"queueNote,omitempty"`
}

// Meter is the bar of a row, in pods: from nothing to the ceiling.
type Meter struct {
	New     int64 `json:"newAvailable"`
	Old     int64 `json:"oldAvailable"`
	Not     int64 `json:"notAvailable"`
	Floor   int64 `json:"floor"`
	Ceiling int64 `json:"ceiling"`
	// Alike is set where no pods are told from others: New are all that are available.
	Alike  bool `json:"alike,omitempty"`
	Ticked bool `json:"-"`
	Tone   Tone `json:"-"`
}

// share is n of the ceiling on a scale of 100.
func (m Meter) share(n int64) float64 {
	if m.Ceiling <= 0 {
		return 0
	}
	return min(100, 100*float64(n)/float64(m.Ceiling))
}
