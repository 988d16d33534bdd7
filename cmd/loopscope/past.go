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
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/web/facts"
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

// recalled is a sync of the history as it was told at a moment, and that moment.
type recalled struct {
	trace *telemetry.Trace
	at    time.Time
	// asked is the moment that was asked for. What happened from at to then is not known.
	asked time.Time
}

// unknownSince is from when nobody knows what happened, zero where that is known.
func (r *recalled) unknownSince() time.Time {
	if r.asked.After(r.at) {
		return r.at
	}
	return time.Time{}
}

// source is a history, and the run that writes it now, "" where that is not known: had that had more to
// keep, it would be there.
type source struct{ file, run string }

// historyFile is the file that is asked for: that of the flag, or that of the running manager
// of the cluster, or else the one that a manager of it writes unless it is told otherwise.
func (o *explainOptions) historyFile(ctx context.Context) (source, error) {
	if o.history != "" {
		return source{file: o.history}, nil
	}
	console := &consoleFlags{kubeconfig: o.kubeconfig}
	namespace, _ := console.namespace() // Without one any console does.
	from := console.find(ctx, namespace)
	ctx, cancel := context.WithTimeout(ctx, historyWithin)
	defer cancel()
	kept, away := from.history(ctx)
	if away == nil && kept.file != "" {
		if _, err := os.Stat(kept.file); err != nil {
			return source{}, fmt.Errorf("the console at %s keeps its history in a file that is not on this machine: %w\nAsk there, or fetch a recording with `loopscope export`", from.server, err)
		}
		return kept, nil
	}
	usual, err := usualHistory(from.cluster, os.Getenv)
	if err == nil {
		_, err = os.Stat(usual)
	}
	switch {
	case err == nil:
		return source{file: usual}, nil
	case away == nil:
		return source{}, fmt.Errorf("the console at %s keeps no history, and there is none of an earlier manager: %w\nStart `loopscope manager` without --history=off, or give a history file with --history", from.server, err)
	default:
		return source{}, fmt.Errorf("no history is found: no manager of the cluster %q runs on this machine, and there is none of an earlier one: %w\nGive a history file with --history, or start a console with `loopscope open`, which keeps one", from.cluster, err)
	}
}

// historyWithin is how long a console may take to say where its history is.
const historyWithin = 5 * time.Second

// recall finds the sync that --at or --sync ask for.
func (o *explainOptions) recall(ctx context.Context, args []string, now time.Time) (recalled, error) {
	find, err := o.wanted(args, now)
	if err != nil {
		return recalled{}, err
	}
	from, err := o.historyFile(ctx)
	if err != nil {
		return recalled{}, err
	}
	archive, err := app.ReadHistory(from.file)
	if err != nil {
		return recalled{}, err
	}
	x, err := find(ctx, archive, from.run)
	return x, errors.Join(err, archive.Close())
}

// finder finds a sync in a history, of which the run that writes it is given.
type finder func(ctx context.Context, from telemetry.Archive, run string) (recalled, error)

// wanted reads the flags before any file is looked for.
func (o *explainOptions) wanted(args []string, now time.Time) (finder, error) {
	if o.sync != "" {
		epoch, seq, err := syncNumber(o.sync)
		return func(ctx context.Context, from telemetry.Archive, _ string) (recalled, error) {
			return numbered(ctx, from, epoch, seq)
		}, err
	}
	loop, name, err := objectArg(args)
	if err != nil {
		return nil, err
	}
	at, err := telemetry.ParseMoment(o.at, now)
	if err != nil {
		return nil, fmt.Errorf("--at: %w", err)
	}
	namespace, _, err := o.kubeconfig.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("namespace: %w", err)
	}
	if namespace == decision.NoNamespace {
		namespace = ""
	}
	kind, _, _ := strings.Cut(strings.Join(args, "/"), "/")
	m := moment{telemetry.Object{Loop: loop, Namespace: namespace, Name: name}, kind, at, *o.kubeconfig.Namespace != ""}
	return func(ctx context.Context, from telemetry.Archive, run string) (recalled, error) {
		if at.After(now) && at.After(from.State().Newest) {
			return recalled{}, stillToCome(at)
		}
		return m.recall(ctx, from, run)
	}, nil
}

// moment is one that is asked for of an object, whose kind was given in these words, and whose namespace
// was given if named is set.
type moment struct {
	object telemetry.Object
	kind   string
	at     time.Time
	named  bool
}

func stillToCome(at time.Time) error {
	return fmt.Errorf("--at: %s is still to come: give a time that has passed", stamp(at))
}

func (m moment) recall(ctx context.Context, archive telemetry.Archive, run string) (recalled, error) {
	trace, err := archive.AsOf(ctx, m.object, m.at)
	if errors.Is(err, telemetry.ErrNotKept) {
		err = m.notKept(ctx, archive)
	}
	if err != nil {
		return recalled{}, err
	}
	known := m.at
	if trace.Epoch != run {
		if known, err = telemetry.KnownUntil(ctx, archive, trace, m.at); err != nil {
			return recalled{}, err
		}
	}
	return recalled{toldAt(trace, known), known, m.at}, nil
}

// first is the first sync that a query finds, nil where there is none.
func first(ctx context.Context, archive telemetry.Archive, q telemetry.Query) (found *telemetry.Trace, err error) {
	q.Limit = 1
	err = archive.Each(ctx, q, func(t *telemetry.Trace) error {
		found = t
		return nil
	})
	return found, err
}

// toldAt is a sync as it was told at a moment: where the clock alone had made another sentence
// of it by then, with that one, what it finds and its numbers.
func toldAt(t *telemetry.Trace, at time.Time) *telemetry.Trace {
	if !facts.Outdated(t.Sentence, at) {
		return t
	}
	snapshot, err := t.Decided(app.Recorded())
	if err != nil {
		return t // A recording of a later version: what was said stands.
	}
	told, again := facts.TellAgain(snapshot.Begin(), t, at), *t
	again.Sentence, again.Diagnosis, again.Numbers = told.Sentence, told.Diagnosis, told.Numbers
	return &again
}

func numbered(ctx context.Context, archive telemetry.Archive, epoch string, seq uint64) (recalled, error) {
	trace, err := archive.Get(ctx, epoch, seq)
	switch {
	case errors.Is(err, telemetry.ErrNotKept):
		return recalled{}, fmt.Errorf("sync %s/%d is not kept in %s%s", epoch, seq, archive.State().Path, oldest(archive.State()))
	case err != nil:
		return recalled{}, err
	default:
		return recalled{trace: trace, at: trace.Ended}, nil
	}
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
func (m moment) notKept(ctx context.Context, archive telemetry.Archive) error {
	o := m.object
	text := fmt.Sprintf("no sync of %s %s is kept that had started at %s", m.kind, o.Key(), stamp(m.at))
	own, err := first(ctx, archive, telemetry.Query{Loop: o.Loop, Namespace: o.Namespace, Name: o.Name, OldestFirst: true})
	like := own
	if err == nil && own == nil {
		like, err = first(ctx, archive, telemetry.Query{Loop: o.Loop})
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s, and looking for another failed: %w", text, err)
	case own != nil:
		return fmt.Errorf("%s; its oldest that is kept started at %s", text, stamp(own.Started))
	case like == nil && !app.Loops().Has(o.Loop):
		return fmt.Errorf("%s, nor any other of that kind: give %s", text, prose.Or(loopNames()))
	case m.named:
		return fmt.Errorf("%s, nor any other of it%s", text, oldest(archive.State()))
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
