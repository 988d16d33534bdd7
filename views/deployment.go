package views

// Deployment is the page of one Deployment.
type Deployment struct {
	Object
	Revision string `json:"revision,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	Sets     []Set  `json:"replicaSets"`
	SetsNote string `json:"-"`
}

// Set is one of its ReplicaSets.
type Set struct {
	Revision  string `json:"revision"`
	Owner     string `json:"-"`
	Own       string `json:"name"`
	Href      string `json:"href"`
	Images    string `json:"images"`
	Size      int64  `json:"size"`
	Available int64  `json:"available"`
	// New marks the one that has the Deployment's template.
	New bool `json:"new,omitempty"`
	// State is its own outcome, from its newest sync; nil where none is known.
	State *Mark `json:"state,omitempty"`
	// Diff is what its revision changed of the one before; nil where that is not recorded.
	Diff *Diff `json:"changed,omitempty"`
}

// Diff is what differs between the templates of two revisions.
type Diff struct {
	From   string      `json:"from"`
	To     string      `json:"to"`
	By     Text        `json:"by,omitempty"`
	Fields []DiffField `json:"fields"`
	More   string      `json:"more,omitempty"`
}

// DiffField is one path with its values; a masked one has none.
type DiffField struct {
	Path   string `json:"path"`
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
	Masked bool   `json:"masked,omitempty"`
}
