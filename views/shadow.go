package views

import (
	"slices"
	"time"
)

// Shadow is how decisions compare with what another controller did.
type Shadow struct {
	Headline string `json:"headline"`
	Then     Text   `json:"then,omitempty"`
	// AsOf is set in an outage: nothing is compared until it is over.
	AsOf *AsOf `json:"asOf,omitempty"`
	// Compares is false in a process that acts.
	Compares bool     `json:"compares"`
	Numbers  []Number `json:"numbers,omitempty"`
	// Differences are those of the worst kind first; More is how many the page leaves out.
	Differences []Difference     `json:"differences,omitempty"`
	More        int              `json:"more,omitempty"`
	Kinds       []ShadowKind     `json:"kinds,omitempty"`
	Questions   []ShadowQuestion `json:"questions,omitempty"`
	Notes       []ShadowNote     `json:"notes"`
	// Partly is set where there may be differences that the reader may not see.
	Partly bool `json:"partly,omitempty"`
}

// Difference is one decision that came out otherwise.
type Difference struct {
	Reason    Mark      `json:"reason"`
	At        time.Time `json:"at"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Href      string    `json:"href"` // the sync that it is, or else the one that decided or saw it
	Question  string    `json:"question"`
	What      string    `json:"what"` // is compared: "size of a ReplicaSet"
	Target    string    `json:"target"`
	Predicted string    `json:"predicted"`
	Observed  string    `json:"observed,omitempty"`
	Known     Text      `json:"known"`
}

// ShadowRow is how some decisions compare.
type ShadowRow struct {
	Compared uint64 `json:"compared"`
	Agree    uint64 `json:"agree"`
	Differ   uint64 `json:"differ"`
	Ratio    string `json:"ratio"`
	Of       []Mark `json:"of,omitempty"`
}

func (r *ShadowRow) any() bool { return r.Compared > 0 || len(r.Of) > 0 }

// ShadowKind is how those decisions of a loop compare that are of one aspect.
type ShadowKind struct {
	Loop   string `json:"loop"`
	Kind   string `json:"-"`
	Aspect string `json:"aspect"`
	Of     string `json:"kind"`
	Text   string `json:"text"`
	ShadowRow
}

// seen are the kinds of which there was anything.
func (v *Shadow) seen() []ShadowKind {
	return slices.DeleteFunc(slices.Clone(v.Kinds), func(k ShadowKind) bool { return !k.any() })
}

// unseen are the others, by loop.
func (v *Shadow) unseen() (list []shadowUnseen) {
	for _, k := range v.Kinds {
		if k.any() {
			continue
		}
		if len(list) == 0 || list[len(list)-1].kind != k.Kind {
			list = append(list, shadowUnseen{kind: k.Kind})
		}
		last := &list[len(list)-1]
		last.texts = append(last.texts, k.Text)
	}
	return list
}

type shadowUnseen struct {
	kind  string
	texts []string
}

// ShadowQuestion is how decisions compare that follow from one question.
type ShadowQuestion struct {
	Loop string `json:"loop"`
	ID   string `json:"id"`
	Href string `json:"-"`
	Text string `json:"text"`
	ShadowRow
}

// ShadowNote is what the page says about itself.
type ShadowNote struct {
	Title string `json:"title"`
	Text  Text   `json:"text"`
	Try   string `json:"try,omitempty"`
}
