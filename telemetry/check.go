package telemetry

// Check is one part of the health of a process: Err is what is wrong with it, nil for nothing.
type Check struct {
	Name string
	Err  error
}
