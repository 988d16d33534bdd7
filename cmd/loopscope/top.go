package main

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// The rows of a table: in all, and on a screen that is drawn again and again.
const (
	topRows   = 100
	watchRows = 25
	// maxTopPages bounds how many pages are read for one table.
	maxTopPages = 200
)

// The formats that only a table has.
const (
	formatWide = "wide"
	formatName = "name"
)

type topOptions struct {
	console    consoleFlags
	loop       string
	output     outputFlag
	all, watch bool
	noHeaders  bool
	exitCode   bool
	every      time.Duration
	limit      int
	// now is the clock of a --watch.
	now func() time.Time
}

// newTop draws in colours, so that it cannot print through a safeWriter: each of
// its cells is cleaned instead.
func newTop(s streams) *cobra.Command {
	o := topOptions{now: time.Now, console: newConsoleFlags(), output: outputFlag{own: []string{formatWide, formatName}}}
	cmd := &cobra.Command{
		Use:   "top [TERM...]",
		Short: "List the Deployments, those that need you first, with why",
		Long: `Asks a running loopscope for its overview and prints it as a table: the same
rows, in the same order and the same words as the page.

Terms are those of the page's filter: a part of a name, ns:, is:, at:, reason:,
image: and by:; a leading minus excludes. Put such terms after --, so that they are
not taken for flags.

ReplicaSets without a Deployment are counted below the table of Deployments, and
listed with --loop replicaset.

The exit code is 0, 1 after an error, and with --exit-code 2 if anything in the
table, or counted below it, is waiting or failed, and else 1 if the console cannot know
that nothing is: it observes another namespace, or has listed nothing yet.`,
		Example: `  # What needs me, anywhere?
  loopscope top -A

  # Everything that waits or failed in one namespace, refreshed in place
  loopscope top -n shop --watch
  loopscope top -A is:failed --watch --every 5s

  # Does anything need me? Then the exit code is 2
  loopscope top -A --exit-code > /dev/null

  # Which question decided, and how many pods may come and go?
  loopscope top -n shop -o wide

  # Those that failed, as kubectl describes them
  loopscope top -n shop is:failed -o name | xargs -r kubectl -n shop describe

  # All but the system's, of another console, for a script
  loopscope top -A --server http://127.0.0.1:9000 -o json -- -ns:kube-system`,
		ValidArgsFunction: o.completeTerms,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if cmd.Flags().Changed("every") && !o.watch {
				return errors.New("--every is how often --watch refreshes: give --watch as well")
			}
			if !cmd.Flags().Changed("limit") {
				o.limit = o.rows()
			}
			return o.run(cmd.Context(), s, args)
		},
	}
	o.console.addFlags(cmd)
	o.console.addNamespace(cmd, "namespace of the objects")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with exit code 2 if anything in the table, or counted below it, is waiting or failed")
	cmd.Flags().StringVar(&o.loop, "loop", app.Loops()[0].Name, "list the objects of this loop: "+prose.Or(topLoops())+", or one of another program that has a list in its console")
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "list the objects of every namespace")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "refresh the table in place")
	cmd.Flags().DurationVar(&o.every, "every", 2*time.Second, "refresh interval of --watch")
	cmd.Flags().IntVar(&o.limit, "limit", topRows, "maximum number of rows; unless given, 25 with --watch, and all for programs: with -o name, json or yaml")
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "print the rows alone")
	o.output.addFlag(cmd, "the rows")
	completeFlag(cmd, "loop", cobra.FixedCompletions(topLoops(), noFiles))
	return cmd
}

// rows is how many there are at most unless a flag says so.
func (o *topOptions) rows() int {
	switch {
	case o.watch:
		return watchRows
	case o.output.forPrograms():
		return math.MaxInt
	default:
		return topRows
	}
}

func (o *topOptions) check() error {
	if err := o.output.check(); err != nil {
		return err
	}
	if loop := app.Loops().Named(o.loop); loop != "" {
		o.loop = loop
	}
	switch {
	case o.watch && o.exitCode:
		return errors.New("--watch goes on until somebody stops it: omit --exit-code")
	case o.watch && o.output.forPrograms():
		return errors.New("--watch draws a table: omit -o, or poll yourself")
	case o.limit < 1:
		return errors.New("--limit has to be positive")
	case o.every < 100*time.Millisecond:
		return errors.New("--every has to be 100ms or more")
	}
	return nil
}

func (o *topOptions) run(ctx context.Context, s streams, terms []string) error {
	namespace := namespaceIn(terms)
	if !o.all {
		var err error
		if namespace, err = o.console.namespace(); err != nil {
			return err
		}
		terms = append([]string{"ns:" + namespace}, terms...)
	}
	p := topPrinter{colour: coloured(s.out), wide: o.output.value == formatWide, bare: o.noHeaders}
	if o.watch {
		return o.follow(ctx, s.out, p, namespace, terms)
	}
	list, err := o.ask(ctx, namespace, terms)
	if err != nil {
		return err
	}
	if !o.all && len(list.rows) == 0 && list.unknown == "" {
		list.note += "\n-A lists the " + app.Loops().Of(o.loop).Many() + app.Loops().Unowned(o.loop) + " of every namespace."
	}
	if err := o.print(s, p, list); err != nil || !o.exitCode {
		return err
	}
	return list.verdict()
}

// namespaceIn is the only one of which terms leave objects, "" where they leave those of others.
func namespaceIn(terms []string) string {
	for _, term := range strings.Fields(strings.Join(terms, " ")) {
		if key, value, _ := strings.Cut(term, ":"); strings.EqualFold(key, "ns") && value != "" {
			return strings.ToLower(value)
		}
	}
	return ""
}

// verdict is the error of --exit-code.
func (l *topList) verdict() error {
	switch {
	case l.needsYou():
		return needsYou{}
	case l.unknown != "":
		return errors.New("whether anything needs you is not known. " + l.unknown)
	}
	return nil
}

// print prints the list as it was asked for. What is no row of it goes beside it where
// only rows are wanted.
func (o *topOptions) print(s streams, p topPrinter, list topList) error {
	out := newSafeWriter(s.out)
	var err error
	switch {
	case o.output.value == formatName:
		err = printNames(out, o.loop, list.rows)
	case o.output.forPrograms():
		err = o.output.print(out, append([]topRow{}, list.rows...)) // [] where there is none
	case o.noHeaders:
		err = p.table(s.out, list)
	default:
		return p.print(s.out, list)
	}
	_, failed := io.WriteString(newSafeWriter(s.err), list.head()+list.foot())
	return errors.Join(err, failed)
}

// printNames prints what kubectl takes as the names of objects.
func printNames(w io.Writer, loop string, rows []topRow) error {
	var object metav1.PartialObjectMetadata
	object.SetGroupVersionKind(app.KindOf(loop))
	for _, r := range rows {
		object.Name = safetext.Line(r.Name)
		if err := (&printers.NamePrinter{}).PrintObj(&object, w); err != nil {
			return err
		}
	}
	return nil
}

// topLoops are those of whose objects the console has a list.
func topLoops() (names []string) {
	for _, l := range app.Loops() {
		if l.HasList() {
			names = append(names, l.Name)
		}
	}
	return names
}

// toldLoops are those whose objects have a story each.
func toldLoops() (names []string) {
	for _, l := range app.Loops() {
		if l.Listed {
			names = append(names, l.Name)
		}
	}
	return names
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
func (o *topOptions) follow(ctx context.Context, out io.Writer, p topPrinter, namespace string, terms []string) error {
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
		list, err := o.ask(ctx, namespace, terms)
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
