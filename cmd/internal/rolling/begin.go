package rolling

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/loopscope/loopscope/cmd/internal/migrate"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/rollingupdate/effects"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Client talks to one namespace of a cluster. It is safe for concurrent use.
type Client struct {
	API       kubernetes.Interface
	Namespace string
}

// New talks to a namespace of a cluster.
func New(config *rest.Config, namespace string) (*Client, error) {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Client{API: api, Namespace: namespace}, nil
}

// Ask is what somebody asks for: a request, and the new one where it comes from a file.
type Ask struct {
	Old     string
	Request rollingupdate.Request
	New     *corev1.ReplicationController
}

// Started is an update that was asked for.
type Started struct {
	Old string
	// ID is that of the request, by which its end is known.
	ID string
	// Again is set where it was under way already.
	Again bool
	// Back is set where it is to be taken back.
	Back bool
	// written is set where this client has made the request, which it may then withdraw.
	written *written
}

// written is what a client has written to ask for an update.
type written struct {
	// on is the ReplicationController with the request, and before what the loop had written
	// there until then.
	on, before string
	// made is the new one, where it was created for the request.
	made *corev1.ReplicationController
}

// Begin writes the request, and before that the new one where it comes from a file. An update
// of the same that is under way is what is asked for. An error says what stands in the way;
// nothing is overwritten.
func (c *Client) Begin(ctx context.Context, a Ask) (Started, error) {
	old, err := c.get(ctx, a.Old)
	if err != nil {
		return Started{}, err
	}
	request, err := a.request()
	if err != nil {
		return Started{}, err
	}
	now, err := requestOf(old)
	if err != nil {
		return Started{}, err
	}
	if now != nil {
		if !sameGoal(now, request) {
			return Started{}, underWay(a.Old, now)
		}
		return Started{Old: a.Old, ID: now.ID, Again: true}, nil
	}
	if err := c.check(ctx, a); err != nil {
		return Started{}, err
	}
	made, err := c.prepare(ctx, old, a.New)
	if err != nil {
		return Started{}, err
	}
	own := &written{on: a.Old, made: made}
	if err := c.write(ctx, a.Old, func(rc *corev1.ReplicationController) error {
		switch now, err := requestOf(rc); {
		case err != nil:
			return err
		case now != nil: // Somebody was faster.
			return underWay(a.Old, now)
		}
		own.before = marked(rc)
		annotate(rc, rollingupdate.AnnotationRequest, request.Text())
		return nil
	}); err != nil {
		return Started{}, errors.Join(err, c.unmake(ctx, made))
	}
	return Started{Old: a.Old, ID: request.ID, written: own}, nil
}

// check asks the loop itself whether it could carry that out.
func (c *Client) check(ctx context.Context, a Ask) error {
	list, err := c.Plan(ctx, a)
	if err != nil {
		return err
	}
	t, err := effects.ExplainWith(ctx, c.API, c.Namespace, a.Old, engine.Options{}, list...)
	if err != nil {
		return err
	}
	if l := (&Look{Trace: t, Now: time.Now()}); l.Invalid() != "" {
		return errors.New(l.Sentence.At(l.Now))
	}
	return nil
}

// Plan is what Begin would write: the old one with its request, and the new one where it
// comes from a file. Nothing is written.
func (c *Client) Plan(ctx context.Context, a Ask) ([]*corev1.ReplicationController, error) {
	old, err := c.get(ctx, a.Old)
	if err != nil {
		return nil, err
	}
	if err := migrate.TakenOver(old); err != nil {
		return nil, err
	}
	request, err := a.request()
	if err != nil {
		return nil, err
	}
	if now, _ := requestOf(old); now != nil && !sameGoal(now, request) {
		return nil, underWay(a.Old, now)
	}
	list := []*corev1.ReplicationController{old.DeepCopy()}
	annotate(list[0], rollingupdate.AnnotationRequest, request.Text())
	if a.New != nil {
		n, err := prepared(old, a.New)
		if err != nil {
			return nil, err
		}
		n.UID = "not-created"
		list = append(list, n)
	}
	return list, nil
}

// request is the request as it is written, with an ID of its own.
func (a *Ask) request() (*rollingupdate.Request, error) {
	r := a.Request
	r.Version, r.ID = rollingupdate.RequestVersion, newID()
	if a.New != nil {
		r.To = a.New.Name
	}
	return rollingupdate.ParseRequest(r.Text())
}

func newID() string { return strings.ToLower(rand.Text()[:10]) }

// sameGoal reports whether two requests lead to the same.
func sameGoal(a, b *rollingupdate.Request) bool {
	return a.To == b.To && a.Image == b.Image && a.Container == b.Container && a.Cleanup == b.Cleanup && !a.Abort
}

func underWay(old string, now *rollingupdate.Request) error {
	what := "a rolling update to " + goalOf(now)
	if now.Abort {
		what = "the taking back of " + what
	}
	return fmt.Errorf("%s of %s is under way: watch it with 'loopscope rolling-update status %s --watch', or take it back with 'loopscope rolling-update abort %s'", what, old, old, old)
}

func goalOf(r *rollingupdate.Request) string {
	if r.Image != "" {
		return "image " + r.Image
	}
	return r.To
}

// prepare creates the new one of a file without pods, as kubectl did. It is nil where there is
// no file, or where it was created so before.
func (c *Client) prepare(ctx context.Context, old, of *corev1.ReplicationController) (*corev1.ReplicationController, error) {
	if of == nil {
		return nil, nil
	}
	n, err := prepared(old, of)
	if err != nil {
		return nil, err
	}
	made, err := c.API.CoreV1().ReplicationControllers(c.Namespace).Create(ctx, n, metav1.CreateOptions{})
	switch {
	case err == nil:
		return made, nil
	case !apierrors.IsAlreadyExists(err):
		return nil, err // Without the empty object that comes with it.
	}
	is, err := c.get(ctx, n.Name)
	if err != nil {
		return nil, err
	}
	if is.Annotations[rollingupdate.AnnotationSource] != n.Annotations[rollingupdate.AnnotationSource] {
		return nil, fmt.Errorf("ReplicationController %s exists, and was not made to replace %s: delete it, or choose another name", n.Name, old.Name)
	}
	return nil, nil
}

// prepared is the new one of a file as it is created: without pods, and with the notes that
// say whom it replaces and how many pods it is to have.
func prepared(old, of *corev1.ReplicationController) (*corev1.ReplicationController, error) {
	n := of.DeepCopy()
	desired := sizeOf(old)
	if of.Spec.Replicas != nil && *of.Spec.Replicas > 0 {
		desired = *of.Spec.Replicas
	}
	selector := n.Spec.Selector
	if len(selector) == 0 && n.Spec.Template != nil {
		selector = n.Spec.Template.Labels // As the API server defaults it.
	}
	apart := false
	for key, value := range selector {
		is, has := old.Spec.Selector[key]
		apart = apart || has && is != value
	}
	switch {
	case n.Name == old.Name:
		return nil, fmt.Errorf("%s is the name of the old one: give the new one in the file another name", old.Name)
	case n.Namespace != "" && n.Namespace != old.Namespace:
		return nil, fmt.Errorf("the file is of namespace %s, and %s is in %s", n.Namespace, old.Name, old.Namespace)
	case desired == 0:
		return nil, fmt.Errorf("%s has no pods, and the file asks for none: give spec.replicas", old.Name)
	case !apart:
		return nil, fmt.Errorf("the selector of %s has no label that %s has with another value, so each would take the other's pods: give the new one such a label, in selector and template", n.Name, old.Name)
	}
	n.Namespace, n.ResourceVersion, n.Spec.Replicas = old.Namespace, "", new(int32)
	annotate(n, rollingupdate.AnnotationSource, old.Name+":"+string(old.UID))
	annotate(n, rollingupdate.AnnotationDesired, strconv.Itoa(int(desired)))
	return n, nil
}

func sizeOf(rc *corev1.ReplicationController) int32 {
	if rc.Spec.Replicas == nil {
		return 1
	}
	return *rc.Spec.Replicas
}

// write changes one of them, on the newest version of it.
func (c *Client) write(ctx context.Context, name string, change func(*corev1.ReplicationController) error) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		rc, err := c.get(ctx, name)
		if err != nil {
			return err
		}
		if err := change(rc); err != nil {
			return err
		}
		_, err = c.API.CoreV1().ReplicationControllers(c.Namespace).Update(ctx, rc, metav1.UpdateOptions{})
		return err
	})
}

func (c *Client) get(ctx context.Context, name string) (*corev1.ReplicationController, error) {
	if name == "" {
		return nil, nil
	}
	rc, err := c.API.CoreV1().ReplicationControllers(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no ReplicationController %s in namespace %s: %w", name, c.Namespace, err)
	case err != nil:
		return nil, err // Without the empty object that comes with it.
	}
	return rc, nil
}

func annotate(rc *corev1.ReplicationController, key, value string) {
	if rc.Annotations == nil {
		rc.Annotations = map[string]string{}
	}
	rc.Annotations[key] = value
}

// requestOf is the request on one of them; nil for none.
func requestOf(rc *corev1.ReplicationController) (*rollingupdate.Request, error) {
	text, has := rc.Annotations[rollingupdate.AnnotationRequest]
	if !has {
		return nil, nil
	}
	r, err := rollingupdate.ParseRequest(text)
	if err != nil {
		return nil, fmt.Errorf("the request on %s cannot be read (%s): remove it with 'kubectl annotate rc %s %s-'", rc.Name, prose.Clip(err.Error(), 160), rc.Name, rollingupdate.AnnotationRequest)
	}
	return r, nil
}
