package rolling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Stuck is an update that needs somebody: it has ended otherwise than it was to, or does not
// move.
type Stuck struct{ Sentence string }

func (s *Stuck) Error() string { return s.Sentence }

// NoManager is an update that nobody carries out. Withdrawn is set where its request was
// removed again, and Unsettled where that is not known; otherwise it stands.
type NoManager struct {
	Withdrawn, Unsettled bool
	// For is how long nobody has done what is due.
	For time.Duration
}

func (e *NoManager) Error() string {
	const start = "start one with 'loopscope manager --controllers=rollingupdate-controller' (or with all of its loops: 'loopscope manager')"
	if e.Withdrawn {
		return "no manager with the controller rollingupdate-controller reacts to the request, so it was withdrawn; " + start + ", and ask again"
	}
	stands := "the request stands, and is carried out as soon as there is one: "
	if e.Unsettled {
		stands = ""
	}
	return fmt.Sprintf("nobody has done for %s what is due, so no manager with the controller rollingupdate-controller seems to run; %s%s", prose.Span(e.For), stands, start)
}

// Watching is how an update is followed.
type Watching struct {
	// Every is how often it is looked at, and Within how long nobody may do what is due first.
	// Once somebody was seen at work it is patience times as long: another manager may have to
	// take over.
	Every, Within time.Duration
	// Tell is given what is new, Unread once of each outage why the update cannot be read; it may be nil.
	Tell   func(*Look)
	Unread func(error)
}

const (
	patience = 6
	// unreadFor is how long it may be unreadable: API servers are restarted.
	unreadFor = 30 * time.Second
)

// Follow looks at an update until it has ended: nil where it has as it was to, *Stuck where it
// needs somebody, *NoManager where nobody carries it out.
func (c *Client) Follow(ctx context.Context, s Started, w Watching) error {
	return (&follower{Client: c, Watching: w, s: s, seen: time.Now()}).follow(ctx)
}

// Noticed looks at an update until its loop has taken notice of a request that was changed: its
// conditions say so, or the update has ended. It returns what was seen last. The errors are
// those of Follow, and one where that takes too long.
func (c *Client) Noticed(ctx context.Context, s Started, w Watching) (*Look, error) {
	limit := patience * w.Within
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last *Look
	w.Tell = func(l *Look) { last = l }
	f := &follower{Client: c, Watching: w, s: s, seen: time.Now(), until: func(l *Look) bool {
		last = l
		return l.noticed()
	}}
	err := f.follow(limited)
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
	case last == nil:
		err = fmt.Errorf("the request was changed, and whether its loop has taken notice could not be read: the API server has not answered within %s", prose.Span(limit))
	default:
		err = fmt.Errorf("the request was changed, and its loop has not said within %s that it has taken notice: %s", prose.Span(limit), last.text())
	}
	return last, err
}

// noticed reports whether the conditions say of the request that stands there how it stands.
func (l *Look) noticed() bool {
	if l.Trace == nil || len(l.Rounds) == 0 {
		return false
	}
	answer, asked := l.Rounds[len(l.Rounds)-1].Verdict.Path.Answer("RU-9.conditions")
	return asked && answer == decision.Yes
}

// follow looks again and again.
func (f *follower) follow(ctx context.Context) error {
	ticker := time.NewTicker(f.Every)
	defer ticker.Stop()
	for {
		if done, err := f.turn(ctx); done {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// follower is somebody who follows an update.
type follower struct {
	*Client
	Watching
	s     Started
	told  string
	seen  time.Time        // when it could be read last, or when following began
	blind bool             // it cannot be read
	state string           // what was due, and what the loop had written
	since time.Time        // when that was first seen, or when nothing was due last
	moved bool             // the loop was seen at work
	until func(*Look) bool // what else is waited for; nil for nothing
}

func (f *follower) turn(ctx context.Context) (done bool, err error) {
	l, err := f.Look(ctx, f.s.Old)
	switch {
	case ctx.Err() != nil:
		return true, ctx.Err()
	case err != nil && !errors.Is(err, errNone) && time.Since(f.seen) < unreadFor:
		f.unread(err)
		return false, nil
	case errors.Is(err, errNone):
		return true, err
	case err != nil:
		return true, fmt.Errorf("%w\nWhat was asked for stands without this command: %s", err, f.s.Watch())
	}
	if f.seen = l.Now; f.blind {
		f.blind, f.told = false, ""
	}
	done, err = l.outcome(f.s)
	if told := l.news(); told != f.told && err == nil { // What an error says is not told twice.
		f.told = told
		f.Tell(l)
	}
	if done || f.until != nil && f.until(l) {
		return true, err
	}
	if alone := f.alone(l); alone > 0 {
		if l.Sentence.Code == rollingupdate.CodeRefused { // Somebody does what is due, in vain.
			return true, &Stuck{l.text() + " The request stands."}
		}
		return f.giveUp(ctx, alone)
	}
	return false, nil
}

// unread tells that an outage has begun.
func (f *follower) unread(err error) {
	if !f.blind && f.Unread != nil {
		f.Unread(err)
	}
	f.blind = true
}

// alone is for how long nobody has done what is due, 0 where that is not for too long.
func (f *follower) alone(l *Look) time.Duration {
	due := l.due()
	state := fmt.Sprint(due, marked(l.old), marked(l.new))
	if due == 0 || state != f.state {
		f.moved = f.moved || f.state != "" && state != f.state
		f.state, f.since = state, l.Now
	}
	within := f.Within
	if f.moved {
		within *= patience
	}
	if alone := l.Now.Sub(f.since); alone > within {
		return alone
	}
	return 0
}

// giveUp withdraws a request to which nobody has reacted.
func (f *follower) giveUp(ctx context.Context, alone time.Duration) (done bool, err error) {
	if f.s.written == nil {
		return true, &NoManager{For: alone}
	}
	err = f.retract(ctx, f.s)
	switch {
	case errors.Is(err, errReacted):
		f.s.written, f.moved = nil, true
		return false, nil
	case err != nil: // It may be the reply alone that was lost.
		switch stands, unread := f.stands(ctx, f.s.written.on, f.s.ID); {
		case unread != nil:
			err = f.unsettled(f.s.Old, f.s.written.made, fmt.Errorf("the request was to be withdrawn, and there was no reply: %w", err))
			return true, errors.Join(&NoManager{For: alone, Unsettled: true}, err)
		case stands:
			return true, errors.Join(&NoManager{For: alone}, fmt.Errorf("it was to be withdrawn, and could not be: %w", err))
		}
	}
	withdrawn := &NoManager{Withdrawn: true, For: alone}
	if err := f.unmake(ctx, f.s.written.made); err != nil {
		return true, errors.Join(withdrawn, err)
	}
	return true, withdrawn
}

// due is how many writes the loop would do now.
func (l *Look) due() int {
	if l.Trace == nil || len(l.Rounds) == 0 {
		return 0
	}
	return len(l.Rounds[len(l.Rounds)-1].Verdict.Actions)
}

// marked is what the loop of rolling updates alone writes to one: when it changes, one is at
// work.
func marked(rc *corev1.ReplicationController) string {
	if rc == nil {
		return ""
	}
	marks := []any{rc.UID, rc.Spec.Selector}
	for _, key := range []string{
		rollingupdate.AnnotationNext, rollingupdate.AnnotationOriginal, rollingupdate.AnnotationSource, rollingupdate.AnnotationDesired,
		rollingupdate.AnnotationStepped, rollingupdate.AnnotationSize, rollingupdate.AnnotationParked, rollingupdate.AnnotationResult,
	} {
		marks = append(marks, rc.Annotations[key])
	}
	if c := progressOf(rc); c != nil {
		marks = append(marks, c.Reason, c.LastTransitionTime)
	}
	if rc.Spec.Template != nil {
		marks = append(marks, rc.Spec.Template.Labels)
	}
	return fmt.Sprint(marks...)
}

// news is what is told anew when it changes.
func (l *Look) news() string {
	if l.Trace == nil {
		return "gone"
	}
	return fmt.Sprint(l.Sentence.Code, l.Sentence.Tone, l.Number("new"), l.Number("old"), l.Number("newAvailable"))
}

// outcome is the end of an update, if it has one.
func (l *Look) outcome(s Started) (done bool, err error) {
	r := l.end(s.ID)
	switch {
	case r != nil && (r.Ended == rollingupdate.Aborted) == s.Back:
		return true, nil
	case r != nil && s.Back:
		return true, &Stuck{fmt.Sprintf("it was too late to take the update back: %s has replaced %s", r.To, s.Old)}
	case r != nil:
		return true, &Stuck{fmt.Sprintf("the update was taken back: %s has its pods again", s.Old)}
	case !l.asks(s.ID):
		return true, &Stuck{"the request that was watched is not there any more: somebody has removed or replaced it. " + l.instead()}
	case l.Invalid() != "" || l.stuck():
		return true, &Stuck{l.text()}
	}
	return false, nil
}

// instead is what there is where the request that was watched has gone without a result.
func (l *Look) instead() string {
	if l.Result == nil || l.UnderWay() {
		return l.text()
	}
	ended := "was completed"
	if l.Result.Ended == rollingupdate.Aborted {
		ended = "was taken back"
	}
	return fmt.Sprintf("The result that stands there is another request's: that update of %s to %s %s %s ago", l.Result.From, l.Result.To, ended, prose.Span(l.Now.Sub(l.Result.At)))
}

// text is the sentence on how it stands.
func (l *Look) text() string {
	if l.Trace == nil {
		return l.Gone() + "."
	}
	return l.Sentence.At(l.Now)
}

// stuck reports whether nothing has moved for longer than the timeout, and the loop has said so
// on what there still is of the two.
func (l *Look) stuck() bool {
	if l.Trace == nil || l.Sentence.Tone != decision.ToneFailed {
		return false
	}
	return slices.ContainsFunc([]*corev1.ReplicationController{l.old, l.new}, func(rc *corev1.ReplicationController) bool {
		if rc == nil {
			return false
		}
		c := progressOf(rc)
		return c != nil && c.Status == corev1.ConditionFalse && c.Reason == rollingupdate.ReasonDeadline
	})
}

func progressOf(rc *corev1.ReplicationController) *corev1.ReplicationControllerCondition {
	for i := range rc.Status.Conditions {
		if c := &rc.Status.Conditions[i]; c.Type == rollingupdate.CondProgressing {
			return c
		}
	}
	return nil
}
