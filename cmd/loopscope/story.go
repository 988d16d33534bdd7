package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/redact"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

const (
	// askWithin bounds one question to a running console, maxAnswer its answer.
	askWithin = 30 * time.Second
	maxAnswer = 64 << 20
)

type storyOptions struct {
	console consoleFlags
	at      string
	output  outputFlag
	all     bool
}

func newStory(s streams) *cobra.Command {
	o := storyOptions{console: newConsoleFlags()}
	cmd := &cobra.Command{
		Use:   "story deployment/NAME",
		Short: "Tell a rollout from its change to its end: who changed what, every sync, write and pod",
		Long: `Asks a running loopscope what happened to a Deployment from the change that
started its rollout to the sync that found it settled again, or gone, or up to now:
changes by others, pods, syncs with what they wrote and held back, and what each
step waited for. The ReplicaSets of a Deployment are in its story, and the
two ReplicationControllers in that of a rolling update.`,
		Example: `  # What is happening to this rollout, from the beginning?
  loopscope story deployment/web -n shop

  # What happened to it last night?
  loopscope story deployment/web -n shop --at 2026-11-21T03:02:24Z

  # For a script
  loopscope story deployment/web -n shop -o json | jq '.beats[].object'`,
		Args: oneObject,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	o.console.addFlags(cmd)
	o.console.addNamespace(cmd, "namespace of the object, - for one that has none")
	cmd.ValidArgsFunction = completeObjects(o.console.kubeconfig, toldLoops)
	cmd.Flags().StringVar(&o.at, "at", "", "tell what was under way then: a time such as 2026-11-21T03:02:24Z or 03:02 (UTC), or 90m for so long ago")
	cmd.Flags().BoolVar(&o.all, "all", false, "also list syncs that wrote nothing and held nothing new back")
	o.output.addFlag(cmd, "the story")
	return cmd
}

func (o *storyOptions) run(ctx context.Context, s streams, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	loop, name, err := objectArg(args)
	if err != nil {
		return err
	}
	if app.Loops().Has(loop) && !slices.Contains(toldLoops(), loop) {
		return fmt.Errorf("%q has no story: stories are told of a %s, with the objects that it owns. The syncs of a %s are on its page in the console", strings.Join(args, "/"), prose.Or(toldLoops()), app.Loops().Kind(loop))
	}
	story, err := o.ask(ctx, s, loop, name)
	if err != nil {
		return err
	}
	if o.output.forPrograms() {
		return o.output.print(s.out, story)
	}
	return storyText(s.out, story, o.all)
}

func (o *storyOptions) ask(ctx context.Context, s streams, loop, name string) (*telemetry.Story, error) {
	query := url.Values{}
	if o.at != "" {
		now := time.Now()
		switch at, err := telemetry.ParseMoment(o.at, now); {
		case err != nil:
			return nil, fmt.Errorf("--at: %w", err)
		case at.After(now):
			return nil, stillToCome(at)
		}
		query.Set("at", o.at)
	}
	var twin struct {
		Page struct {
			Story *telemetry.Story `json:"story"`
		} `json:"page"`
	}
	namespace, err := o.console.namespace()
	if err != nil {
		return nil, err
	}
	from := o.console.find(ctx, namespace)
	if !from.knows(namespace) {
		fmt.Fprintln(newSafeWriter(s.err), from.narrow())
	}
	if err := askConsole(ctx, from, decision.PathOf(loop)+"/"+url.PathEscape(cmp.Or(namespace, decision.NoNamespace))+"/"+url.PathEscape(name)+"/story.json", query, &twin); err != nil {
		return nil, unseen(noSuchLoop(err, from, loop, "stories", toldLoops()))
	}
	if twin.Page.Story == nil {
		return nil, fmt.Errorf("%s answered without a story; is it a loopscope of another version?", from.server)
	}
	return twin.Page.Story, nil
}

// askConsole reads a JSON page of a running console.
func askConsole(ctx context.Context, from found, path string, query url.Values, into any) error {
	server := from.server
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return fmt.Errorf("--server %q is not an address; write it as http://%s", server, app.DefaultListen)
	}
	base.Path, base.RawQuery = strings.TrimSuffix(base.Path, "/")+path, query.Encode()
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.String(), nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", server, err)
	}
	request.Header.Set("Accept", "application/json")
	reply, err := from.ask(request)
	if err != nil {
		return from.unasked(err, "give the console's address with --server")
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer of %s: %w", server, err)
	case len(body) > maxAnswer:
		return fmt.Errorf("the answer of %s is longer than %d MB", server, maxAnswer>>20)
	case reply.StatusCode != http.StatusOK:
		return refused(server, reply.Status, body)
	}
	var of struct {
		Cluster string `json:"cluster"`
	}
	if err := errors.Join(json.Unmarshal(body, &of), json.Unmarshal(body, into)); err != nil {
		return fmt.Errorf("read the answer of %s: %w", server, err)
	}
	return from.check(of.Cluster)
}

// refused is what the console itself says of a request that it cannot answer.
func refused(server, status string, body []byte) error {
	var said struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Error.Message == "" {
		return fmt.Errorf("%s answered %s", server, status)
	}
	return refusal{said.Error.Code, redact.Line(said.Error.Message)}
}

// refusal is what a console says of a request, with its code for programs.
type refusal struct{ code, text string }

func (r refusal) Error() string { return r.text }

// noSuchLoop says that a console has nothing of a loop, where that is why it refuses.
func noSuchLoop(err error, from found, loop, what string, has []string) error {
	var r refusal
	if !errors.As(err, &r) || r.code != "not-found" {
		return err
	}
	return fmt.Errorf("the console at %s has no %s of the kind %q; `loopscope manager` has %s", from.server, what, loop, prose.Or(has))
}

// unseen says where names are, after an error about one that is not known.
func unseen(err error) error {
	var r refusal
	if !errors.As(err, &r) || r.code != "unknown-object" {
		return err
	}
	return fmt.Errorf("%w\n`loopscope top -A` lists those that there are", err)
}

func countsText(c telemetry.StoryCounts) string {
	text := fmt.Sprintf("%s by others, %s of pods, %s, %s, %d refused", prose.Count(c.Changes, "change"), prose.Count(c.Pods, "transition"), prose.Count(c.Syncs, "sync"), prose.Count(c.Writes, "write"), c.Refused)
	if c.Conflicts > 0 {
		text += ", " + prose.Count(c.Conflicts, "conflict")
	}
	if c.Unanswered > 0 {
		text += fmt.Sprintf(", %d unanswered", c.Unanswered)
	}
	if c.Restarts > 0 {
		text += ", " + prose.Count(c.Restarts, "restart") + " of the manager"
	}
	return text
}

// storyEnd says how a story ended, and after how long.
func storyEnd(story *telemetry.Story) string {
	after := prose.Span(story.End().Sub(story.Began))
	switch {
	case !story.Settled.IsZero():
		return "It was settled after " + after
	case story.Replaced:
		return "The story ended with the deletion of the object, at most " + after + " after it began"
	case !story.Gone.IsZero():
		return "The story ended after " + after + ", with the deletion of the object"
	case story.OfDifferences():
		return "This is a story of differences, each of which was over when it was found"
	case !story.LastKnown.IsZero():
		return "It was not settled at " + story.LastKnown.UTC().Format(time.DateTime) + " UTC, and nobody knows how it went on"
	}
	return "It is not settled yet"
}

func storyText(w io.Writer, story *telemetry.Story, all bool) error {
	fmt.Fprintf(w, "%s\n", safetext.Line(story.Text))
	fmt.Fprintf(w, "%s. It began %s UTC", storyEnd(story), story.Began.UTC().Format(time.DateTime))
	if story.Open {
		fmt.Fprint(w, " or before: earlier syncs are not kept")
	}
	if !story.AsOf.IsZero() {
		fmt.Fprintf(w, ".\nThis is as of %s UTC, when the API server last served", story.AsOf.Format("15:04:05"))
	}
	fmt.Fprintf(w, ".\n%s\n\n", countsText(story.Counts))
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	beats := story.Told(all)
	for i := range beats {
		b := &beats[i]
		if b.Waited != nil && b.Waited.For >= time.Second {
			fmt.Fprintf(table, "\t\t\t%s of waiting (%s): %s\n", prose.Span(b.Waited.For), safetext.Line(strings.Join(b.Waited.Codes, ", ")), safetext.Line(b.Waited.Text))
		}
		end := ""
		if b.Settles {
			end = ". Settled."
		}
		fmt.Fprintf(table, "%s\t+%s\t%s\t%s%s\n", b.At.UTC().Format("15:04:05.000"), prose.Span(b.At.Sub(story.Began)), safetext.Line(string(b.Kind)), safetext.Line(b.Tell().At(b.At)), end)
	}
	return table.Flush()
}
