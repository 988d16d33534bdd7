package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/cmd/internal/signin"
	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/tracefile"
	"github.com/loopscope/loopscope/web"
)

// maxRecording bounds the text of the syncs that a console on a recording keeps
// in memory, where they take about as much again.
const maxRecording = 1 << 30

// ViewOptions says which recording to show and where. File is required.
type ViewOptions struct {
	// File is the recording.
	File string
	// Epoch is the run of the process to show. Default: the one that ended last.
	Epoch string
	// Listen is the console's address. Default DefaultListen.
	Listen string
	// Door lets in who was given its token. Default: everybody on this machine.
	Door *signin.Door
	// Logger receives structured logs. Default: slog.Default().
	Logger *slog.Logger
	// Version is shown by the console. Default "dev".
	Version string
}

// NewView is a program that shows a recording: a console without a cluster and
// without loops. It is started and stopped like any other App. Reading the recording
// ends with ctx.
func NewView(ctx context.Context, opts ViewOptions) (*App, error) {
	rec, err := readRecording(ctx, opts.File, opts.Epoch)
	if err != nil {
		return nil, err
	}
	journal, err := telemetry.LoadJournal(telemetry.JournalOptions{Loops: rec.loops(), Bytes: 4 * maxRecording}, rec.traces)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opts.File, err)
	}
	all := Options{Listen: opts.Listen, Door: opts.Door, Logger: opts.Logger, Version: opts.Version, Cluster: rec.header.Cluster}.withDefaults()
	listener, err := listen(all)
	if err != nil {
		return nil, err
	}
	a := &App{opts: all, listener: listener, registry: prometheus.NewRegistry(), journal: journal, tally: telemetry.NewTally(), ended: make(chan error, 1)}
	from, to := rec.span()
	a.console, err = web.New(web.Options{
		Journal: journal, Tally: a.tally, Rules: controllers.Rules(), Gatherer: a.registry, Cluster: all.Cluster, Version: all.Version, Logger: all.Logger,
		Started: from, Now: func() time.Time { return to }, Recording: &web.Recording{From: from, To: to, Note: rec.note()},
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return a, nil
}

// recording is one epoch of a file.
type recording struct {
	header tracefile.Header
	epoch  string
	traces []*telemetry.Trace // in the order of their numbers, each once
	others []string           // epochs that are in the file as well, with how many syncs
	twice  int                // left out because their number was there already
	bad    int                // lines that cannot be read
	first  error              // what is wrong with the first of them
	cut    bool               // the end of the file is missing
}

// readRecording reads the syncs of one epoch: the one that is asked for, or the
// one that ended last. It reads around lines that cannot be read.
func readRecording(ctx context.Context, file, epoch string) (rec *recording, err error) {
	from, err := tracefile.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	rec = &recording{header: from.Header()}
	runs, size := map[string]*run{}, 0
	for {
		t, err := from.Next()
		switch {
		case errors.Is(err, io.EOF):
			return rec, rec.choose(file, epoch, runs)
		case errors.Is(err, tracefile.ErrTruncated):
			rec.cut = true
			continue
		case errors.As(err, new(*tracefile.LineError)):
			rec.bad, rec.first = rec.bad+1, cmp.Or(rec.first, err)
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		keep := epoch == "" || epoch == t.Epoch
		if keep {
			size += from.Size()
		}
		if size > maxRecording {
			return nil, fmt.Errorf("%s holds more than the %d MiB that are shown: export less of it with --since, --namespace or --limit", file, maxRecording>>20)
		}
		take(runs, t, keep)
	}
}

// run is what a file has of one run of the process.
type run struct {
	traces []*telemetry.Trace
	syncs  int
	ended  time.Time
}

func take(runs map[string]*run, t *telemetry.Trace, keep bool) {
	r := runs[t.Epoch]
	if r == nil {
		r = &run{}
		runs[t.Epoch] = r
	}
	if r.syncs++; t.Ended.After(r.ended) {
		r.ended = t.Ended
	}
	if keep {
		r.traces = append(r.traces, t)
	}
}

// choose takes the epoch to show, and puts its syncs in order.
func (r *recording) choose(file, epoch string, runs map[string]*run) error {
	if len(runs) == 0 && r.bad > 0 {
		return fmt.Errorf("%s: %w", file, r.first)
	}
	if len(runs) == 0 {
		return fmt.Errorf("%s holds no syncs: there is nothing to show", file)
	}
	for name, x := range runs {
		if epoch == "" && (r.epoch == "" || x.ended.After(runs[r.epoch].ended)) {
			r.epoch = name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if name == epoch {
			r.epoch = name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if name != r.epoch {
			r.others = append(r.others, fmt.Sprintf("%s (%d syncs, up to %s)", name, runs[name].syncs, runs[name].ended.UTC().Format(time.DateTime)))
		}
	}
	if r.epoch == "" {
		return fmt.Errorf("%s holds nothing of epoch %q; it has %s", file, epoch, strings.Join(r.others, ", "))
	}
	all := runs[r.epoch].traces
	slices.SortStableFunc(all, func(a, b *telemetry.Trace) int { return cmp.Compare(a.Seq, b.Seq) })
	r.traces = slices.CompactFunc(all, func(a, b *telemetry.Trace) bool { return a.Seq == b.Seq })
	r.twice = runs[r.epoch].syncs - len(r.traces)
	return nil
}

// span is when the first sync started and the last one ended.
func (r *recording) span() (from, to time.Time) {
	for _, t := range r.traces {
		if from.IsZero() || t.Started.Before(from) {
			from = t.Started
		}
		if t.Ended.After(to) {
			to = t.Ended
		}
	}
	return from.UTC(), to.UTC()
}

// loops are those of this program, and what the file declares, which may be of another version. Files
// of programs that declared neither the election nor the comparison have those of this one.
func (r *recording) loops() decision.Loops {
	return controllers.Loops.With(r.header.Loops).With(Recorded())
}

// shown is what the syncs are of that cannot be decided again.
func (r *recording) shown() (kinds []string) {
	loops := r.loops()
	for _, t := range r.traces {
		if kind := loops.Of(t.Loop).Many(); !controllers.Loops.Has(t.Loop) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// note is what a reader of the pages has to know of the file.
func (r *recording) note() string {
	var notes []string
	if r.cut {
		notes = append(notes, "Its file was cut off: what came before is shown.")
	}
	if r.bad > 0 {
		notes = append(notes, fmt.Sprintf("%s of its file could not be read, and %s left out: %v.", prose.Count(r.bad, "line"), prose.Plural(r.bad, "is", "are"), r.first))
	}
	if r.twice > 0 {
		notes = append(notes, fmt.Sprintf("%d syncs appear twice, and are shown once.", r.twice))
	}
	if kinds := r.shown(); len(kinds) > 0 {
		notes = append(notes, "Syncs of "+prose.And(kinds)+" can be read, and not decided again: their rules are not known here.")
	}
	if len(r.others) > 0 {
		notes = append(notes, "The file also has other runs, which --epoch shows: "+strings.Join(r.others[:min(5, len(r.others))], ", ")+".")
	}
	return strings.Join(notes, " ")
}
