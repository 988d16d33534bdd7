package views

// Decisions is the algorithm of one loop, with how often each way was taken.
type Decisions struct {
	Headline string    `json:"headline"`
	Then     Text      `json:"then"`
	Loops    []LoopTab `json:"-"`
	Flow     Flow      `json:"-"`
	Branches []Branch  `json:"branches"`
}

// LoopTab leads to the page of one loop.
type LoopTab struct {
	Link
	Current bool
}

// Branch is questions that are asked together: the trunk has no name.
type Branch struct {
	Part      string     `json:"-"` // its id on the page
	Name      string     `json:"name,omitempty"`
	Note      string     `json:"note,omitempty"`
	Questions []Question `json:"questions"`
}

// Question is one predicate, its ways out and how often each was taken.
type Question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Rule     Link   `json:"rule"` // that it belongs to
	Doc      string `json:"doc"`
	Upstream string `json:"upstream,omitempty"`
	Asked    uint64 `json:"asked"`
	Answers  []Way  `json:"answers"`
}

// Way is one way out of a question.
type Way struct {
	Answer string `json:"answer"`
	Then   string `json:"then"`
	Writes string `json:"writes,omitempty"`
	Passes bool   `json:"passes,omitempty"`
	// Next is where the answer may lead: questions, "report" or "end".
	Next  []string `json:"next"`
	To    string   `json:"-"` // the same in words
	Count uint64   `json:"count"`
	Share float64  `json:"-"` // of the times it was asked, in percent
	Href  string   `json:"syncs"`
}
