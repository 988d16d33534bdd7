package views

// Debug is the index of the debug endpoints.
type Debug struct {
	Headline string
	Lines    []Line
}
