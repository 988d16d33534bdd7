package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// fromHistory writes what a history file holds.
func (o *exportOptions) fromHistory(ctx context.Context, s streams, q telemetry.Query) (done exported, err error) {
	archive, err := app.ReadHistory(o.history)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	out, err := o.target(s)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return o.copyArchive(ctx, s, archive, out, q)
}

// recalled is a sync of the history, and the moment as of which it is told.
type recalled struct {
	trace *telemetry.Trace
	at    time.Time
}

// historyFile is the file that is asked for, or the one that a manager of the
// same cluster writes unless it is told otherwise.
func (o *explainOptions) historyFile() (string, error) {
	if o.history != "" {
		return o.history, nil
	}
	path, err := usualHistory(clusterName(o.kubeconfig), os.Getenv)
	if err != nil {
		return "", fmt.Errorf("%w: give the history file with --history", err)
	}
	return path, nil
}

// recall finds the sync that --at or --sync ask for.
func (o *explainOptions) recall(ctx context.Context, args []string, now time.Time) (x recalled, err error) {
	file, err := o.historyFile()
	if err != nil {
		return x, err
	}
	archive, err := app.ReadHistory(file)
	if err != nil {
		return x, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	if o.sync != "" {
		return o.numbered(ctx, archive)
	}
	loop, name, err := objectArg(args)
	if err != nil {
		return x, err
	}
	namespace, _, err := o.kubeconfig.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return x, fmt.Errorf("namespace: %w", err)
	}
	if x.at, err = telemetry.ParseMoment(o.at, now); err != nil {
		return x, fmt.Errorf("--at: %w", err)
	}
	if namespace == decision.NoNamespace {
		namespace = ""
	}
	object := telemetry.Object{Loop: loop, Namespace: namespace, Name: name}
	x.trace, err = archive.AsOf(ctx, object, x.at)
	if errors.Is(err, telemetry.ErrNotKept) {
		return x, notKept(ctx, archive, object, x.at)
	}
	return x, err
}

func (o *explainOptions) numbered(ctx context.Context, archive telemetry.Archive) (x recalled, err error) {
	epoch, seq, err := syncNumber(o.sync)
	if err != nil {
		return x, err
	}
	x.trace, err = archive.Get(ctx, epoch, seq)
	if errors.Is(err, telemetry.ErrNotKept) {
		return x, fmt.Errorf("sync %s is not kept in %s%s", o.sync, archive.State().Path, oldest(archive.State()))
	}
	if err == nil {
		x.at = x.trace.Ended
	}
	return x, err
}

// syncNumber takes EPOCH/SEQ, as it stands at the end of a permalink.
func syncNumber(text string) (epoch string, seq uint64, err error) {
	epoch, number, found := strings.Cut(text, "/")
	if seq, err = strconv.ParseUint(number, 10, 64); !found || epoch == "" || err != nil || seq == 0 {
		return "", 0, fmt.Errorf("--sync %q names no sync; write EPOCH/NUMBER as at the end of its page's address, such as 7c41d2aa/311", text)
	}
	return epoch, seq, nil
}

// notKept says what the history has instead.
func notKept(ctx context.Context, archive telemetry.Archive, o telemetry.Object, at time.Time) error {
	text := fmt.Sprintf("no sync of %s is kept that had started at %s", o.Key(), stamp(at))
	hits, err := archive.Search(ctx, telemetry.Query{Loop: o.Loop, Namespace: o.Namespace, Name: o.Name, Limit: 1, OldestFirst: true})
	switch {
	case err != nil:
		return fmt.Errorf("%s, and looking for another failed: %w", text, err)
	case len(hits.Hits) > 0:
		return fmt.Errorf("%s; its oldest that is kept started at %s", text, stamp(hits.Hits[0].Started))
	default:
		return fmt.Errorf("%s, nor any other of it; give the namespace with -n%s", text, oldest(archive.State()))
	}
}

func oldest(s telemetry.ArchiveState) string {
	if s.Oldest.IsZero() {
		return "; it keeps nothing yet"
	}
	return "; the oldest sync that it keeps started at " + stamp(s.Oldest)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
