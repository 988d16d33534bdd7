package telemetry

// Release is the release of Kubernetes that an API server is of. The zero value is one that is not
// known.
type Release struct {
	// Version is what the API server calls it, such as "v1.33.5-eks-3025e55".
	Version string `json:"version,omitempty"`
	// Minor is its minor release, 33.
	Minor int `json:"minor,omitempty"`
}

// Before reports whether the release is known to be earlier than a minor release.
func (r Release) Before(minor int) bool { return r.Version != "" && r.Minor < minor }
