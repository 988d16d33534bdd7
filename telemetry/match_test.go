package telemetry

import (
	"testing"
	"time"
)

// TestQueryLists: a sync is found where all that a query asks for is so.
func TestQueryLists(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	hit := Hit{Object: object("web"), Started: at, Result: ResultWrote, Class: ClassWrote, Leaf: "RR-2", Code: "rolling", Error: "Quota exceeded"}
	for name, c := range map[string]struct {
		q    Query
		want bool
	}{
		"all":              {Query{}, true},
		"the leaf":         {Query{Leaf: "RR-2"}, true},
		"another leaf":     {Query{Leaf: "RR-1"}, false},
		"the code":         {Query{Code: "rolling"}, true},
		"another code":     {Query{Code: "settled"}, false},
		"a result":         {Query{Results: []Result{ResultFailed, ResultWrote}}, true},
		"another result":   {Query{Results: []Result{ResultFailed}}, false},
		"a text":           {Query{Text: "QUOTA"}, true},
		"another text":     {Query{Text: "limit"}, false},
		"from then":        {Query{Since: at}, true},
		"from later":       {Query{Since: at.Add(1)}, false},
		"until then":       {Query{Until: at}, false},
		"until later":      {Query{Until: at.Add(1)}, true},
		"what one may":     {Query{May: func(o Object) bool { return o == object("web") }}, true},
		"what one may not": {Query{May: func(o Object) bool { return o != object("web") }}, false},
	} {
		if got := c.q.Lists(&hit); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
