package views

// Debug is an index of endpoints.
type Debug struct {
	Headline, Then string
	Lines          []Line
}
