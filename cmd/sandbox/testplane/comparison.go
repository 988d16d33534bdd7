package testplane

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
)

// Comparison is what the page /shadow says to a program: how the loops of a Watcher compare with what
// another controller writes.
type Comparison struct {
	Headline    string
	Compares    bool
	Kinds       []ComparedKind
	Differences []ComparedDifference
	Numbers     []struct {
		Label string
		Value any
	}
	Notes []struct {
		Title string
		Text  any
	}
}

// ComparedKind is how decisions of one loop compare that are of one aspect.
type ComparedKind struct {
	Loop, Aspect, Kind      string
	Compared, Agree, Differ uint64
	// Of counts the verdicts but the usual one: "1,204 unexplained".
	Of []struct{ Word string }
}

// Unexplained is how many of them nothing explains.
func (k *ComparedKind) Unexplained() uint64 {
	for _, of := range k.Of {
		if number, word, _ := strings.Cut(of.Word, " "); word == unexplained {
			return count(number)
		}
	}
	return 0
}

// count reads a number as pages have it, 0 for anything else.
func count(text string) uint64 {
	n, _ := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 64)
	return n
}

func (k *ComparedKind) words() string {
	words := make([]string, 0, len(k.Of))
	for _, of := range k.Of {
		words = append(words, of.Word)
	}
	return strings.Join(words, ", ")
}

// ComparedDifference is a decision that came out otherwise.
type ComparedDifference struct {
	Reason                                                             struct{ Word string }
	What, Namespace, Name, Target, Question, Predicted, Observed, Href string
	Known                                                              any
}

const unexplained = "unexplained"

// tells reports whether it tells of the other controller.
func (d *ComparedDifference) tells() bool {
	return d.Reason.Word != "another writer" && d.Reason.Word != "unsigned"
}

// Total is how much was compared, and how much of that agrees.
func (c *Comparison) Total() (compared, agree uint64) {
	for _, k := range c.Kinds {
		compared, agree = compared+k.Compared, agree+k.Agree
	}
	return compared, agree
}

// LeftOut is how much could not be compared, for want of time, and whether the page says so at all.
func (c *Comparison) LeftOut() (left uint64, said bool) {
	for _, n := range c.Numbers {
		if n.Label == "left out" {
			return count(fmt.Sprint(n.Value)), true
		}
	}
	return 0, false
}

// String is a table of the kinds, the numbers, and a line for each difference that tells of the other controller.
func (c *Comparison) String() string {
	var text strings.Builder
	compared, agree := c.Total()
	fmt.Fprintf(&text, "%s %d of %d agree\n", c.Headline, agree, compared)
	table := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "loop\taspect\tof\tcompared\tagree\tshare\tverdicts")
	for _, k := range c.Kinds {
		share := "-"
		if k.Compared > 0 {
			share = fmt.Sprintf("%.2f %%", 100*float64(k.Agree)/float64(k.Compared))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", k.Loop, k.Aspect, k.Kind, k.Compared, k.Agree, share, k.words())
	}
	_ = table.Flush() // into memory
	for _, n := range c.Numbers {
		fmt.Fprintf(&text, "%s: %v; ", n.Label, n.Value)
	}
	for _, d := range c.Differences {
		if d.tells() {
			known, _ := json.Marshal(d.Known) // which was JSON before
			fmt.Fprintf(&text, "\n%s, %s %s, %s/%s at %s: predicted %s, observed %s: %s %s", d.Reason.Word, d.What, d.Target, d.Namespace, d.Name, d.Question, d.Predicted, d.Observed, known, d.Href)
		}
	}
	return text.String()
}

const (
	// fewest is from how many comparisons of a kind on its share is held.
	fewest = 200
	// perMille is how many of a thousand may differ, and how many may be unexplained.
	perMille = 5
	// outOf is out of how many one may be left out.
	outOf = 20
)

// Check fails the test for a kind that agrees too seldom, or has too much that is unexplained, and where so much
// was left out that the rest says little.
func (c *Comparison) Check(t testing.TB) {
	t.Helper()
	if compared, _ := c.Total(); !c.Compares || compared == 0 {
		t.Error("nothing was compared")
	}
	for _, problem := range c.problems() {
		t.Error(problem)
	}
}

func (c *Comparison) problems() (list []string) {
	for _, k := range c.Kinds {
		of := fmt.Sprintf("%s, %s of %s", k.Loop, k.Aspect, k.Kind)
		if k.Compared >= fewest && 1000*(k.Compared-k.Agree) > perMille*k.Compared {
			list = append(list, fmt.Sprintf("%s: %d of %d agree, which is less than 99.5 %%", of, k.Agree, k.Compared))
		}
		if open := k.Unexplained(); open > max(1, perMille*k.Compared/1000) {
			list = append(list, fmt.Sprintf("%s: %d of %d are unexplained", of, open, k.Compared))
		}
	}
	left, said := c.LeftOut()
	if !said {
		list = append(list, "the page does not say how many were left out")
	}
	if compared, _ := c.Total(); outOf*left > compared {
		list = append(list, fmt.Sprintf("%d were left out, for want of time, beside %d that were compared", left, compared))
	}
	return list
}
