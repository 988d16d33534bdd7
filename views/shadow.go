package views

import "time"

// Shadow is how decisions compare with what another controller did.
type Shadow struct {
	Headline string `json:"headline"`
	Then     Text   `json:"then,omitempty"`
	// Compares is false in a process that acts.
	Compares bool     `json:"compares"`
	Numbers  []Number `json:"numbers,omitempty"`
	// Differences are those of the worst kind first; More is how many the page leaves out.
	Differences []Difference     `json:"differences,omitempty"`
	More        int              `json:"more,omitempty"`
	Questions   []ShadowQuestion `json:"questions,omitempty"`
	Notes       []ShadowNote     `json:"notes"`
}

// Difference is one decision that came out otherwise.
type Difference struct {
	Reason    Mark      `json:"reason"`
	At        time.Time `json:"at"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Href      string    `json:"href"` // the sync that decided
	Question  string    `json:"question"`
	Target    string    `json:"target"`
	Predicted string    `json:"predicted"`
	Observed  string    `json:"observed,omitempty"`
	Known     Text      `json:"known"`
}

// ShadowQuestion is how decisions compare that follow from one question.
type ShadowQuestion struct {
	ID       string `json:"id"`
	Href     string `json:"-"`
	Text     string `json:"text"`
	Compared uint64 `json:"compared"`
	Agree    uint64 `json:"agree"`
	Differ   uint64 `json:"differ"`
	Ratio    string `json:"ratio"`
	Of       []Mark `json:"of,omitempty"`
}

// ShadowNote is what the page says about itself.
type ShadowNote struct {
	Title string `json:"title"`
	Text  Text   `json:"text"`
	Try   string `json:"try,omitempty"`
}
