package page

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/answer"
)

// Route is what is served at a pattern.
type Route struct {
	Build      Builder
	Parameters []string // that the page knows
	Live       bool     // it can be watched
	MaxQuery   int      // of its addresses; 0 for MaxQuery
}

// tooLong says that a query has more characters than one of the route may have, nil where it has not.
func (x Route) tooLong(query string) error {
	most, advice := cmp.Or(x.MaxQuery, MaxQuery), "Leave out some of its parameters."
	if len(query) <= most {
		return nil
	}
	if slices.Contains(x.Parameters, "q") {
		advice = "Use fewer filter terms."
	}
	return answer.NewProblem(http.StatusRequestURITooLong, "query-too-long",
		"That address is too long.", views.Sayf("A query may have at most %s characters. %s", prose.Thousands(most), advice))
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
