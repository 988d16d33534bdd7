package rolling

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// Steer changes the request of an update that is under way, or asks for the rest of one that
// kubectl left half-done. change says why it cannot be changed so; it may be called again where
// somebody else writes meanwhile.
func (c *Client) Steer(ctx context.Context, name string, change func(*rollingupdate.Request) error) (Started, error) {
	is, err := c.standing(ctx, name)
	if err != nil {
		return Started{}, err
	}
	s := Started{Old: name}
	err = c.write(ctx, is.on, func(rc *corev1.ReplicationController) error {
		now, err := requestOf(rc)
		if err != nil {
			return err
		}
		next := *is.request
		switch stands := now != nil && now.ID == is.request.ID; {
		case is.left && now == nil:
			s.written = &written{on: is.on, before: marked(rc)}
		case stands:
			next = *now
		default:
			return fmt.Errorf("it has ended, or was asked for anew, at this moment: look at it with 'loopscope rolling-update status %s'", name)
		}
		if err := change(&next); err != nil {
			return err
		}
		if next.ID == "" {
			next.ID = newID() // By which its end is known.
		}
		s.ID, s.Back = next.ID, next.Abort
		annotate(rc, rollingupdate.AnnotationRequest, next.Text())
		return nil
	})
	return s, err
}

// standing is the request of an update and the ReplicationController that has it: the old one,
// or where that is gone the one that replaces it.
type standing struct {
	on      string
	request *rollingupdate.Request
	// left is set where kubectl left the update half-done: nobody has asked for the rest yet,
	// so the request stands nowhere. It counts as paused.
	left bool
}

func (c *Client) standing(ctx context.Context, name string) (standing, error) {
	list, err := c.API.CoreV1().ReplicationControllers(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return standing{}, err
	}
	l := Look{}
	l.read(list.Items, name)
	on := l.bearer()
	if on == nil {
		return standing{}, fmt.Errorf("%w ReplicationController %s in namespace %s, and none that replaces it", errNone, name, c.Namespace)
	}
	if r, err := requestOf(on); r != nil || err != nil {
		return standing{on: on.Name, request: r}, err
	}
	to, cleanup := on.Annotations[rollingupdate.AnnotationNext], rollingupdate.Delete
	switch {
	case l.old == nil: // kubectl was interrupted while it renamed.
		to, cleanup = l.new.Name, rollingupdate.Rename
	case l.new != nil:
		to = l.new.Name
	}
	if to == "" {
		return standing{}, fmt.Errorf("no rolling update of %s is under way", name)
	}
	a := Ask{Request: rollingupdate.Request{To: to, Cleanup: cleanup, Paused: true}}
	r, err := a.request()
	return standing{on: on.Name, request: r, left: true}, err
}

// errReacted is where a request cannot be withdrawn any more.
var errReacted = errors.New("somebody has begun to carry it out")

// Withdraw removes a request that this client has made, and what it has created for it. Where
// somebody has reacted to the request, or changed it, it is an error and nothing is removed.
func (c *Client) Withdraw(ctx context.Context, s Started) error {
	if s.written == nil {
		return errors.New("the request stood there before")
	}
	err := c.write(ctx, s.written.on, func(rc *corev1.ReplicationController) error {
		now, _ := requestOf(rc)
		if now == nil || now.ID != s.ID || marked(rc) != s.written.before {
			return errReacted
		}
		delete(rc.Annotations, rollingupdate.AnnotationRequest)
		return nil
	})
	if err != nil {
		return err
	}
	return c.unmake(ctx, s.written.made)
}

// unmake deletes one that was created for a request, unless somebody has given it pods.
func (c *Client) unmake(ctx context.Context, made *corev1.ReplicationController) error {
	if made == nil {
		return nil
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		rc, err := c.get(ctx, made.Name)
		if err != nil || rc.UID != made.UID || sizeOf(rc) > 0 {
			return err
		}
		return c.API.CoreV1().ReplicationControllers(c.Namespace).Delete(ctx, rc.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &rc.UID, ResourceVersion: &rc.ResourceVersion},
		})
	})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s was created for the update and is still there: delete it with 'kubectl delete rc %s -n %s' (%w)", made.Name, made.Name, c.Namespace, err)
}
