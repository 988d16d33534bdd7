package source

import "net/http"

// Component is what a process tells of itself as Kubernetes' own components do. What is
// nil has no address.
type Component struct {
	// Configz serves the configuration of the process, Flagz the flags it was started with.
	Configz, Flagz http.Handler
	// Statusz makes what serves the version and the age of the process, with the addresses
	// that the console answers.
	Statusz func(paths []string) http.Handler
	// SLIs counts what the health checks find.
	SLIs SLIs
	// SetVerbosity changes how much is logged, and says that it did. It is served where profiles are.
	SetVerbosity func(level string) (string, error)
}

// SLIs counts what health checks find, and serves the counts: GET shows them, DELETE
// begins again. It must be safe for concurrent use.
type SLIs interface {
	http.Handler
	// Checked takes the outcome of one check of a probe, such as readyz.
	Checked(check, probe string, err error)
}
