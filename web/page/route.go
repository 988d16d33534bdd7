package page

import (
	"net/url"
	"slices"
)

// Route is what is served at a pattern.
type Route struct {
	Build      Builder
	Parameters []string // that the page knows
	Live       bool     // it can be watched
}

// lists are the parameters that may be given more than once, flags those whose value
// says nothing.
var lists, flags = []string{"ready", "fails"}, []string{"all"}

// Known are the parameters of an address that make a difference to the page.
func (x Route) Known(args url.Values) url.Values {
	known := url.Values{}
	for _, name := range x.Parameters {
		values := slices.DeleteFunc(args[name], func(v string) bool { return v == "" })
		switch {
		case slices.Contains(flags, name):
			if args.Has(name) {
				known.Set(name, "")
			}
		case slices.Contains(lists, name):
			if len(values) > 0 {
				known[name] = values
			}
		case len(values) > 0:
			known.Set(name, values[0])
		}
	}
	return known
}
