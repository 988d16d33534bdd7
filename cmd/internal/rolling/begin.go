package rolling

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Client talks to one namespace of a cluster. It is safe for concurrent use.
type Client struct {
	API       kubernetes.Interface
	Namespace string
}

// fieldManager signs what is written.
const fieldManager = "loopscope-rolling-update"

// New talks to a namespace of a cluster.
func New(config *rest.Config, namespace string) (*Client, error) {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Client{API: api, Namespace: namespace}, nil
}

// written is what a client has written to ask for an update.
type written struct {
	// on is the ReplicationController with the request, and before what the loop had written
	// there until then.
	on, before string
	// made is the new one, where it was created for the request.
	made *corev1.ReplicationController
}

// Begin writes the request, and before that the new one where it comes from a file. Where an
// update of the same is under way, it is that one, with what is asked for otherwise as far as
// that can be changed. An error says what stands in the way, a *Stuck that it cannot be carried out.
func (c *Client) Begin(ctx context.Context, a Ask) (Started, error) {
	old, err := c.getOld(ctx, a.Old)
	if err != nil {
		return Started{}, err
	}
	switch now, err := requestOf(old); {
	case err != nil:
		return Started{}, err
	case now != nil:
		return c.again(ctx, &a, old, now)
	}
	f, err := c.foresee(ctx, &a)
	switch {
	case err != nil:
		return Started{}, err
	case f.Invalid() != "":
		return Started{}, &Stuck{f.Sentence.At(f.Now)}
	}
	made, err := c.prepare(ctx, f)
	if err != nil {
		return Started{}, err
	}
	own := &written{on: a.Old, made: made}
	if err := c.write(ctx, a.Old, func(rc *corev1.ReplicationController) error {
		switch now, err := requestOf(rc); {
		case err != nil:
			return err
		case now != nil: // Somebody was faster.
			return underWay(rc, now, nil)
		}
		own.before = marked(rc)
		annotate(rc, rollingupdate.AnnotationRequest, f.request.Text())
		return nil
	}); err != nil {
		if err := c.settle(ctx, a.Old, f.request.ID, made, err); err != nil {
			return Started{}, err
		}
	}
	s := Started{Namespace: c.Namespace, Old: a.Old, ID: f.request.ID, Request: f.request, Unread: f.Unread, desired: f.desired(), written: own}
	if f.kept() != "" {
		s.Kept, s.Differs = f.kept(), c.differs(ctx, f.New, a.New)
	}
	return s, nil
}

// again takes up the update of old that is under way, and changes its request where something
// else is asked for.
func (c *Client) again(ctx context.Context, a *Ask, old *corev1.ReplicationController, now *rollingupdate.Request) (Started, error) {
	id := now.ID
	s := Started{Namespace: c.Namespace, Old: a.Old, ID: id, Again: true, desired: desiredOf(old, nil)}
	if _, err := a.onto(old, now); err != nil {
		return Started{}, err
	}
	made, err := c.anew(ctx, a, old, &s)
	if err != nil {
		return Started{}, err
	}
	err = c.write(ctx, a.Old, func(rc *corev1.ReplicationController) error {
		now, err := requestOf(rc)
		switch {
		case err != nil:
			return err
		case now == nil || now.ID != id:
			return errMoved(c.Namespace, a.Old)
		}
		if s.Request, err = a.onto(rc, now); err != nil {
			return err
		}
		if s.Changed = differences(now, s.Request); len(s.Changed) > 0 {
			annotate(rc, rollingupdate.AnnotationRequest, s.Request.Text())
		}
		return nil
	})
	if err != nil && made != nil {
		if err := c.settle(ctx, a.Old, id, made, err); err != nil {
			return Started{}, err
		}
		err = fmt.Errorf("%w\n%s did not exist and was created from the file: it stays", err, made.Name)
	}
	if err != nil {
		return Started{}, err
	}
	return s, nil
}

// anew creates the new one of a file where it is gone in the middle of the update; nil for
// nothing. One that is gone because the old one takes over its pods is not needed any more.
func (c *Client) anew(ctx context.Context, a *Ask, old *corev1.ReplicationController, s *Started) (*corev1.ReplicationController, error) {
	if _, ends := old.Annotations[rollingupdate.AnnotationParked]; ends || a.New == nil {
		return nil, nil
	}
	switch is, err := c.find(ctx, a.New.Name); {
	case err != nil:
		return nil, err
	case is != nil:
		s.Kept, s.Differs, s.desired = is.Name, c.differs(ctx, is, a.New), desiredOf(old, is)
		return nil, nil
	}
	s.Made = a.New.Name
	n, err := prepared(old, a.New)
	if err != nil {
		return nil, err
	}
	s.desired = desiredOf(old, n)
	return c.create(ctx, n)
}

// differs reports whether the template of a file is another one than that which is there. The
// API server completes it for that, and writes nothing; where it does not, that is not known.
func (c *Client) differs(ctx context.Context, is, of *corev1.ReplicationController) bool {
	n := is.DeepCopy()
	n.Spec.Template = of.Spec.Template.DeepCopy()
	n, err := c.checked(ctx, n)
	return err == nil && !equality.Semantic.DeepEqual(n.Spec.Template, is.Spec.Template)
}

// settle finds out what became of a request where err came instead of a reply: nil where it
// stands. What was created for one that does not is deleted.
func (c *Client) settle(ctx context.Context, old, id string, made *corev1.ReplicationController, err error) error {
	switch stands, unread := c.stands(ctx, old, id); {
	case unread != nil:
		return c.unsettled(old, made, err)
	case stands:
		return nil
	}
	return errors.Join(err, c.unmake(ctx, made))
}

// stands reports whether a request stands on one.
func (c *Client) stands(ctx context.Context, name, id string) (bool, error) {
	rc, err := c.get(ctx, name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now, _ := requestOf(rc)
	return now != nil && now.ID == id, nil
}

// unsettled is err, and that it cannot be read whether a request stands.
func (c *Client) unsettled(old string, made *corev1.ReplicationController, err error) error {
	err = fmt.Errorf("%w\nWhether the request stands is not known: 'loopscope rolling-update status %s -n %s' says it", err, old, c.Namespace)
	if made != nil {
		err = fmt.Errorf("%w. %s was created for it, and is kept", err, made.Name)
	}
	return err
}

// prepare creates the new one of a file without pods, as kubectl did. It is nil where there is
// no file, or where it was created so before.
func (c *Client) prepare(ctx context.Context, f *Foreseen) (*corev1.ReplicationController, error) {
	if !f.file || f.There {
		return nil, nil
	}
	return c.create(ctx, f.New)
}

func (c *Client) create(ctx context.Context, n *corev1.ReplicationController) (*corev1.ReplicationController, error) {
	made, err := c.API.CoreV1().ReplicationControllers(c.Namespace).Create(ctx, n, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil {
		return nil, err // Without the empty object that comes with it.
	}
	return made, nil
}

// prepared is the new one of a file as it is created: without pods, and with the notes that
// say whom it replaces and how many pods it is to have.
func prepared(old, of *corev1.ReplicationController) (*corev1.ReplicationController, error) {
	n := of.DeepCopy()
	desired := original(old)
	if of.Spec.Replicas != nil {
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
	case of.Spec.Replicas != nil && desired <= 0: // Whoever writes that does not ask for the old size.
		return nil, fmt.Errorf("the file asks for spec.replicas %d, and an update ends with one pod at least: give a higher number, or omit it to have as many as %s", desired, old.Name)
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

// desiredOf is how many pods an update ends with: what is written on the new one, or else the size that the old
// one had. Either may be nil.
func desiredOf(old, to *corev1.ReplicationController) int32 {
	if to != nil {
		if n, err := strconv.ParseInt(to.Annotations[rollingupdate.AnnotationDesired], 10, 32); err == nil {
			return int32(n)
		}
	}
	if old == nil {
		return 0
	}
	return original(old)
}

// original is the size of the old one at the start of its update, or as it is before any.
func original(old *corev1.ReplicationController) int32 {
	if n, err := strconv.ParseInt(old.Annotations[rollingupdate.AnnotationOriginal], 10, 32); err == nil && n >= 0 {
		return int32(n)
	}
	return sizeOf(old)
}

func sizeOf(rc *corev1.ReplicationController) int32 {
	if rc.Spec.Replicas == nil {
		return 1
	}
	return *rc.Spec.Replicas
}

// write changes one of them, on the newest version of it. What stays as it is is not sent.
func (c *Client) write(ctx context.Context, name string, change func(*corev1.ReplicationController) error) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		rc, err := c.get(ctx, name)
		if err != nil {
			return err
		}
		was := rc.DeepCopy()
		if err := change(rc); err != nil || equality.Semantic.DeepEqual(was, rc) {
			return err
		}
		_, err = c.API.CoreV1().ReplicationControllers(c.Namespace).Update(ctx, rc, metav1.UpdateOptions{FieldManager: fieldManager})
		return err
	})
}

func (c *Client) get(ctx context.Context, name string) (*corev1.ReplicationController, error) {
	rc, err := c.API.CoreV1().ReplicationControllers(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no ReplicationController %s in namespace %s: %w", name, c.Namespace, err)
	case err != nil:
		return nil, err // Without the empty object that comes with it.
	}
	return rc, nil
}

// getOld is the one that is to be replaced. Where it is gone and another one still replaces it, the
// error says how to finish that.
func (c *Client) getOld(ctx context.Context, name string) (*corev1.ReplicationController, error) {
	rc, err := c.get(ctx, name)
	if !apierrors.IsNotFound(err) {
		return rc, err
	}
	is, none := c.standing(ctx, name)
	switch {
	case none != nil:
		return nil, err
	case is.left:
		return nil, fmt.Errorf("%s is gone, and %s was left replacing it half-way: finish that first with 'loopscope rolling-update resume %s -n %s'", name, is.on.Name, name, c.Namespace)
	}
	return nil, fmt.Errorf("%s is gone, and the update to %s is not over: see it with 'loopscope rolling-update status %s -n %s'", name, is.on.Name, name, c.Namespace)
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
		return nil, fmt.Errorf("the request on %s cannot be read (%s): remove it with 'kubectl -n %s annotate rc %s %s-'", rc.Name, prose.Clip(err.Error(), 160), rc.Namespace, rc.Name, rollingupdate.AnnotationRequest)
	}
	return r, nil
}
