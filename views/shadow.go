package views

// Shadow is how decisions compare with what another controller did.
type Shadow struct {
	Headline string `json:"headline"`
	Then     Text   `json:"then,omitempty"`
}
