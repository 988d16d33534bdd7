package rolling

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/rollingupdate/effects"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/plan"
)

// Look is how an update stands: the sync that its loop would do now, and how the last one
// ended.
type Look struct {
	*telemetry.Trace
	Result *rollingupdate.Result
	// Now is when it was looked at.
	Now time.Time

	old, new *corev1.ReplicationController
}

// Look looks at an update once. One that exists neither before nor after it is an error.
func (c *Client) Look(ctx context.Context, name string) (*Look, error) {
	l := &Look{Now: time.Now()}
	var err error
	if l.Trace, err = effects.Explain(ctx, c.API, c.Namespace, name, engine.Options{}); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if l.old, err = c.get(ctx, name); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	list, err := c.API.CoreV1().ReplicationControllers(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		rc := &list.Items[i]
		r := rollingupdate.ParseResult(rc.Annotations[rollingupdate.AnnotationResult])
		if r != nil && (rc.Name == name || r.From == name) && (l.Result == nil || r.At.After(l.Result.At)) {
			l.Result = r
		}
		if from, _, _ := strings.Cut(rc.Annotations[rollingupdate.AnnotationSource], ":"); from == name || l.old != nil && rc.Name == l.old.Annotations[rollingupdate.AnnotationNext] {
			l.new = rc
		}
	}
	if l.Trace == nil && l.Result == nil {
		return nil, fmt.Errorf("there is no ReplicationController %s in namespace %s, and none that replaces it; list them with 'kubectl get rc -n %s'", name, c.Namespace, c.Namespace)
	}
	return l, nil
}

// Number is one of the key numbers, 0 where it is not known.
func (l *Look) Number(fact string) int64 {
	if l.Trace == nil {
		return 0
	}
	for _, f := range l.Numbers {
		if n, is := f.Value.Int(); f.Name == fact && is {
			return n
		}
	}
	return 0
}

// Ended reports whether the request of that ID has ended, and everything is cleaned up.
func (l *Look) Ended(id string) bool {
	if l.Result == nil || l.Result.ID != id {
		return false
	}
	for _, rc := range []*corev1.ReplicationController{l.old, l.new} {
		if rc == nil {
			continue
		}
		if r, err := requestOf(rc); r != nil || err != nil {
			return false // The old one is still to be deleted.
		}
	}
	return true
}

// Invalid is what is wrong with the request, "" for nothing.
func (l *Look) Invalid() string {
	if l.Trace == nil || len(l.Rounds) == 0 {
		return ""
	}
	return l.Rounds[0].Verdict.Invalid
}

// stuck reports whether nothing has moved for longer than the timeout, and the loop has said so.
func (l *Look) stuck() bool {
	if l.Trace == nil || l.old == nil || l.Sentence.Tone != decision.ToneFailed {
		return false
	}
	c := progressOf(l.old)
	return c != nil && c.Status == corev1.ConditionFalse && c.Reason == rollingupdate.ReasonDeadline
}

func progressOf(rc *corev1.ReplicationController) *corev1.ReplicationControllerCondition {
	for i := range rc.Status.Conditions {
		if c := &rc.Status.Conditions[i]; c.Type == rollingupdate.CondProgressing {
			return c
		}
	}
	return nil
}

// mark is what a loop of rolling updates changes of the two: when it differs, one is at work.
type mark struct{ old, new string }

func markOf(old, n *corev1.ReplicationController) mark { return mark{marked(old), marked(n)} }

func marked(rc *corev1.ReplicationController) string {
	if rc == nil {
		return ""
	}
	notes := maps.Clone(rc.Annotations)
	delete(notes, rollingupdate.AnnotationRequest)
	condition := ""
	if c := progressOf(rc); c != nil {
		condition = c.Reason + c.LastTransitionTime.String()
	}
	labels := map[string]string{}
	if rc.Spec.Template != nil {
		labels = rc.Spec.Template.Labels
	}
	return fmt.Sprint(rc.UID, notes, condition, sizeOf(rc), labels, rc.Spec.Selector)
}

// Stuck is an update that needs somebody: it has ended otherwise than it was to, or does not
// move.
type Stuck struct{ Sentence string }

func (s *Stuck) Error() string { return s.Sentence }

// NoManager is a request to which nobody reacted. Withdrawn is set where it was removed again.
type NoManager struct {
	Withdrawn bool
}

func (e *NoManager) Error() string {
	text := "no manager with the controller rollingupdate-controller reacts to the request"
	if e.Withdrawn {
		text += ", so it was withdrawn"
	}
	return text + "; start one with 'loopscope manager --controllers=rollingupdate-controller' (or with all of its loops: 'loopscope manager'), and ask again"
}

// Watching is how an update is followed.
type Watching struct {
	// Every is how often it is looked at, and Within how long nobody may react to a request.
	Every, Within time.Duration
	// Back is set where the update is to be taken back.
	Back bool
	// Tell is given what is new.
	Tell func(*Look)
}

// Follow looks at an update until it has ended: nil where it has as it was to, *Stuck where it
// needs somebody, *NoManager where nobody carries it out.
func (c *Client) Follow(ctx context.Context, s Started, w Watching) error {
	ticker := time.NewTicker(w.Every)
	defer ticker.Stop()
	deadline := time.Now().Add(w.Within)
	last := ""
	for {
		l, err := c.Look(ctx, s.Old)
		if err != nil {
			return err
		}
		if told := l.news(); told != last {
			last = told
			w.Tell(l)
		}
		if done, err := l.outcome(s, w.Back); done {
			return err
		}
		if s.before != nil && markOf(l.old, l.new) != *s.before {
			s.before = nil
		}
		if s.before != nil && time.Now().After(deadline) {
			return &NoManager{Withdrawn: c.Withdraw(ctx, s) == nil}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// news is what is told anew when it changes.
func (l *Look) news() string {
	if l.Trace == nil {
		return "gone"
	}
	return fmt.Sprint(l.Sentence.Code, l.Sentence.Tone, l.Number("new"), l.Number("old"), l.Number("newAvailable"))
}

// outcome is the end of an update, if it has one.
func (l *Look) outcome(s Started, back bool) (done bool, err error) {
	switch {
	case l.Ended(s.ID) && (l.Result.Ended == rollingupdate.Aborted) == back:
		return true, nil
	case l.Ended(s.ID) && back:
		return true, &Stuck{fmt.Sprintf("it was too late to take the update back: %s has replaced %s", l.Result.To, s.Old)}
	case l.Ended(s.ID):
		return true, &Stuck{fmt.Sprintf("the update was taken back: %s has its pods again", s.Old)}
	case l.Invalid() != "":
		return true, &Stuck{l.Sentence.At(l.Now)}
	case l.stuck():
		return true, &Stuck{l.Sentence.At(l.Now)}
	}
	return false, nil
}

// Request is what is asked for; nil for nothing.
func (l *Look) Request() *rollingupdate.Request {
	for _, rc := range []*corev1.ReplicationController{l.old, l.new} {
		if rc == nil {
			continue
		}
		if r, _ := requestOf(rc); r != nil {
			return r
		}
	}
	return nil
}

// UnderWay reports whether somebody asks for an update.
func (l *Look) UnderWay() bool { return l.Request() != nil }

// Gone says what became of the old one where it is gone.
func (l *Look) Gone() string {
	return fmt.Sprintf("%s has been replaced by %s", l.Result.From, l.Result.To)
}

// Foreseen is what an update would do: its first sync, and the planned sequence, which is empty
// where it cannot be carried out.
type Foreseen struct {
	Look
	Plan views.Plan
}

// Foresee is what an update would do. With server the API server checks what would be written;
// nothing is written either way.
func (c *Client) Foresee(ctx context.Context, a Ask, server bool) (*Foreseen, error) {
	list, err := c.Plan(ctx, a)
	if err != nil {
		return nil, err
	}
	if server {
		if err := c.dryRun(ctx, list); err != nil {
			return nil, err
		}
	}
	f := &Foreseen{Look: Look{Now: time.Now()}}
	if f.Trace, err = effects.ExplainWith(ctx, c.API, c.Namespace, a.Old, engine.Options{}, list...); err != nil || f.Invalid() != "" {
		return f, err
	}
	decided, err := f.Decided(decision.Loops{rollingupdate.Loop})
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	f.Plan, err = plan.AheadOfRollingUpdate(ctx, decided.(*rollingupdate.Snapshot), 0)
	return f, err
}

// dryRun sends what would be written, for the API server to check.
func (c *Client) dryRun(ctx context.Context, list []*corev1.ReplicationController) error {
	api := c.API.CoreV1().ReplicationControllers(c.Namespace)
	if _, err := api.Update(ctx, list[0], metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return err
	}
	for _, n := range list[1:] {
		made := n.DeepCopy()
		made.UID = ""
		if _, err := api.Create(ctx, made, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
