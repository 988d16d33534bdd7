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
}
