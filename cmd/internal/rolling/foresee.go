package rolling

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopscope/loopscope/cmd/internal/migrate"
	"github.com/loopscope/loopscope/cmd/internal/preflight"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/rollingupdate/effects"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/plan"
)

// Foreseen is what an update would do: its first sync, and the planned sequence, which is empty
// where it cannot be carried out.
type Foreseen struct {
	Look
	Plan views.Plan
	// Old and New are the two as they would be written. New is nil where the update cannot be
	// carried out; There is set where it exists and stays as it is. Of an update that is under way
	// already either may be gone, and nil.
	Old, New *corev1.ReplicationController
	There    bool
	// Unread is what could not be looked at; "" for nothing.
	Unread string

	// request is what would be asked for, now what is already, and file is set where the new
	// one comes from one.
	request, now *rollingupdate.Request
	file         bool
	// steered is set where only the request of an update changes that is under way, and asked is
	// then the one that bears it.
	steered bool
	asked   *corev1.ReplicationController
}

// Foresee is what an update would do. With server the API server checks what would be written,
// and the two are what it answers; nothing is written either way.
func (c *Client) Foresee(ctx context.Context, a Ask, server bool) (*Foreseen, error) {
	f, err := c.foresee(ctx, &a)
	if err != nil || f.Invalid() != "" {
		return f, err
	}
	if server {
		if err := c.dryRun(ctx, f); err != nil {
			return nil, err
		}
	}
	s, err := f.snapshot()
	if err != nil {
		return nil, err
	}
	f.Plan, err = plan.AheadOfRollingUpdate(ctx, s, 0)
	return f, err
}

// ForeseeSteered is what an update that is under way would do with its request changed as by
// Steer. With server the API server checks the change; nothing is written either way.
func (c *Client) ForeseeSteered(ctx context.Context, name string, change func(*rollingupdate.Request) error, server bool) (*Foreseen, error) {
	is, err := c.standing(ctx, name)
	if err != nil {
		return nil, err
	}
	f, err := c.foreseeSteered(ctx, name, is, change)
	if err != nil || f.Invalid() != "" {
		return f, err
	}
	on := f.asked
	if server {
		if on, err = c.checked(ctx, on); err != nil {
			return nil, err
		}
	}
	if is.old != nil {
		f.Old = on
	} else {
		f.New = on
	}
	s, err := f.snapshot()
	if err != nil {
		return nil, err
	}
	f.Plan, err = plan.AheadOfRollingUpdate(ctx, s, 0)
	return f, err
}

// foreseeSteered asks the loop itself what it would do first with a request that is changed.
func (c *Client) foreseeSteered(ctx context.Context, name string, is standing, change func(*rollingupdate.Request) error) (*Foreseen, error) {
	f := &Foreseen{Look: Look{Now: time.Now()}, Old: is.old, New: is.new, There: true, steered: true}
	on, err := f.steer(is, change)
	if err != nil {
		return nil, err
	}
	if f.Trace, err = effects.ExplainWith(ctx, c.API, c.Namespace, name, engine.Options{}, on); err != nil {
		return f, err
	}
	f.asked = on
	return f, f.tooLate(name, is)
}

// steer is the one that bears the request, as it would be written.
func (f *Foreseen) steer(is standing, change func(*rollingupdate.Request) error) (*corev1.ReplicationController, error) {
	next := *is.request
	err := change(&next)
	if err != nil {
		return nil, err
	}
	if f.request, err = changedTo(is.on, is.request, &next); err != nil {
		return nil, err
	}
	on := is.on.DeepCopy()
	annotate(on, rollingupdate.AnnotationRequest, f.request.Text())
	return on, nil
}

// foresee asks the loop itself what it would do first, and looks for who would work against it.
func (c *Client) foresee(ctx context.Context, a *Ask) (*Foreseen, error) {
	f := &Foreseen{Look: Look{Now: time.Now()}, file: a.New != nil}
	if err := c.propose(ctx, a, f); err != nil {
		return nil, err
	}
	list := []*corev1.ReplicationController{f.Old}
	if f.New != nil && !f.There {
		made := f.New.DeepCopy()
		made.UID = "not-created"
		list = append(list, made)
	}
	var err error
	if f.Trace, err = effects.ExplainWith(ctx, c.API, c.Namespace, a.Old, engine.Options{}, list...); err != nil || f.Invalid() != "" {
		return f, err
	}
	s, err := f.snapshot()
	if err != nil {
		return nil, err
	}
	if !f.file {
		if err := c.successor(ctx, f, s.NewName); err != nil {
			return nil, err
		}
	}
	if f.now == nil {
		f.Unread, err = c.preflight(ctx, f.Old, s.NewName)
	}
	return f, err
}

// propose is what would be written to ask for it.
func (c *Client) propose(ctx context.Context, a *Ask, f *Foreseen) (err error) {
	if f.Old, err = c.getOld(ctx, a.Old); err != nil {
		return err
	}
	if err := migrate.TakenOver(f.Old); err != nil {
		return err
	}
	if f.request, err = a.request(); err != nil {
		return err
	}
	if f.now, err = requestOf(f.Old); err != nil {
		return err
	}
	if f.now != nil {
		if f.request, err = a.onto(f.Old, f.now); err != nil {
			return err
		}
	}
	if f.file {
		if err := c.fromFile(ctx, a, f); err != nil {
			return err
		}
	}
	annotate(f.Old, rollingupdate.AnnotationRequest, f.request.Text())
	return nil
}

// fromFile finds the new one of a file, or makes it. In the middle of an update the file is not
// looked at where the new one exists, and where it is not needed any more.
func (c *Client) fromFile(ctx context.Context, a *Ask, f *Foreseen) error {
	is, err := c.find(ctx, a.New.Name)
	switch {
	case err != nil:
		return err
	case f.now != nil && (is != nil || f.ends()):
		f.New, f.There = is, is != nil
		return nil
	}
	if f.New, err = prepared(f.Old, a.New); err != nil || is == nil {
		return err
	}
	if is.Annotations[rollingupdate.AnnotationSource] != f.New.Annotations[rollingupdate.AnnotationSource] {
		return fmt.Errorf("ReplicationController %s exists, and was not made to replace %s: delete it, or choose another name", is.Name, a.Old)
	}
	f.New, f.There = is, true
	return nil
}

// ends reports whether the old one takes over the pods of the new one, which goes.
func (f *Foreseen) ends() bool {
	_, ends := f.Old.Annotations[rollingupdate.AnnotationParked]
	return ends
}

// successor finds the new one of an image, or makes it as the loop will.
func (c *Client) successor(ctx context.Context, f *Foreseen, name string) error {
	is, err := c.find(ctx, name)
	f.New, f.There = is, is != nil
	if is == nil && err == nil && !f.ends() {
		f.New = effects.Successor(f.Old, f.request, name)
	}
	return err
}

// find is one of a name, nil where there is none.
func (c *Client) find(ctx context.Context, name string) (*corev1.ReplicationController, error) {
	rc, err := c.get(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return rc, err
}

// preflight looks for who would work against an update of one, to one of a name. What it
// cannot look at it says.
func (c *Client) preflight(ctx context.Context, old *corev1.ReplicationController, name string) (unread string, err error) {
	list, err := c.API.AutoscalingV2().HorizontalPodAutoscalers(c.Namespace).List(ctx, metav1.ListOptions{})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return fmt.Sprintf("HorizontalPodAutoscalers could not be listed, and one that scales %s or %s would work against the update: %s", old.Name, name, prose.Clip(err.Error(), 200)), nil
	}
	for _, of := range []string{old.Name, name} {
		if names := preflight.Scalers(list.Items, of); len(names) > 0 {
			return "", fmt.Errorf("%s %s scales ReplicationController %s, and would put back the sizes that the update gives it: "+
				"keep a copy ('kubectl get hpa %s -n %s -o yaml'), delete it, and create it again when the update has ended, for the ReplicationController that is there then",
				prose.Plural(len(names), "HorizontalPodAutoscaler", "each of the HorizontalPodAutoscalers"), prose.And(names), of, strings.Join(names, " "), c.Namespace)
		}
	}
	return "", nil
}

// snapshot is what the first sync decided on.
func (f *Foreseen) snapshot() (*rollingupdate.Snapshot, error) {
	decided, err := f.Decided(decision.Loops{rollingupdate.Loop})
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return decided.(*rollingupdate.Snapshot), nil
}

// dryRun sends what would be written, for the API server to check and to complete.
func (c *Client) dryRun(ctx context.Context, f *Foreseen) (err error) {
	if f.Old, err = c.checked(ctx, f.Old); err != nil {
		return err
	}
	if f.New != nil && !f.There {
		f.New, err = c.API.CoreV1().ReplicationControllers(c.Namespace).Create(ctx, f.New, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
	}
	return err
}

// checked is one as the API server would write it, which it does not.
func (c *Client) checked(ctx context.Context, rc *corev1.ReplicationController) (*corev1.ReplicationController, error) {
	return c.API.CoreV1().ReplicationControllers(c.Namespace).Update(ctx, rc, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
}

// Both says in a few words what the two are.
func (f *Foreseen) Both() string {
	if f.steered || f.New == nil || f.now != nil && f.There {
		var list []string
		for _, rc := range f.both() {
			list = append(list, fmt.Sprintf("%s has %s of %s", rc.Name, prose.Count(int64(sizeOf(rc)), "pod"), images(rc)))
		}
		return strings.Join(list, "; ")
	}
	is := "would be created"
	if f.There {
		is = fmt.Sprintf("is there, with %s", prose.Count(int64(sizeOf(f.New)), "pod"))
	}
	return fmt.Sprintf("%s has %s of %s; %s %s, for %s of %s", f.Old.Name, prose.Count(int64(sizeOf(f.Old)), "pod"), images(f.Old), f.New.Name, is, f.New.Annotations[rollingupdate.AnnotationDesired], images(f.New))
}

// Keeps says that the file is not applied; "" where it is, and where there is none.
func (f *Foreseen) Keeps() string { return keeps(f.kept(), "") }

// Lends says that one pod may be missing although none was to be; "" where that is not so.
func (f *Foreseen) Lends() string { return lends(f.request, f.desired()) }

// desired is how many pods the update ends with.
func (f *Foreseen) desired() int32 { return desiredOf(f.Old, f.New) }

// kept is the new one of a file where it exists; "" for none.
func (f *Foreseen) kept() string {
	if !f.file || !f.There {
		return ""
	}
	return f.New.Name
}

// Objects are the two for whoever reads objects: of their kind, and without what only the API
// server needs.
func (f *Foreseen) Objects() *corev1.List {
	list := &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for _, rc := range f.both() {
		rc = rc.DeepCopy()
		rc.TypeMeta, rc.ManagedFields = metav1.TypeMeta{APIVersion: "v1", Kind: "ReplicationController"}, nil
		list.Items = append(list.Items, runtime.RawExtension{Object: rc})
	}
	return list
}

// both are the two, as far as they exist.
func (f *Foreseen) both() []*corev1.ReplicationController {
	return slices.DeleteFunc([]*corev1.ReplicationController{f.Old, f.New}, func(rc *corev1.ReplicationController) bool { return rc == nil })
}

// images are those of a template.
func images(rc *corev1.ReplicationController) string {
	var list []string
	if rc.Spec.Template != nil {
		for i := range rc.Spec.Template.Spec.Containers {
			list = append(list, rc.Spec.Template.Spec.Containers[i].Image)
		}
	}
	return prose.OrNone(prose.And(list))
}
