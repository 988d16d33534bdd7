package telemetry

import "time"

// Rival is another process that acts on the same objects. The zero value is none.
type Rival struct {
	// Manager is the field manager that it writes as, which may be our own.
	Manager string `json:"manager,omitempty"`
	// Writes is how many of its writes were seen lately, and Last when the newest one was.
	Writes int       `json:"writes"`
	Last   time.Time `json:"last,omitzero"`
	// Object is what the newest one was to: "Deployment shop/web".
	Object string `json:"object,omitempty"`
}
