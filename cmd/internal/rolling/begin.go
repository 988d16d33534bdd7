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
	// before is what stood there when nobody had reacted to the request yet; nil where
	// somebody has.
	before *mark
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
	if now, _ := requestOf(old); now != nil {
		if !sameGoal(now, request) {
			return Started{}, underWay(a.Old, now)
		}
		return Started{Old: a.Old, ID: now.ID, Again: true}, nil
	}
	if err := c.check(ctx, a); err != nil {
		return Started{}, err
	}
	n, err := c.prepare(ctx, old, a.New)
	if err != nil {
		return Started{}, err
	}
	if n == nil {
		n, _ = c.get(ctx, request.To)
	}
	before := markOf(old, n)
	if err := c.write(ctx, a.Old, func(rc *corev1.ReplicationController) error {
		if now, _ := requestOf(rc); now != nil { // Somebody was faster.
			return underWay(a.Old, now)
		}
		annotate(rc, rollingupdate.AnnotationRequest, request.Text())
		return nil
	}); err != nil {
		return Started{}, err
	}
	return Started{Old: a.Old, ID: request.ID, before: &before}, nil
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

// prepare creates the new one of a file without pods, as kubectl did, or takes the one that
// was created so before. It is nil where there is no file.
func (c *Client) prepare(ctx context.Context, old, of *corev1.ReplicationController) (*corev1.ReplicationController, error) {
	if of == nil {
		return nil, nil
	}
	n, err := prepared(old, of)
	if err != nil {
		return nil, err
	}
	made, err := c.API.CoreV1().ReplicationControllers(c.Namespace).Create(ctx, n, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	is, err := c.get(ctx, n.Name)
	if err != nil {
		return nil, err
	}
	if is.Annotations[rollingupdate.AnnotationSource] != n.Annotations[rollingupdate.AnnotationSource] {
		return nil, fmt.Errorf("ReplicationController %s exists, and was not made to replace %s: delete it, or choose another name", n.Name, old.Name)
	}
	return is, nil
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

// Steer changes the request of an update that is under way, or asks for the rest of one that
// kubectl left half-done. change says why it cannot be changed so.
func (c *Client) Steer(ctx context.Context, name string, change func(*rollingupdate.Request) error) (Started, error) {
	on, r, err := c.request(ctx, name)
	if err != nil {
		return Started{}, err
	}
	old, err := c.get(ctx, on)
	if err != nil {
		return Started{}, err
	}
	n, _ := c.get(ctx, r.To)
	before := markOf(old, n)
	err = c.write(ctx, on, func(rc *corev1.ReplicationController) error {
		if now, _ := requestOf(rc); now != nil {
			r = now
		}
		if err := change(r); err != nil {
			return err
		}
		annotate(rc, rollingupdate.AnnotationRequest, r.Text())
		return nil
	})
	return Started{Old: name, ID: r.ID, before: &before}, err
}

// request is that of an update, and the ReplicationController on which it stands: the old one,
// or where that is gone the one that replaces it. Where there is none it is one for the rest.
func (c *Client) request(ctx context.Context, name string) (on string, r *rollingupdate.Request, err error) {
	old, err := c.get(ctx, name)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", nil, err
	}
	list, listErr := c.API.CoreV1().ReplicationControllers(c.Namespace).List(ctx, metav1.ListOptions{})
	if listErr != nil {
		return "", nil, listErr
	}
	rest := func(to string, cleanup rollingupdate.Cleanup) (*rollingupdate.Request, error) {
		a := Ask{Request: rollingupdate.Request{To: to, Cleanup: cleanup}}
		return a.request()
	}
	if old != nil {
		if r, err := requestOf(old); r != nil || err != nil {
			return name, r, err
		}
		if next := old.Annotations[rollingupdate.AnnotationNext]; next != "" {
			r, err = rest(next, rollingupdate.Delete)
			return name, r, err
		}
	}
	for i := range list.Items {
		rc := &list.Items[i]
		from, uid, _ := strings.Cut(rc.Annotations[rollingupdate.AnnotationSource], ":")
		switch {
		case from != name || old != nil && uid != string(old.UID):
		case old != nil:
			r, err = rest(rc.Name, rollingupdate.Delete)
			return name, r, err
		default: // kubectl was interrupted while it renamed.
			r, err = rest(rc.Name, rollingupdate.Rename)
			return rc.Name, r, err
		}
	}
	if old == nil {
		return "", nil, err
	}
	return "", nil, fmt.Errorf("no rolling update of %s is under way", name)
}

// Withdraw removes a request to which nobody has reacted.
func (c *Client) Withdraw(ctx context.Context, s Started) error {
	return c.write(ctx, s.Old, func(rc *corev1.ReplicationController) error {
		now, _ := requestOf(rc)
		if now == nil || now.ID != s.ID {
			return errors.New("the request was replaced by another one")
		}
		delete(rc.Annotations, rollingupdate.AnnotationRequest)
		return nil
	})
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
