package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// The rows of a table: in all, and on a screen that is drawn again and again.
const (
	topRows   = 100
	watchRows = 25
	// maxTopPages bounds how many pages are read for one table.
	maxTopPages = 200
)

type topOptions struct {
	console      consoleFlags
	loop, output string
	all, watch   bool
	exitCode     bool
	every        time.Duration
	limit        int
	// now is the clock of a --watch.
	now func() time.Time
}

// newTop draws in colours, so that it cannot print through a safeWriter: each of
// its cells is cleaned instead.
func newTop(s streams) *cobra.Command {
	o := topOptions{now: time.Now, console: newConsoleFlags()}
	cmd := &cobra.Command{
		Use:   "top [TERM...]",
		Short: "List the Deployments, those that need you first, with why",
		Long: `Asks a running loopscope for its overview and prints it as a table: the same
rows, in the same order and the same words as the page.

Terms are those of the page's filter: a part of a name, ns:, is:, at:, reason:,
image: and by:; a leading minus excludes. Put such terms after --, so that they are
not taken for flags.`,
		Example: `  # What needs me, anywhere?
  loopscope top -A

  # Everything that waits or failed in one namespace, refreshed in place
  loopscope top -n shop --watch
  loopscope top -A is:failed --watch --every 5s

  # Does anything need me? Then the exit code is 2
  loopscope top -A --exit-code > /dev/null

  # All but the system's, of another console, for a script
  loopscope top -A --server http://127.0.0.1:9000 -o json -- -ns:kube-system`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("limit") && o.watch {
				o.limit = watchRows
			}
			return o.run(cmd.Context(), s, args)
		},
	}
	o.console.addFlags(cmd.Flags())
	o.console.addNamespace(cmd.Flags(), "namespace of the Deployments")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with exit code 2 if anything in the table is waiting or failed")
	cmd.Flags().StringVar(&o.loop, "loop", app.Loops()[0].Name, "list the objects of this loop, which has to have a list in the console")
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "list the Deployments of every namespace")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "refresh the table in place")
	cmd.Flags().DurationVar(&o.every, "every", 2*time.Second, "refresh interval of --watch")
	cmd.Flags().IntVar(&o.limit, "limit", topRows, "maximum number of rows; 25 with --watch")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "print the rows as json")
	return cmd
}

func (o *topOptions) check() error {
	switch {
	case o.output != "" && o.output != "json":
		return fmt.Errorf("output format %q is not known; choose json, or omit -o", o.output)
	case o.watch && o.exitCode:
		return errors.New("--watch goes on until somebody stops it: omit --exit-code")
	case o.watch && o.output != "":
		return errors.New("--watch draws a table: omit -o, or poll yourself")
	case o.limit < 1:
		return errors.New("--limit has to be positive")
	case o.every < 100*time.Millisecond:
		return errors.New("--every has to be 100ms or more")
	}
	return nil
}

func (o *topOptions) run(ctx context.Context, s streams, terms []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if !o.all {
		namespace, err := o.console.namespace()
		if err != nil {
			return err
		}
		terms = append([]string{"ns:" + namespace}, terms...)
	}
	p := topPrinter{colour: coloured(s.out)}
	if o.watch {
		return o.follow(ctx, s.out, p, terms)
	}
	list, err := o.ask(ctx, terms)
	if err != nil {
		return err
	}
	if !o.all && len(list.rows) == 0 {
		list.note += "\n-A lists the Deployments of every namespace."
	}
	if o.output == "json" {
		encoder := json.NewEncoder(newSafeWriter(s.out))
		encoder.SetIndent("", "  ")
		err = encoder.Encode(list.rows)
	} else {
		err = p.print(s.out, list)
	}
	if err == nil && o.exitCode && slices.ContainsFunc(list.rows, func(r topRow) bool { return r.State.Tone == "fail" || r.State.Tone == "wait" }) {
		return needsYou{}
	}
	return err
}

// coloured reports whether the output is a terminal that may be coloured.
func coloured(out io.Writer) bool { return terminal(out) && os.Getenv("NO_COLOR") == "" }

// terminal is replaced by tests, which have none.
var terminal = isTerminal

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// follow draws the table in place until somebody stops it. What cannot be asked
// is said above the last table, and asked again.
func (o *topOptions) follow(ctx context.Context, out io.Writer, p topPrinter, terms []string) error {
	if !terminal(out) {
		return errors.New("--watch draws in place, and the output is not a terminal: omit it")
	}
	if _, err := io.WriteString(out, "\x1b[2J"); err != nil {
		return err
	}
	ticker := time.NewTicker(o.every)
	defer ticker.Stop()
	var last topList
	for {
		list, err := o.ask(ctx, terms)
		if errors.As(err, new(unknownTerm)) {
			return err
		}
		if err == nil {
			last = list
		}
		if ctx.Err() == nil {
			if _, err := io.WriteString(out, p.screen(last, err, o.now())); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// topPrinter prints the list for people.
type topPrinter struct{ colour bool }

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
	if list.notice != "" {
		fmt.Fprintln(w, list.notice)
	}
	fmt.Fprintf(w, "%s\n%s; cluster %s at %s UTC\n\n", safetext.Line(list.headline), strings.Join(counts, ", "), safetext.Line(list.cluster), list.now.UTC().Format("15:04:05"))
	if len(list.rows) > 0 {
		if err := p.table(w, list); err != nil {
			return err
		}
	}
	if list.more > 0 {
		fmt.Fprintln(w, "There are more: raise --limit, or give a term.")
	}
	if list.note != "" {
		_, err := fmt.Fprintln(w, list.note)
		return err
	}
	return nil
}

func (p topPrinter) table(w io.Writer, list topList) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(table, "%s\tSINCE\tNAMESPACE\tNAME\tAVAILABLE\tQUEUE\tWHY\n", p.coloured(mark{Word: "STATE"}))
	for _, r := range list.rows {
		queue := safetext.Line(r.Queue)
		if note := r.QueueNote.at(list.now); note != "" && note != "no timer" {
			queue += ", " + note
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.coloured(r.State), r.since(list.now), safetext.Line(r.Namespace), safetext.Line(r.Name), safetext.Line(r.Available), queue, r.Why.at(list.now))
	}
	return table.Flush()
}

// since is how long it has been so, up to when that was known last.
func (r *topRow) since(now time.Time) string {
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
