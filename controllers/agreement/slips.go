package agreement

import (
	"regexp"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// slips are places where words that are put together do not go together: numbers that disagree, words or clauses
// twice, stops and blanks too many.
func (a *Account) slips() (list []string) {
	lead, then := ours(a.Sentence.Lead), ours(a.Sentence.Then)
	text := strings.TrimSuffix(lead+". "+then, " ")
	for _, s := range slip {
		if found := s.FindString(text); found != "" {
			list = append(list, "it says "+quoted(found)+": "+text)
		}
	}
	if word := twice(strings.Fields(text)); word != "" {
		list = append(list, "it says "+quoted(word)+" twice: "+text)
	}
	ends, _, _ := strings.Cut(then, ";")
	_, ends, _ = strings.Cut(ends, "when ")
	if clause := twice(strings.Split(singular.Replace(ends), " and when ")); clause != "" {
		list = append(list, "it says "+quoted(clause)+" twice: "+text)
	}
	if one.MatchString(then) && !single.MatchString(lead) || many.MatchString(then) && !several.MatchString(lead) {
		list = append(list, "what ends it is of another number: "+text)
	}
	return list
}

// slip is what no sentence says, whatever is in it.
var slip = []*regexp.Regexp{
	regexp.MustCompile(`  | [.,;:)]|\( |\(\)|[.,;:][.,;:]|: and |, which does not exist and |^[ .,;:]`),
	regexp.MustCompile(`(^|[^0-9f] )1 (new |old |more )?(pods|ReplicaSets|tries|steps|seconds)\b`),
	regexp.MustCompile(`(^|[ (])([02-9]|[1-9][0-9]+) (new |old |more )?(pod|ReplicaSet|try|step|second)\b`),
	regexp.MustCompile(`(^|[^f] )([02-9]|[1-9][0-9]+) (new |old )?pods (is|was|has|keeps|does|fits|needs|waits|runs|becomes|stays)\b`),
	regexp.MustCompile(`\bpod NAME (are|were|have|keep|do|fit|need|wait|run)\b`),
	regexp.MustCompile(`(^|[^0-9fd] )1 (new |old |more )?(pod )?(are|were|have|keep|do|fit|need|wait|run|become|stay)\b`),
	regexp.MustCompile(`\b(it|one) (become|stay|use|need)\b|\b(they|both) (becomes|stays|uses|needs|is|has)\b`),
}

var (
	// one and many are what ends it where the pods do, and single and several the pods that it speaks of.
	one     = regexp.MustCompile(`when (it|its replacement) (becomes|stays|uses|can)\b`)
	many    = regexp.MustCompile(`when (they|their replacements) (become|stay|use|can)\b`)
	single  = regexp.MustCompile(`NAME|\b1 `)
	several = regexp.MustCompile(`([2-9]|[1-9][0-9]+) | and |, `)

	singular = strings.NewReplacer("they become", "it becomes", "they stay", "it stays", "their replacements become", "its replacement becomes", "they use", "it uses")
)

// ours are the words without those of others.
func ours(w decision.Words) string {
	var b strings.Builder
	for _, p := range w {
		switch p.Kind {
		case decision.Name:
			b.WriteString("NAME")
		case decision.Quote, decision.Told:
			b.WriteString("THEIRS")
		case decision.Until, decision.Since, decision.Clock:
			b.WriteString("TIME")
		default:
			b.WriteString(p.Print(p.At))
		}
	}
	return b.String()
}

// twice is the first element that follows itself; "" for none.
func twice(list []string) string {
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			return list[i]
		}
	}
	return ""
}

func quoted(text string) string { return `"` + text + `"` }
