package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// topPrinter prints the list for people.
type topPrinter struct {
	colour bool
	// wide tables have more columns, bare ones no headers.
	wide, bare bool
}

// The colours of the tones: those that every terminal has.
var toneColours = map[string]string{"fail": "\x1b[31m", "wait": "\x1b[33m", "move": "\x1b[34m", "ok": "\x1b[32m"}

const colourEnd = "\x1b[0m"

// coloured puts a colour around a word. All words of a column have one, so that they
// stay as wide as each other: "idle" has the terminal's own.
func (p topPrinter) coloured(m mark) string {
	if !p.colour {
		return safetext.Line(m.Word)
	}
	colour, ok := toneColours[m.Tone]
	if !ok {
		colour = "\x1b[39m"
	}
	return colour + safetext.Line(m.Word) + colourEnd
}

func (p topPrinter) print(w io.Writer, list topList) error {
	var counts []string
	for _, t := range list.tally {
		counts = append(counts, fmt.Sprintf("%d %s", t.Count, safetext.Line(t.Word)))
	}
	head := list.head()
	if !p.bare {
		head += fmt.Sprintf("%s\n%s; cluster %s at %s UTC\n\n", safetext.Line(list.headline), strings.Join(counts, ", "), safetext.Line(list.cluster), list.now.UTC().Format("15:04:05"))
	}
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	if err := p.table(w, list); err != nil {
		return err
	}
	_, err := io.WriteString(w, list.foot())
	return err
}

// head is what a reader has to know first.
func (l *topList) head() string {
	if l.notice == "" {
		return ""
	}
	return l.notice + "\n"
}

// foot is what stands below the rows.
func (l *topList) foot() string {
	text := ""
	if l.more {
		text = "There are more: raise --limit, or give a term.\n"
	}
	if l.note != "" {
		text += l.note + "\n"
	}
	for _, b := range l.beside {
		text += b.Text.at(l.now) + safetext.Line(" --loop "+b.Loop+" lists them.") + "\n"
	}
	return text
}

// column is one of the table.
type column struct {
	name string
	of   func(topRow, time.Time) string
}

var (
	topColumns = []column{
		{"SINCE", func(r topRow, now time.Time) string { return r.since(now) }},
		{"NAMESPACE", func(r topRow, _ time.Time) string { return r.Namespace }},
		{"NAME", func(r topRow, _ time.Time) string { return r.Name }},
		{"AVAILABLE", func(r topRow, _ time.Time) string { return r.Available }},
		{"QUEUE", topRow.queue},
	}
	wideColumns = []column{
		{"REVISION", func(r topRow, _ time.Time) string { return r.Revision }},
		{"PODS", func(r topRow, _ time.Time) string { return r.pods() }},
		{"LAST-SYNC", func(r topRow, now time.Time) string { return prose.Span(now.Sub(r.LastAt)) + " ago, " + r.LastDid }},
		{"ASKED", func(r topRow, _ time.Time) string { return r.Asked }},
	}
	whyColumn = column{"WHY", func(r topRow, now time.Time) string { return r.Why.at(now) }}
)

// columns are those after the state. The words of the last are as long as they are.
func (p topPrinter) columns() []column {
	list := slices.Clone(topColumns)
	if p.wide {
		list = append(list, wideColumns...)
	}
	return append(list, whyColumn)
}

func (p topPrinter) table(w io.Writer, list topList) error {
	if len(list.rows) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	columns := p.columns()
	if !p.bare {
		fmt.Fprint(table, p.coloured(mark{Word: "STATE"}))
		for _, c := range columns {
			fmt.Fprintf(table, "\t%s", c.name)
		}
		fmt.Fprintln(table)
	}
	for _, r := range list.rows {
		fmt.Fprint(table, p.coloured(r.State))
		for _, c := range columns {
			fmt.Fprintf(table, "\t%s", safetext.Line(c.of(r, list.now)))
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// queue is what the key does there, with its timer.
func (r topRow) queue(now time.Time) string {
	switch note := r.QueueNote.at(now); {
	case note == "", note == "no timer":
		return r.Queue
	case strings.HasPrefix(note, r.Queue+" "): // "timer in 0.4s"
		return note
	default:
		return r.Queue + ", " + note
	}
}

// pods are those of the page's meter, with how many there may be. Rows that need nothing have none.
func (r topRow) pods() string {
	m := r.Meter
	if m == nil {
		return r.Numbers
	}
	if m.Alike {
		return fmt.Sprintf("%d available, %d not available", m.New, m.Not)
	}
	return fmt.Sprintf("%d new, %d old, %d not available (%d to %d)", m.New, m.Old, m.Not, m.Floor, m.Ceiling)
}

// since is how long it has been so, up to when that was known last.
func (r topRow) since(now time.Time) string {
	text := r.Since.at(now)
	if r.AsOf == nil {
		return text
	}
	return strings.TrimPrefix(text+", as of "+r.AsOf.Format("15:04:05"), ", ")
}

// screen is one drawing of a --watch: every line over the one that was there,
// and nothing left of a longer one.
func (p topPrinter) screen(list topList, failure error, now time.Time) string {
	var b strings.Builder
	if failure != nil {
		fmt.Fprintf(&b, "%s: %s\n", now.UTC().Format("15:04:05"), safetext.Line(failure.Error()))
		if !list.now.IsZero() {
			b.WriteString("What follows is the last answer.\n")
		}
		b.WriteString("\n")
	}
	if !list.now.IsZero() {
		_ = p.print(&b, list) // A builder takes everything.
	}
	return "\x1b[H" + strings.ReplaceAll(b.String(), "\n", "\x1b[K\n") + "\x1b[J"
}
