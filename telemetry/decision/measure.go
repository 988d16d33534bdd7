package decision

// Measure is a metric that kube-controller-manager has of a loop, by the name that dashboards know.
type Measure struct {
	Name, Help string
	// Labels are those of a counter, and Known the values of them that are there from the start.
	Labels []string
	Known  [][]string
	// Buckets are those of a histogram; nil for a counter.
	Buckets []float64
	// Of is what one sync adds. decided reads what the sync decided on; it is nil where that cannot be read.
	Of func(rounds []Round, decided func() Snapshot) []Measured
}

// Measured is a value that a histogram observes or a counter grows by.
type Measured struct {
	Labels []string
	Value  float64
}
