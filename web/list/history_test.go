package list

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
)

// TestAskedIsFound: the link of every answer is read as a search for just that answer.
func TestAskedIsFound(t *testing.T) {
	known := func(string) bool { return true }
	for _, l := range controllers.Loops {
		for _, q := range l.Catalogue.Questions {
			for _, a := range q.Answers {
				link, err := url.Parse(address.Asked(l.Name, q.ID, a.Is))
				if err != nil {
					t.Fatal(err)
				}
				search, terms := parseSearch(link.Query().Get("q"), time.Time{}, known)
				want := strings.TrimPrefix(a.Is, decision.Any)
				if search.Loop != l.Name || search.Question != q.ID || search.Answer != want || search.NamePart != "" || len(terms) != 2 {
					t.Errorf("%s %s %q is searched for as %+v", l.Name, q.ID, a.Is, search)
				}
			}
		}
	}
}
