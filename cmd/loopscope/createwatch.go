package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/create"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// followed reports whether a loop keeps one of the objects.
func followed(written []create.Object) bool {
	return slices.ContainsFunc(written, func(x create.Object) bool { return x.Loop() != "" })
}

// onlyNamespace is that of all objects that a loop keeps, "" where there are several.
func onlyNamespace(written []create.Object) (namespace string) {
	for _, x := range written {
		switch {
		case x.Loop() == "":
		case namespace == "":
			namespace = x.Namespace
		case x.Namespace != namespace:
			return ""
		}
	}
	return namespace
}

// follow tells what happens to objects until all are complete, which it then says, or one needs you.
func (o *createOptions) follow(ctx context.Context, written []create.Object, began time.Time, complete string) error {
	client, err := o.request.Factory.KubernetesClientSet()
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	if !followed(written) {
		fmt.Fprintln(o.s.err, "Nothing is followed: no Deployment, ReplicaSet or ReplicationController was written.")
		return nil
	}
	out := o.s.out
	if o.request.PrintsObjects() {
		out = o.s.err
	}
	told := stories{from: (&consoleFlags{kubeconfig: o.kubeconfig}).find(ctx, onlyNamespace(written)), began: began, last: map[create.Object]time.Time{}}
	err = create.Follow(ctx, written, func() create.Look { return told.look(o.request.Round(client)) }, func(x create.Object, line string) {
		fmt.Fprintf(out, "%s  %s  %s\n", time.Now().UTC().Format("15:04:05"), x, safetext.Line(line))
	})
	if stuck := new(create.Stuck); errors.As(err, &stuck) {
		fmt.Fprintln(o.s.err, safetext.Line(stuck.Error()))
		return needsYou{}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s after %s.\n", complete, prose.Span(time.Since(began)))
	return err
}

// stories are what a running console tells of objects meanwhile. It is asked for what
// happened alone: it may not have seen the last change yet, and the cluster itself says how things are.
type stories struct {
	from   found
	began  time.Time
	last   map[create.Object]time.Time // instant of the last beat that was told
	told   bool                        // something, in this round
	misses int                         // rounds in a row in which it had nothing to tell
}

// mostMisses is in how many rounds a console may have nothing to tell before it is left alone,
// and beatsWithin how long it may take.
const (
	mostMisses  = 10
	beatsWithin = 2 * time.Second
)

// look adds what the console has to tell to a look at the cluster.
func (s *stories) look(cluster create.Look) create.Look {
	if s.misses++; s.told {
		s.misses = 0
	}
	s.told = false
	return func(ctx context.Context, o create.Object) (create.State, error) {
		state, err := cluster(ctx, o)
		if err == nil && s.misses < mostMisses {
			state.Lines = s.beats(ctx, o)
		}
		return state, err
	}
}

// beats are those since the last look. Without a console, or before it knows the object, there are none.
func (s *stories) beats(ctx context.Context, o create.Object) (lines []string) {
	var twin struct {
		Page struct {
			Story *telemetry.Story `json:"story"`
		} `json:"page"`
	}
	ctx, cancel := context.WithTimeout(ctx, beatsWithin)
	defer cancel()
	err := askConsole(ctx, s.from, decision.PathOf(o.Loop())+"/"+url.PathEscape(o.Namespace)+"/"+url.PathEscape(o.Name)+"/story.json", nil, &twin)
	if err != nil || twin.Page.Story == nil {
		return nil
	}
	s.told = true
	last := s.last[o]
	for i := range twin.Page.Story.Beats {
		b := &twin.Page.Story.Beats[i]
		if b.Quiet || b.At.Before(s.began) || !b.At.After(last) || twin.Page.Story.UID != o.UID {
			continue
		}
		s.last[o] = b.At
		lines = append(lines, b.Tell().At(b.At))
	}
	return lines
}
