package migrate

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/cmd/internal/create"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// Plan is what a migration would do, and what is in its way.
type Plan struct {
	Namespace  string `json:"namespace"`
	Controller string `json:"replicationController"`
	Deployment string `json:"deployment"`
	Undo       bool   `json:"undo"`
	// Problems are what has to be settled before the first write, Unread is what could not be
	// looked at, and Notes are what to know and to do besides.
	Problems []string `json:"problems"`
	Unread   []string `json:"unread,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	// Steps are what is written from here on, End is how it then is.
	Steps []Step `json:"steps"`
	End   string `json:"end"`
	// Trace is the first sync of the Deployment that has its ReplicaSet; nil where there is none.
	Trace *telemetry.Trace `json:"trace,omitempty"`
}

// Plan reads the cluster, asks for dry runs, and writes nothing.
func (m *Migration) Plan(ctx context.Context) (*Plan, error) {
	p, err := m.plan(ctx)
	if ctx.Err() != nil { // What could not be read then is not in the way.
		return nil, fmt.Errorf("rc/%s: interrupted while it was looked at: this run has written nothing on it", m.options.Controller)
	}
	return p, err
}

func (m *Migration) plan(ctx context.Context) (*Plan, error) {
	c, err := read(ctx, m.client, m.namespace, &m.options)
	if err != nil {
		return nil, redact.Error(err)
	}
	if !m.options.MoveScalers && !m.options.Undo { // They are not moved, but told.
		c.readScalers(ctx, m.client, m.namespace)
	}
	p := &Plan{Namespace: m.namespace, Controller: m.options.Controller, Deployment: m.options.Name, Undo: m.options.Undo, Problems: []string{}, Steps: []Step{}}
	if p.Deployment == "" {
		p.Deployment = m.options.Controller
	}
	if c.Controller == nil && !c.takenOver() {
		return nil, fmt.Errorf("there is no ReplicationController %s in namespace %s", m.options.Controller, m.namespace)
	}
	if c.Controller != nil {
		if err := m.preflight(ctx, c, p); err != nil {
			return nil, err
		}
	}
	if len(p.Problems) > 0 {
		return p, nil
	}
	list, end, last := steps(c, &m.options)
	p.Steps, p.End = append(p.Steps, list...), end.Text
	switch {
	case end.Kind == Blocked:
		p.Problems = append(p.Problems, end.Text)
	case end.Kind == Wait: // For something that no loop of the model does.
		p.End = "it waits " + end.Text
	case last.Deployment != nil && last.Set != nil && len(list) > 0:
		return p, m.foresee(ctx, last, p)
	}
	return p, nil
}

// preflight looks for all that is in the way.
func (m *Migration) preflight(ctx context.Context, c *Cluster, p *Plan) error {
	r, err := recordOf(c.Controller)
	if err != nil {
		p.Problems = append(p.Problems, err.Error())
		return nil
	}
	if r != nil {
		p.Deployment = r.Deployment
	}
	if err := m.allowed(ctx, c, r, p); err != nil {
		return err
	}
	if c.Unread != nil {
		p.Unread = append(p.Unread, c.unreadNote(&m.options, p.Deployment))
	}
	p.Notes = append(p.Notes, notes(c, &m.options, p.Deployment)...)
	if m.options.Undo {
		return nil
	}
	var a around
	if !c.underWay(r) {
		m.look(ctx, &a, p)
	}
	if r != nil { // It has begun: next decides.
		p.Problems = append(p.Problems, scalerProblems(c, &m.options, r.Deployment)...)
		p.Problems = append(p.Problems, overlaps(c, &a)...)
		return nil
	}
	if p.Problems = append(p.Problems, problems(c, &m.options, &a)...); len(p.Problems) > 0 {
		return nil
	}
	return m.dryRuns(ctx, c, p)
}

// allowed asks whether the user may take all steps.
func (m *Migration) allowed(ctx context.Context, c *Cluster, r *record, p *Plan) error {
	var lacks []rightOf
	scalers := m.options.MoveScalers
	if m.options.Undo && r != nil {
		_, scalers = pointScalersBack(c, r)
		scalers = scalers || r.ScalersMoved
	}
	for _, x := range rights(&m.options, scalers, !c.underWay(r)) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: m.namespace, Group: x.group, Resource: x.resource, Verb: x.verb},
		}}
		answer, err := m.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("ask for your rights: %w", redact.Error(err))
		}
		if !answer.Status.Allowed {
			lacks = append(lacks, x)
		}
	}
	if len(lacks) > 0 {
		p.Problems = append(p.Problems, missing(lacks))
	}
	return nil
}

// underWay reports whether the pods are released, after which it matters no more what else would
// have adopted them.
func (c *Cluster) underWay(r *record) bool { return r != nil && released(c.Controller) }

// look reads what else is in the namespace. A kind that cannot be read is in the way, as nobody
// knows then what would adopt the pods.
func (m *Migration) look(ctx context.Context, a *around, p *Plan) {
	var all metav1.ListOptions
	apps, core := m.client.AppsV1(), m.client.CoreV1()
	for _, x := range []struct {
		what string
		list func() (runtime.Object, error)
	}{
		{"Deployments", func() (runtime.Object, error) { return apps.Deployments(m.namespace).List(ctx, all) }},
		{"ReplicaSets", func() (runtime.Object, error) { return apps.ReplicaSets(m.namespace).List(ctx, all) }},
		{"StatefulSets", func() (runtime.Object, error) { return apps.StatefulSets(m.namespace).List(ctx, all) }},
		{"DaemonSets", func() (runtime.Object, error) { return apps.DaemonSets(m.namespace).List(ctx, all) }},
		{"ReplicationControllers", func() (runtime.Object, error) { return core.ReplicationControllers(m.namespace).List(ctx, all) }},
	} {
		list, err := x.list()
		if err != nil {
			if !apierrors.IsForbidden(err) || len(p.Problems) == 0 { // Rights that are missing were said before.
				p.Problems = append(p.Problems, fmt.Sprintf("%s cannot be listed, and one of them might adopt these pods while nobody owns them. Try again, or have it settled why: %s", x.what, redact.Line(err.Error())))
			}
			continue
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			a.add(o)
			return nil
		})
	}
}

// dryRuns ask the API server whether it would take what is going to be created, as it is, and
// whether it refuses what is sealed.
func (m *Migration) dryRuns(ctx context.Context, c *Cluster, p *Plan) error {
	r, err := guess(c, &m.options)
	if err != nil {
		return err
	}
	how := metav1.CreateOptions{FieldManager: fieldManager, DryRun: []string{metav1.DryRunAll}}
	d := newDeployment(c.Controller, r, r.Replicas)
	switch got, err := m.client.AppsV1().Deployments(m.namespace).Create(ctx, d, how); {
	case err != nil:
		p.Problems = append(p.Problems, "the API server would not take the Deployment: "+redact.Line(err.Error()))
	case !equality.Semantic.DeepEqual(got.Spec.Template, d.Spec.Template):
		p.Problems = append(p.Problems, "something in the API server changes the template of the Deployment, so that it would not be that of the pods, and would roll out: an admission webhook, perhaps; exempt this object from it")
	}
	set := newSet(c.Controller, r)
	if err := post(ctx, m.client, set, how); err != nil {
		p.Problems = append(p.Problems, "the API server would not take the ReplicaSet: "+redact.Line(err.Error()))
	}
	err = post(ctx, m.client, trial(c.Controller, r), how)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), sealName) {
		p.Problems = append(p.Problems, "the API server does not refuse pods whose ServiceAccount is not there, which is what keeps a loop from making too many: its admission plugin ServiceAccount has to be on, and "+unrefused(err))
	}
	return nil
}

func unrefused(err error) string {
	if err == nil {
		return "it would have taken such a pod"
	}
	return "it said instead: " + redact.Line(err.Error())
}

// foresee says what the Deployment's loop will decide once it has its ReplicaSet.
func (m *Migration) foresee(ctx context.Context, c *Cluster, p *Plan) error {
	list := []runtime.Object{c.Set}
	for i := range c.Pods {
		list = append(list, &c.Pods[i])
	}
	d := c.Deployment.DeepCopy()
	if d.Spec.Strategy.Type == "" { // Not there yet: the API server completes it.
		quarter := intstr.FromString("25%")
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}}
	}
	t, err := create.Decide(ctx, m.client, d, list)
	if err != nil {
		return fmt.Errorf("foresee what the Deployment's loop does: %w", err)
	}
	p.Trace = t
	return nil
}
