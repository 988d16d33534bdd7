package list

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/words"
)

const (
	historyTerms = "Terms: a part of a name, NAMESPACE/PART, ns:, name:, loop:KIND, is:RESULT, class:, code:, leaf:QUESTION, asked:QUESTION=ANSWER (with _ for a space, and \\_ for _), cause:, error:TEXT, since: and until:. " +
		"RESULT is how the sync ended, not how its object was (see code:): wrote, unchanged, waiting, superseded, stale, unknown, failed, dropped or panicked, or what the list says of a sync, with _ for a space; \"unanswered\" is is:failed code:unanswered."
	historyOnce = "Only the first term of each kind is searched for; several of is: find any of them."
	historyHint = "Name, ns:shop, is:failed, cause:timer, error:quota, since:90m, until:03:12"
	ownHint     = "Name, ns:shop, is:failed, asked:RR-3.may-go=no, code:image-pull, cause:timer, error:quota, since:90m, until:03:12"
)

// searching turns one term of a search into a part of the query, and reports
// whether it is known.
type searching func(q *telemetry.Query, value string, now time.Time) bool

var searches = map[string]searching{
	"":     partOfName,
	"ns":   func(q *telemetry.Query, v string, _ time.Time) bool { q.Namespace = v; return true },
	"name": func(q *telemetry.Query, v string, _ time.Time) bool { q.Name = v; return true },
	"loop": func(q *telemetry.Query, v string, _ time.Time) bool { q.Loop = v; return true },
	"class": func(q *telemetry.Query, v string, _ time.Time) bool {
		q.Class = telemetry.Class(v)
		return slices.Contains(telemetry.Classes, q.Class)
	},
	"code":  func(q *telemetry.Query, v string, _ time.Time) bool { q.Code = v; return true },
	"leaf":  func(q *telemetry.Query, v string, _ time.Time) bool { q.Leaf = v; return true },
	"cause": func(q *telemetry.Query, v string, _ time.Time) bool { q.Cause = telemetry.CauseKind(v); return true },
	"error": func(q *telemetry.Query, v string, _ time.Time) bool { q.Text = v; return true },
	"is": func(q *telemetry.Query, v string, _ time.Time) bool {
		r, is := words.ResultNamed(strings.ReplaceAll(v, "_", " "))
		q.Results = append(q.Results, r)
		return is
	},
	"asked": func(q *telemetry.Query, v string, _ time.Time) bool {
		q.Question, q.Answer, _ = strings.Cut(v, "=")
		q.Answer = address.AnswerOf(q.Answer)
		return q.Question != ""
	},
	"since": func(q *telemetry.Query, v string, now time.Time) bool { return moment(&q.Since, v, now) },
	"until": func(q *telemetry.Query, v string, now time.Time) bool { return moment(&q.Until, v, now) },
}

func moment(at *time.Time, text string, now time.Time) bool {
	t, err := telemetry.ParseMoment(text, now)
	*at = t
	return err == nil
}

// partOfName searches for a part of a name, with the namespace before it where it has one.
func partOfName(q *telemetry.Query, value string, _ time.Time) bool {
	namespace, name, slash := strings.Cut(value, "/")
	if !slash {
		q.NamePart = value
		return true
	}
	if namespace != "" {
		q.Namespace = namespace
	}
	if name != "" {
		q.NamePart = name
	}
	return namespace != "" || name != ""
}

// parseSearch reads a search. What it does not know it keeps and marks; it
// searches for nothing then. loop is the name of the loop of a kind, "" where there is none.
func parseSearch(text string, now time.Time, loop func(kind string) string) (telemetry.Query, []filter.Term) {
	q := telemetry.Query{Limit: historyPage}
	var terms []filter.Term
	for _, word := range strings.Fields(text) {
		t := termOf(word, loop)
		tried := q
		set, is := searches[t.Key]
		is = is && !repeats(terms, t)
		if t.Unknown = len(terms) >= filter.MaxTerms || !is || t.Value == "" || !set(&tried, t.Value, now); !t.Unknown {
			q = tried
		}
		terms = append(terms, t)
		if len(terms) > filter.MaxTerms {
			break
		}
	}
	return q, terms
}

// termOf is a word of a search. A kind alone, as the rows have it before a name, asks for its loop:
// no name begins with a capital letter.
func termOf(word string, loop func(kind string) string) filter.Term {
	t := filter.Term{Text: word, Value: word}
	if key, value, keyed := strings.Cut(word, ":"); keyed {
		t.Key, t.Value = strings.ToLower(key), value
	} else if unicode.IsUpper([]rune(word)[0]) && loop(word) != "" {
		t.Key = "loop"
	}
	if t.Key == "loop" {
		t.Value = loop(t.Value)
	}
	return t
}

// repeats reports whether a term comes after one of its kind that is searched for, and only one can be.
func repeats(before []filter.Term, t filter.Term) bool {
	kinds := kindsOf(t)
	return t.Key != "is" && slices.ContainsFunc(before, func(b filter.Term) bool {
		return !b.Unknown && slices.ContainsFunc(kindsOf(b), func(kind string) bool { return slices.Contains(kinds, kind) })
	})
}

// kindsOf are the kinds of a term: one, but a namespace with a name is of both.
func kindsOf(t filter.Term) []string {
	namespace, name, slash := strings.Cut(t.Value, "/")
	switch {
	case t.Key != "" || !slash || namespace == "":
		return []string{t.Key}
	case name == "":
		return []string{"ns"}
	}
	return []string{"", "ns"}
}

// leftOut says which terms are not searched for, and why: nobody knows them, they come second, or there are enough.
func leftOut(terms []filter.Term) string {
	var unknown, second, why []string
	for i, t := range terms {
		switch {
		case !t.Unknown:
		case i >= filter.MaxTerms:
			why = append(why, filter.Beyond("A search", t))
		case repeats(terms[:i], t):
			second = append(second, prose.Clip(t.Text, 80))
		default:
			unknown = append(unknown, prose.Clip(t.Text, 80))
		}
	}
	if len(unknown) > 0 {
		why = append(why, prose.And(unknown)+prose.Plural(len(unknown), " is not understood, and was left out. ", " are not understood, and were left out. ")+historyTerms)
	}
	if len(second) > 0 {
		why = append(why, prose.And(second)+prose.Plural(len(second), " was left out. ", " were left out. ")+historyOnce)
	}
	return strings.Join(why, " ")
}
