package rolling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Steer changes the request of an update that is under way, or asks for the rest of one that
// kubectl left half-done. change says why it cannot be changed so; it may be called again where
// somebody else writes meanwhile.
func (c *Client) Steer(ctx context.Context, name string, change func(*rollingupdate.Request) error) (Started, error) {
	is, err := c.standing(ctx, name)
	if err != nil {
		return Started{}, err
	}
	s := Started{Namespace: c.Namespace, Old: name, Left: is.left}
	if s.Unread, err = c.mayGoOn(ctx, name, is, change); err != nil {
		return Started{}, err
	}
	err = c.write(ctx, is.on.Name, func(rc *corev1.ReplicationController) error {
		now, err := requestOf(rc)
		if err != nil {
			return err
		}
		switch stands := now != nil && now.ID == is.request.ID; {
		case is.left && now == nil:
			now, s.written = is.request, &written{on: rc.Name, before: marked(rc)}
		case !stands:
			return errMoved(c.Namespace, name)
		}
		next := *now
		if err := change(&next); err != nil {
			return err
		}
		if next.ID == "" {
			next.ID = newID() // By which its end is known.
		}
		if s.Request, err = changedTo(rc, now, &next); err != nil {
			return err
		}
		s.ID, s.Back, s.Changed = next.ID, next.Abort, differences(now, s.Request)
		annotate(rc, rollingupdate.AnnotationRequest, s.Request.Text())
		return nil
	})
	return s, err
}

// mayGoOn looks for who would work against the rest of what kubectl left half-done. Nobody keeps
// it from being taken back, but it may be too late for that.
func (c *Client) mayGoOn(ctx context.Context, name string, is standing, change func(*rollingupdate.Request) error) (unread string, err error) {
	next := *is.request
	switch err := change(&next); {
	case err != nil || !is.left || next.Paused:
		return "", err
	case next.Abort:
		_, err := c.foreseeSteered(ctx, name, is, change)
		return "", err
	}
	return c.preflight(ctx, is.on, next.To)
}

// tooLate is an error where the rest of what kubectl left is to be taken back and no longer can
// be: its loop would finish it instead.
func (f *Foreseen) tooLate(name string, is standing) error {
	if !is.left || !f.request.Abort || len(f.Rounds) == 0 {
		return nil
	}
	if answer, asked := f.Rounds[0].Verdict.Path.Answer("RU-5.abort"); !asked || answer == decision.Yes {
		return nil
	}
	return fmt.Errorf("it is too late to take the update of %s back: %s has replaced it; finish it with 'loopscope rolling-update resume %s -n %s'", name, f.request.To, name, is.on.Namespace)
}

// standing is the request of an update and the ReplicationController that has it: the old one,
// or where that is gone the one that replaces it.
type standing struct {
	on      *corev1.ReplicationController
	request *rollingupdate.Request
	// old and new are the two; nil for one that does not exist.
	old, new *corev1.ReplicationController
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
		return standing{on: on, request: r, old: l.old, new: l.new}, err
	}
	rest := rollingupdate.Request{To: on.Annotations[rollingupdate.AnnotationNext], Cleanup: rollingupdate.Delete, Paused: true}
	if l.new != nil {
		rest.To = l.new.Name
		if rest.DeploymentKey = madeWith(name, l.new); rest.DeploymentKey != "" || l.old == nil { // kubectl deletes the old one first only to rename.
			rest.Cleanup = rollingupdate.Rename
		}
	}
	if _, begun := on.Annotations[rollingupdate.AnnotationOriginal]; begun && rest.To == "" {
		return standing{}, fmt.Errorf("an update of %s was left half-done, and nothing says to what, so it can be neither finished nor taken back: see what to do with 'loopscope rolling-update status %s -n %s'", name, name, c.Namespace)
	}
	if rest.To == "" {
		return standing{}, fmt.Errorf("no rolling update of %s is under way", name)
	}
	r, err := (&Ask{Request: rest}).request()
	return standing{on: on, request: r, old: l.old, new: l.new, left: true}, err
}

// hashes are what kubectl, and the loop, append to a name and give to a label: an MD5 sum, or
// letters and digits that make no words.
var hashes = regexp.MustCompile(`^([0-9a-f]{32}|[24-9bcdf-hj-np-tv-xz]{7,10})$`)

// madeWith is the label by which somebody told the pods of one from those of old who had given
// only an image, so that the old name is kept; "" where a name was given.
func madeWith(old string, n *corev1.ReplicationController) string {
	hash, is := strings.CutPrefix(n.Name, old+"-")
	if !is || !hashes.MatchString(hash) {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(n.Spec.Selector)) {
		if n.Spec.Selector[key] == hash {
			return key
		}
	}
	return ""
}

// errMoved is where a request has ended or was replaced while it was to be changed.
func errMoved(namespace, name string) error {
	return fmt.Errorf("the rolling update of %s has ended, or was asked for anew, at this moment: look at it with 'loopscope rolling-update status %s -n %s'", name, name, namespace)
}

// errReacted is where a request cannot be withdrawn any more.
var errReacted = errors.New("somebody has begun to carry it out")

// Withdraw removes a request that this client has made, and what it has created for it. Where
// somebody has reacted to the request, or changed it, it is an error and nothing is removed.
func (c *Client) Withdraw(ctx context.Context, s Started) error {
	if err := c.retract(ctx, s); err != nil {
		return err
	}
	return c.unmake(ctx, s.written.made)
}

// retract removes the request.
func (c *Client) retract(ctx context.Context, s Started) error {
	if s.written == nil {
		return errors.New("the request stood there before")
	}
	return c.write(ctx, s.written.on, func(rc *corev1.ReplicationController) error {
		now, _ := requestOf(rc)
		if now == nil || now.ID != s.ID || marked(rc) != s.written.before {
			return errReacted
		}
		delete(rc.Annotations, rollingupdate.AnnotationRequest)
		return nil
	})
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
