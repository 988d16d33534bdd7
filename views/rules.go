package views

// Rules is every rule that the loops follow.
type Rules struct {
	Headline string      `json:"headline"`
	Groups   []RuleGroup `json:"groups"`
}

// RuleGroup is rules about one thing.
type RuleGroup struct {
	Letters string `json:"letters"` // of the tags
	Title   string `json:"title"`
	Rules   []Rule `json:"rules"`
}

// Rule is one rule and the questions that ask for it.
type Rule struct {
	ID        string `json:"id"` // the anchor
	Tag       string `json:"tag"`
	Title     string `json:"title"`
	Text      Text   `json:"text"`
	Questions []Link `json:"questions,omitempty"`
}
