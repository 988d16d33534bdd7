package views

// ReplicaSet is the page of one ReplicaSet.
type ReplicaSet struct {
	Object
	Revision string `json:"revision,omitempty"`
	Owner    *Link  `json:"owner,omitempty"`
	Images   string `json:"images,omitempty"`
	// Victims is the deletion order of the newest sync that chose pods.
	Victims     []Victim `json:"victims,omitempty"`
	VictimsNote Text     `json:"victimsNote,omitempty"`
	// Expects is the creations and deletions not seen yet.
	Expects Text `json:"expectations"`
	// Echoes are its own writes that the caches do not show yet.
	Echoes   []Line `json:"echoes,omitempty"`
	Pods     []Pod  `json:"pods"`
	PodsNote string `json:"-"`
}

// Pod is one pod as the newest sync saw it.
type Pod struct {
	Owner string `json:"-"`
	Own   string `json:"name"`
	State Mark   `json:"state"`
	Why   Text   `json:"why,omitempty"`
	Node  string `json:"node,omitempty"`
	Age   Text   `json:"age"`
}
