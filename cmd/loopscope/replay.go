package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/internal/replay"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
	"github.com/loopscope/loopscope/telemetry/tracefile"
)

type replayOptions struct{ limit int }

func newReplay(s streams) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Replay recorded syncs: decide each again and compare every answer with the recorded one",
		Long: `Reads recordings and runs the rules of this program on every recorded snapshot:
each round is decided again and compared with the recorded verdict, then the
report, the key numbers and the sentence. The first difference of a sync is
printed with both values. It reads files alone, - for standard input, and needs
no cluster.

A sync is not replayable where the record lacks what it takes: it failed before
it observed anything, or it panicked. Each is counted with its reason. The exit
code is 1 where anything differs or a line cannot be read.`,
		Example: `  # Record what a running loopscope keeps, and verify it
  loopscope export -o night.jsonl.gz
  loopscope replay night.jsonl.gz

  # What would the rules of this version have decided in a recording of another one?
  loopscope replay --limit 1000 incident.jsonl`,
		Args:              oneRecording,
		ValidArgsFunction: completeRecordings(math.MaxInt),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, cmd.InOrStdin(), args) },
	}
	cmd.Flags().IntVar(&o.limit, "limit", 0, "maximum number of syncs to replay; 0 for all")
	return cmd
}

// replaying is one run of the command.
type replaying struct {
	mu sync.Mutex // guards what follows: what was replayed is printed also where the rest is left behind
	replay.Summary
	in    io.Reader // what the file "-" stands for
	limit int
	bad   []error // lines that cannot be read, the first few
	lines int     // how many there were
	took  time.Duration
}

func (o *replayOptions) run(ctx context.Context, s streams, in io.Reader, files []string) error {
	if o.limit < 0 {
		return errors.New("--limit has to be positive, or 0 for all")
	}
	r := &replaying{limit: o.limit, in: in}
	began := time.Now()
	ended := interruptible(ctx, func() error {
		for _, file := range files {
			if err := r.file(ctx, file); err != nil {
				return err
			}
		}
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if ended != nil && r.Total().All() == 0 && r.lines == 0 {
		return ended
	}
	r.took = time.Since(began)
	if err := r.print(s.out); err != nil {
		return err
	}
	return errors.Join(ended, r.verdict())
}

// replayBatch is how many syncs are decided at once, before more are read, and
// replayBytes how long their lines may be together, but for the last.
const replayBatch, replayBytes = 512, 16 << 20

func (r *replaying) file(ctx context.Context, name string) (err error) {
	from, err := r.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	for ctx.Err() == nil {
		room := replayBatch
		if r.limit > 0 {
			room = min(room, r.limit-r.Total().All())
		}
		batch, err := r.read(from, name, room)
		if len(batch) == 0 {
			return err
		}
		r.add(batch, replay.Rules(app.Loops()).Traces(batch))
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// open begins to read a file, or the standard input.
func (r *replaying) open(ctx context.Context, name string) (*tracefile.Reader, error) {
	if name == "-" {
		return tracefile.NewReader(ctx, r.in)
	}
	return tracefile.Open(ctx, name)
}

func (r *replaying) add(batch []*telemetry.Trace, findings []replay.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, f := range findings {
		r.Add(batch[i], f)
	}
}

// read gives up to that many syncs, none at the end. Lines that cannot be read
// are noted.
func (r *replaying) read(from *tracefile.Reader, name string, room int) (batch []*telemetry.Trace, err error) {
	for size := 0; len(batch) < room && size < replayBytes; {
		t, err := from.Next()
		var bad *tracefile.LineError
		switch {
		case err == nil:
			batch = append(batch, t)
			size += from.Size()
		case errors.Is(err, io.EOF):
			return batch, nil
		case errors.As(err, &bad), errors.Is(err, tracefile.ErrTruncated):
			r.unread(fmt.Errorf("%s: %w", name, err))
		default:
			return batch, fmt.Errorf("%s: %w", name, err)
		}
	}
	return batch, nil
}

// maxBad is how many lines that cannot be read are printed.
const maxBad = 10

func (r *replaying) unread(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lines++; r.lines <= maxBad {
		r.bad = append(r.bad, err)
	}
}

func (r *replaying) print(out io.Writer) error {
	all := r.Total()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "loop\tequal\twords only\tdifferent\tnot replayable\t")
	for _, name := range r.Names() {
		c := r.Loops[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", name, c.Equal, c.WordsOnly, c.Different, c.NotReplayable)
	}
	fmt.Fprintf(w, "all\t%d\t%d\t%d\t%d\t\n", all.Equal, all.WordsOnly, all.Different, all.NotReplayable)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		fmt.Fprintf(out, "%d not replayable: %s\n", r.Reasons[reason], reason)
		if d := r.Details[reason]; d != "" {
			fmt.Fprintf(out, "  the first: %s\n", safetext.Line(d))
		}
	}
	if r.Told != nil {
		fmt.Fprintln(out, "worded differently, the first:", safetext.Line(r.Told.String()))
	}
	for _, d := range r.Differences {
		fmt.Fprintln(out, "different:", safetext.Line(d.String()))
	}
	if more := all.Different - len(r.Differences); more > 0 {
		fmt.Fprintf(out, "and %d more that differ\n", more)
	}
	for _, err := range r.bad {
		fmt.Fprintln(out, "not read:", safetext.Line(err.Error()))
	}
	_, err := fmt.Fprintf(out, "%s in %s, %.0f syncs/s\n", syncs(all.All()), r.took.Round(time.Millisecond), float64(all.All())/max(r.took.Seconds(), 1e-9))
	return err
}

func syncs(n int) string {
	if n == 1 {
		return "1 sync"
	}
	return fmt.Sprintf("%d syncs", n)
}

// verdict is the error that makes the exit code.
func (r *replaying) verdict() error {
	var errs []error
	if n := r.Total().Different; n > 0 {
		errs = append(errs, fmt.Errorf("replay: %s came out differently: the rules have changed since the recording, or a decision rests on something that is not recorded", syncs(n)))
	}
	if r.lines > 0 {
		errs = append(errs, fmt.Errorf("replay: %s could not be read", prose.Count(r.lines, "line")))
	}
	return errors.Join(errs...)
}
