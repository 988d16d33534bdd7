package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/tracefile"
)

type exportOptions struct {
	console               consoleFlags
	history               string
	loop, namespace, name string
	since, until, to      string
	limit                 int
}

func newExport(s streams) *cobra.Command {
	o := exportOptions{console: newConsoleFlags()}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write kept syncs to a recording: a file that replay and view read",
		Long: `Writes what a running loopscope keeps, or a history file, as a recording: JSON
Lines, a header first and then one sync a line, oldest first. A recording holds
everything that each sync was decided on: names, sizes, images, selectors, the
annotations that the loop itself keeps (revisions and sizes), and what conditions
and the API server said, without the credentials that are known by their form. It
holds no values of other annotations, of labels, env or arguments. It is
compressed where the name ends in .gz.`,
		Example: `  # Everything that is kept
  loopscope export -o night.jsonl.gz

  # One Deployment, the last half hour
  loopscope export --loop deployment -n shop --name web --since 30m -o web.jsonl

  # From the file of a loopscope that is not running
  loopscope export --history history.db --since 2026-11-21T03:00:00Z | jq .sentence.code`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && strings.Contains(args[0], "/") {
				return fmt.Errorf("export takes no KIND/NAME: name the object with --loop, --namespace and --name\nSee '%s --help' for examples", cmd.CommandPath())
			}
			return flagsAlone(cmd, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	f := cmd.Flags()
	o.console.addFlags(cmd)
	f.StringVar(&o.history, "history", "", "read this history file, not a running console")
	f.StringVar(&o.loop, "loop", "", "only syncs of this loop: "+prose.Or(loopNames())+", or one that another program has recorded")
	f.StringVarP(&o.namespace, "namespace", "n", "", "only syncs of this namespace (default all of them)")
	f.StringVar(&o.name, "name", "", "only syncs of objects of this name")
	f.StringVar(&o.since, "since", "", "only syncs that started then or later: a time (2026-11-21T03:02:24Z, 03:02) or how long ago (30m)")
	f.StringVar(&o.until, "until", "", "only syncs that started before then")
	f.IntVar(&o.limit, "limit", 0, "maximum number of syncs; 0 for all (a console sends up to 100000)")
	f.StringVarP(&o.to, "output", "o", "-", "file to write, which must not exist; - for standard output")
	completeFlag(cmd, "loop", cobra.FixedCompletions(loopNames(), noFiles))
	completeNamespace(cmd, o.console.kubeconfig)
	return cmd
}

func (o *exportOptions) run(ctx context.Context, s streams) error {
	if o.history != "" && o.console.server != "" {
		return errors.New("--server and --history cannot be used together: give one of them")
	}
	if slices.Contains([]string{"json", "yaml", "name", "wide", "jsonl"}, o.to) {
		return fmt.Errorf("-o is the file to write, and a recording is JSON Lines always: omit -o for the standard output, or write -o ./%s for a file of that name", o.to)
	}
	if loop := app.Loops().Named(o.loop); loop != "" {
		o.loop = loop
	}
	query, err := o.query(time.Now())
	if err != nil {
		return err
	}
	var done exported
	if o.history != "" {
		done, err = o.fromHistory(ctx, s, query)
	} else {
		done, err = o.fromServer(ctx, s)
	}
	if err == nil && done.syncs == 0 && o.loop != "" && !app.Loops().Has(o.loop) {
		err = o.noSuchLoop()
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.err, "exported %s\n", syncs(done.syncs))
	if done.more {
		fmt.Fprintln(s.err, "there are more: narrow the export with --since and --until, or ask for more with --limit")
	}
	return nil
}

// noSuchLoop is about a loop that neither this program has nor anybody has recorded. The empty
// file is removed, so that the name is free.
func (o *exportOptions) noSuchLoop() error {
	err := fmt.Errorf("no sync of a loop %q is kept; loops are %s, and those that another program has recorded", o.loop, prose.And(loopNames()))
	if o.to != "-" {
		err = errors.Join(err, os.Remove(o.to))
	}
	return err
}

// exported is how an export went.
type exported struct {
	syncs int
	more  bool
}

// query is the flags as a query of the archive.
func (o *exportOptions) query(now time.Time) (telemetry.Query, error) {
	q := telemetry.Query{Loop: o.loop, Namespace: o.namespace, Name: o.name, Limit: o.limit, OldestFirst: true}
	if o.limit < 0 {
		return q, errors.New("--limit has to be positive, or 0 for all")
	}
	for _, x := range []struct {
		flag, text string
		at         *time.Time
	}{{"--since", o.since, &q.Since}, {"--until", o.until, &q.Until}} {
		if x.text == "" {
			continue
		}
		at, err := telemetry.ParseMoment(x.text, now)
		if err != nil {
			return q, fmt.Errorf("%s: %w", x.flag, err)
		}
		*x.at = at
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until) {
		return q, errors.New("--since is not before --until: nothing lies between the two")
	}
	return q, nil
}

// arguments are the flags as the query of an address.
func (o *exportOptions) arguments() url.Values {
	v := url.Values{}
	for key, value := range map[string]string{"loop": o.loop, "namespace": o.namespace, "name": o.name, "since": o.since, "until": o.until} {
		if value != "" {
			v.Set(key, value)
		}
	}
	if o.limit > 0 {
		v.Set("limit", strconv.Itoa(o.limit))
	}
	return v
}

// fromServer copies the stream of a console as it comes, so that one that is cut
// off leaves what came.
func (o *exportOptions) fromServer(ctx context.Context, s streams) (done exported, err error) {
	from := o.console.find(ctx, o.namespace)
	if !from.knows(o.namespace) {
		fmt.Fprintln(newSafeWriter(s.err), from.narrow())
	}
	if from.cluster != "" { // What it sends does not say of which cluster it is before the end of its first line.
		if err := askConsole(ctx, from, "/about.json", nil, new(struct{})); err != nil {
			return done, err
		}
	}
	base, err := url.Parse(from.server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return done, fmt.Errorf("--server %q is not an address; write it as http://%s", from.server, app.DefaultListen)
	}
	base.Path, base.RawQuery = strings.TrimSuffix(base.Path, "/")+"/export.jsonl", o.arguments().Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.String(), http.NoBody)
	if err != nil {
		return done, fmt.Errorf("ask %s: %w", from.server, err)
	}
	request.Header.Set("Accept", "application/x-ndjson, application/json")
	reply, err := from.ask(request)
	if err != nil {
		return done, from.unasked(err, "give the console's address with --server, or read its history file with --history")
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(reply.Body, 1<<16)) // What cannot be read is said by the status.
		return done, refused(from.server, reply.Status, body)
	}
	to, err := o.target(s)
	if err != nil {
		return done, err
	}
	lines, err := copyLines(to, reply.Body)
	if err = errors.Join(err, to.Close()); err != nil {
		return done, fmt.Errorf("export from %s: %w; what was received is kept", from.server, err)
	}
	return exported{syncs: max(0, lines-1), more: reply.Trailer.Get("Loopscope-More") == "true"}, nil
}

// copyArchive writes what the query finds.
func (o *exportOptions) copyArchive(ctx context.Context, s streams, from telemetry.Archive, out io.Writer, q telemetry.Query) (done exported, err error) {
	to, err := tracefile.NewWriter(out, tracefile.Header{Program: stamped(), Exported: time.Now(), Loops: app.Recorded()})
	if err != nil {
		return done, err
	}
	err = from.Each(ctx, q, func(t *telemetry.Trace) error {
		err := to.Write(t)
		if errors.Is(err, tracefile.ErrTooLarge) {
			fmt.Fprintln(s.err, "omitted:", err)
			return nil
		}
		return err
	})
	return exported{syncs: to.Count()}, errors.Join(err, to.Close())
}

func copyLines(to io.Writer, from io.Reader) (lines int, err error) {
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 && piece[len(piece)-1] == '\n' {
			lines++
		}
		if _, err := to.Write(piece); err != nil {
			return lines, err
		}
		switch {
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return lines, err
		}
	}
}

// target is where the text goes: a new file, or standard output as it is. A terminal gets
// it without what would tell it to do something.
func (o *exportOptions) target(s streams) (io.WriteCloser, error) {
	switch {
	case o.to != "-":
		return tracefile.CreateFile(o.to)
	case terminal(s.out):
		return open{newSafeWriter(s.out)}, nil
	default:
		return open{s.out}, nil
	}
}

// open is standard output, which stays open.
type open struct{ io.Writer }

func (open) Close() error { return nil }
