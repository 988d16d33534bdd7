package views

// Update is the page of one rolling update.
type Update struct {
	Object
	// Controllers are the new one and the old one, as far as they exist; their Revision is
	// which of the two they are.
	Controllers     []Set  `json:"replicationControllers"`
	ControllersNote string `json:"-"`
	// Pods are those of the new one, or where there is none of the old one.
	Pods                []Pod  `json:"pods"`
	PodsTitle, PodsNote string `json:"-"`
}
