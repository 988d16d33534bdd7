package views

// About is what this program is, what it covers and what it leaves out.
type About struct {
	Headline string         `json:"headline"`
	Then     Text           `json:"then,omitempty"`
	Sections []AboutSection `json:"sections"`
	// History is the file that keeps syncs beyond the process, for programs on the same machine.
	History string `json:"history,omitempty"`
	// HistoryFailing is set while syncs cannot be written to it.
	HistoryFailing bool `json:"historyFailing,omitempty"`
	// Namespace is the only one that is observed; "" for all.
	Namespace string `json:"namespace,omitempty"`
}

// AboutSection is some lines under a heading.
type AboutSection struct {
	Title string `json:"title"`
	Note  string `json:"note,omitempty"`
	Tone  Tone   `json:"tone,omitempty"`
	Lines []Line `json:"lines"`
}

// Reasons is every stable code, or those that have one name.
type Reasons struct {
	Headline string        `json:"headline"`
	Scopes   []ReasonScope `json:"scopes"`
	// All leads to every code, where only some are shown.
	All string `json:"all,omitempty"`
}

// ReasonScope is the codes of one kind in one scope.
type ReasonScope struct {
	Title string   `json:"scope"`
	Doc   Text     `json:"doc"`
	Codes []Reason `json:"codes"`
}

// Reason is one code and what a person has to know who reads it.
type Reason struct {
	ID        string `json:"id"` // the anchor
	Code      string `json:"code"`
	Means     Text   `json:"means"`
	Meanwhile Text   `json:"meanwhile"`
	Unblocks  Text   `json:"unblocks"`
	Do        Text   `json:"do"`
	Questions []Link `json:"questions,omitempty"`
	Rules     []Link `json:"rules,omitempty"` // that the questions belong to
	// Syncs leads to the kept syncs that said it.
	Syncs string `json:"syncs,omitempty"`
}
