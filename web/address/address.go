// Package address says where everything has its page: objects, syncs, questions and
// rules. It knows no router and no request; the routes are in package web.
package address

import (
	"cmp"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/words"
)

// The terms of a search have no spaces: an answer has underscores in their place, and a backslash
// before those of its own.
var (
	toTerm   = strings.NewReplacer(`\`, `\\`, "_", `\_`, " ", "_")
	fromTerm = strings.NewReplacer(`\\`, `\`, `\_`, "_", "_", " ")
)

// AnswerOf is the answer that the term of a search means.
func AnswerOf(term string) string { return fromTerm.Replace(term) }

// Asked lists the kept syncs that gave an answer.
func Asked(loop, question, answer string) string {
	term := "asked:" + question
	if answer != decision.Any {
		term += "=" + toTerm.Replace(answer)
	}
	return "/history?" + url.Values{"q": {"loop:" + loop + " " + term}}.Encode()
}

// Rule leads to a rule.
func Rule(tag string) views.Link {
	return views.Link{Text: tag, Href: "/rules#" + decision.RuleAnchor(tag)}
}

// Page is the page of the object of that loop, namespace and name.
func Page(loop, namespace, name string) string {
	return decision.PathOf(loop) + "/" + url.PathEscape(cmp.Or(namespace, decision.NoNamespace)) + "/" + url.PathEscape(name)
}

// Of is the page of an object.
func Of(o telemetry.Object) string { return Page(o.Loop, o.Namespace, o.Name) }

// Sync is the permalink of a sync.
func Sync(t *telemetry.Trace) string { return SyncOf(t.Object, t.Epoch, t.Seq) }

// SyncOf is the permalink of the sync with that number in that run.
func SyncOf(o telemetry.Object, epoch string, seq uint64) string {
	return Of(o) + "/syncs/" + url.PathEscape(epoch) + "/" + words.Digits(seq)
}

// LoopAt is the loop that has its pages at an address; "" where none can have.
func LoopAt(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	loop, ok := strings.CutSuffix(first, "s")
	if !ok {
		return ""
	}
	return loop
}

// Row is the id of a row on the page. Names of objects may be long.
func Row(o telemetry.Object) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(o.Loop + "/" + o.Key())) // hashes take everything
	return "r-" + strconv.FormatUint(h.Sum64(), 36)
}
