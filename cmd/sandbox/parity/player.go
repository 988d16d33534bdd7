package parity

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

//go:embed testdata/manifests
var manifests embed.FS

const (
	// stepLimit bounds one step; many scenarios share the machine.
	stepLimit = 3 * time.Minute
	// restTime is how long nothing may have moved before a namespace is at rest:
	// longer than a loop's delay between two tries of a write that conflicted.
	restTime = 3 * time.Second
	// lookAgain is how often a condition is looked at.
	lookAgain = 150 * time.Millisecond
)

// resources of the kinds that scripts name.
var resources = map[string]schema.GroupVersionResource{
	"d":     {Group: "apps", Version: "v1", Resource: "deployments"},
	"rs":    {Group: "apps", Version: "v1", Resource: "replicasets"},
	"rc":    {Version: "v1", Resource: "replicationcontrollers"},
	"pod":   {Version: "v1", Resource: "pods"},
	"quota": {Version: "v1", Resource: "resourcequotas"},
}

// errNoRevision: rs/NAME:REVISION names a ReplicaSet that does not exist (yet).
var errNoRevision = errors.New("no ReplicaSet has that revision")

// player plays one scenario in one namespace.
type player struct {
	plane     *Plane
	namespace string
}

// target is an object that a script names.
type target struct{ kind, name string }

// Play plays the scenario in a new namespace and records what is left when it
// is at rest, but for the events, which may come late: see [Plane.Events]. It
// leaves the namespace as it is.
func (p *Plane) Play(ctx context.Context, scenario Scenario) (namespace string, record Record, err error) {
	namespace, err = p.newNamespace(ctx, metav1.ObjectMeta{GenerateName: "parity-"})
	if err != nil {
		return "", nil, fmt.Errorf("%s: create a namespace: %w", scenario.Name, err)
	}
	player := &player{plane: p, namespace: namespace}
	for _, step := range scenario.Steps {
		if err := player.step(ctx, step); err != nil {
			return "", nil, fmt.Errorf("%s in %s: %q: %w", scenario.Name, namespace, step.Line, err)
		}
	}
	if err := player.quiet(ctx); err != nil {
		return "", nil, fmt.Errorf("%s in %s: come to rest: %w", scenario.Name, namespace, err)
	}
	record, err = p.record(ctx, namespace)
	return namespace, record, err
}

func (p *Plane) newNamespace(ctx context.Context, meta metav1.ObjectMeta) (string, error) {
	created, err := p.client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	player := &player{plane: p, namespace: created.Name}
	return created.Name, player.until(ctx, func() (string, error) {
		// Pods are refused until it has a service account.
		_, err := p.client.CoreV1().ServiceAccounts(created.Name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "no service account yet", nil
		}
		return "", err
	})
}

func (p *player) step(ctx context.Context, step Step) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	p.plane.touch(p.namespace)
	err := verbs[step.Verb].do(p, ctx, step.Words)
	switch {
	case step.Refused && err == nil:
		return errors.New("it was not refused")
	case step.Refused && errors.As(err, new(apierrors.APIStatus)) && !apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// until asks check until it returns "", and fails with its last words.
func (p *player) until(ctx context.Context, check func() (string, error)) error {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		what, err := check()
		if err != nil || what == "" {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
}

// quiet waits until nothing is left to do and nothing has moved for a while, by
// the informers and, as those may lag on a busy machine, by the API server.
func (p *player) quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	return p.until(ctx, func() (string, error) {
		shown := p.plane.cached(p.namespace)
		if what := shown.unsettled(); what != "" {
			return what, nil
		}
		if still := p.plane.still(p.namespace); still < restTime {
			return fmt.Sprintf("something moved %s ago", still), nil
		}
		now, err := p.plane.live(ctx, p.namespace)
		if err != nil {
			return "", err
		}
		if !maps.Equal(shown.versions(), now.versions()) {
			p.plane.touch(p.namespace)
			return "the informers lag", nil
		}
		return "", nil
	})
}

// find reads KIND/NAME, or rs/NAME:REVISION.
func (p *player) find(ctx context.Context, word string) (target, error) {
	kind, name, _ := strings.Cut(word, "/")
	if resources[kind].Resource == "" || name == "" {
		return target{}, fmt.Errorf("no object: %q", word)
	}
	name, revision, byRevision := strings.Cut(name, ":")
	if !byRevision {
		return target{kind, name}, nil
	}
	list, err := p.plane.client.AppsV1().ReplicaSets(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return target{}, err
	}
	for _, rs := range list.Items {
		owner := metav1.GetControllerOf(&rs)
		if owner != nil && owner.Name == name && rs.Annotations["deployment.kubernetes.io/revision"] == revision {
			return target{kind, rs.Name}, nil
		}
	}
	return target{}, fmt.Errorf("%s: %w", word, errNoRevision)
}

func (p *player) resource(to target) dynamic.ResourceInterface {
	return p.plane.dynamic.Resource(resources[to.kind]).Namespace(p.namespace)
}

func (p *player) get(ctx context.Context, word string) (*unstructured.Unstructured, error) {
	to, err := p.find(ctx, word)
	if err != nil {
		return nil, err
	}
	return p.resource(to).Get(ctx, to.name, metav1.GetOptions{})
}
