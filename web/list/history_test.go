package list

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/words"
)

// TestResultsAreFound by their names, and by the words that the list has for them; a hint names them.
func TestResultsAreFound(t *testing.T) {
	for _, r := range telemetry.Results {
		word := strings.ReplaceAll(words.ResultMark(r).Word, " ", "_")
		for _, text := range []string{string(r), word, strings.ToUpper(word)} {
			search, terms := parseSearch("is:"+text, time.Time{}, nil)
			if terms[0].Unknown || len(search.Results) != 1 || search.Results[0] != r {
				t.Errorf("is:%s searches for %q", text, search.Results)
			}
		}
		if !strings.Contains(historyTerms, string(r)) {
			t.Errorf("no hint names %s", r)
		}
	}
	if search, terms := parseSearch("is:_", time.Time{}, nil); !terms[0].Unknown || len(search.Results) > 0 {
		t.Errorf("is:_ searches for %q", search.Results)
	}
}

// TestNamesAreFound as the rows of the history write them.
func TestNamesAreFound(t *testing.T) {
	loops := func(kind string) string {
		return map[string]string{"ReplicaSet": "replicaset", "rs": "replicaset"}[kind]
	}
	for _, c := range []struct {
		text, loop, namespace, part string
		unknown                     string
	}{
		{"web", "", "", "web", ""},
		{"default/web", "", "default", "web", ""},
		{"default/", "", "default", "", ""},
		{"/web", "", "", "web", ""},
		{"/", "", "", "", "/"},
		{"ReplicaSet default/web", "replicaset", "default", "web", ""},
		{"rs web", "", "", "rs", "web"},
		{"Widget default/web", "", "", "Widget", "default/web"},
		{"ns:shop default/web", "", "shop", "", "default/web"},
		{"default/web ns:shop", "", "default", "web", "ns:shop"},
		{"loop:rs ReplicaSet web", "replicaset", "", "web", "ReplicaSet"},
	} {
		search, terms := parseSearch(c.text, time.Time{}, loops)
		var unknown []string
		for _, x := range terms {
			if x.Unknown {
				unknown = append(unknown, x.Text)
			}
		}
		if search.Loop != c.loop || search.Namespace != c.namespace || search.NamePart != c.part || strings.Join(unknown, " ") != c.unknown {
			t.Errorf("%q is searched for as %+v, without %q", c.text, search, unknown)
		}
	}
}

// TestAnswersAreToldApart: loops of other programs may have answers with underscores.
func TestAnswersAreToldApart(t *testing.T) {
	for _, is := range []string{"too_many", "too many", "a _b", "a_ b", "a\\_b", "__", "50%"} {
		link, err := url.Parse(address.Asked("backup", "B-1", is))
		if err != nil {
			t.Fatal(err)
		}
		search, terms := parseSearch(link.Query().Get("q"), time.Time{}, func(kind string) string { return kind })
		if search.Answer != is || len(terms) != 2 {
			t.Errorf("%q is searched for as %+v", is, search)
		}
	}
	if search, _ := parseSearch("asked:B-1=too_many", time.Time{}, nil); search.Answer != "too many" {
		t.Errorf("typed by hand it is searched for as %+v", search)
	}
}

// TestAskedIsFound: the link of every answer is read as a search for just that answer.
func TestAskedIsFound(t *testing.T) {
	named := func(kind string) string { return kind }
	for _, l := range controllers.Loops {
		for _, q := range l.Catalogue.Questions {
			for _, a := range q.Answers {
				link, err := url.Parse(address.Asked(l.Name, q.ID, a.Is))
				if err != nil {
					t.Fatal(err)
				}
				search, terms := parseSearch(link.Query().Get("q"), time.Time{}, named)
				want := strings.TrimPrefix(a.Is, decision.Any)
				if search.Loop != l.Name || search.Question != q.ID || search.Answer != want || search.NamePart != "" || len(terms) != 2 {
					t.Errorf("%s %s %q is searched for as %+v", l.Name, q.ID, a.Is, search)
				}
			}
		}
	}
}

// TestTooManyTerms: what is left out because a search has enough terms is not said to be unknown.
func TestTooManyTerms(t *testing.T) {
	_, terms := parseSearch(strings.Repeat("is:failed ", filter.MaxTerms)+"until:03:12 web", time.Now(), nil)
	if got, want := leftOut(terms), "A search has at most 16 terms: until:03:12 and any after it were left out."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
