package rolling

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Ask is what somebody asks for: a request, and the new one where it comes from a file. What
// the request leaves out has its default in a new update, and stays as it is in one that is
// under way.
type Ask struct {
	Old     string
	Request rollingupdate.Request
	New     *corev1.ReplicationController
}

// request is the request as it is written, with an ID of its own.
func (a *Ask) request() (*rollingupdate.Request, error) {
	r := a.Request
	r.Version, r.ID = rollingupdate.RequestVersion, newID()
	if a.New != nil {
		r.To = a.New.Name
	}
	return validated(&r)
}

// flagOf are the flags by which the fields of a request are given.
var flagOf = map[string]string{
	"to": "new name", "image": "--image", "container": "--container", "imagePullPolicy": "--image-pull-policy", "deploymentKey": "--deployment-label-key",
	"surge": "--surge", "unavailable": "--unavailable", "updatePeriod": "--update-period", "timeout": "--timeout", "cleanup": "--cleanup",
}

// validated is a request with its defaults. What is wrong with it is said of the flags.
func validated(r *rollingupdate.Request) (*rollingupdate.Request, error) {
	full, err := rollingupdate.ParseRequest(r.Text())
	var wrong rollingupdate.Problems
	if errors.As(err, &wrong) {
		for i := range wrong {
			wrong[i].Field = cmp.Or(flagOf[wrong[i].Field], wrong[i].Field)
		}
	}
	return full, err
}

func newID() string { return strings.ToLower(rand.Text()[:10]) }

// onto is the request that is under way on rc with what this one changes. What cannot be
// changed in the middle is an error.
func (a *Ask) onto(rc *corev1.ReplicationController, now *rollingupdate.Request) (*rollingupdate.Request, error) {
	if fixed := a.fixed(rc, now); now.Abort || len(fixed) > 0 {
		return nil, underWay(rc, now, fixed)
	}
	next, r := *now, &a.Request
	if r.Surge != nil {
		next.Surge = r.Surge
	}
	if r.Unavailable != nil {
		next.Unavailable = r.Unavailable
	}
	if r.UpdatePeriod != nil {
		next.UpdatePeriod = r.UpdatePeriod
	}
	if r.Timeout != nil {
		next.Timeout = r.Timeout
	}
	if r.Cleanup != "" {
		next.Cleanup = r.Cleanup
	}
	return changedTo(rc, now, &next)
}

// fixed is what is asked for otherwise and cannot be changed in the middle of an update.
func (a *Ask) fixed(rc *corev1.ReplicationController, now *rollingupdate.Request) (list []string) {
	r := a.Request
	differ := func(what, is, asked string) {
		if asked != "" && asked != is {
			list = append(list, fmt.Sprintf("%s %s to %s", what, prose.OrNone(is), asked))
		}
	}
	if a.New != nil {
		r.To = a.New.Name
		if now.Image != "" {
			r.Image = "that of a file"
		}
	}
	differ("image", now.Image, r.Image)
	differ("new name", cmp.Or(now.To, rc.Annotations[rollingupdate.AnnotationNext]), r.To)
	differ("container", cmp.Or(now.Container, onlyContainer(rc)), r.Container)
	differ("pull policy", now.ImagePullPolicy, r.ImagePullPolicy)
	differ("deployment label key", now.DeploymentKey, r.DeploymentKey)
	return list
}

// onlyContainer is the container that needs not be named; "" where there are several.
func onlyContainer(rc *corev1.ReplicationController) string {
	if rc.Spec.Template == nil || len(rc.Spec.Template.Spec.Containers) != 1 {
		return ""
	}
	return rc.Spec.Template.Spec.Containers[0].Name
}

// changedTo is next, if the request on rc may be changed to that.
func changedTo(rc *corev1.ReplicationController, now, next *rollingupdate.Request) (*rollingupdate.Request, error) {
	if _, ends := rc.Annotations[rollingupdate.AnnotationParked]; ends {
		var what string
		switch {
		case next.Abort && !now.Abort:
			what = "take it back"
		case next.Paused && !now.Paused:
			what = "pause it"
		case next.Cleanup != now.Cleanup:
			what = "change the clean-up"
		}
		if what != "" {
			return nil, fmt.Errorf("it is too late to %s: %s is taking over the new pods", what, rc.Name)
		}
	}
	return validated(next)
}

// differences are what may be changed in the middle of an update and differs, as people read it.
func differences(from, to *rollingupdate.Request) (list []string) {
	differ := func(what, was, is string) {
		if was != is {
			list = append(list, fmt.Sprintf("%s %s to %s", what, was, is))
		}
	}
	span := func(p *rollingupdate.Period) string { return prose.Span(time.Duration(*p)) }
	differ("surge", from.Surge.String(), to.Surge.String())
	differ("unavailable", from.Unavailable.String(), to.Unavailable.String())
	differ("update period", span(from.UpdatePeriod), span(to.UpdatePeriod))
	differ("timeout", span(from.Timeout), span(to.Timeout))
	differ("clean-up", string(from.Cleanup), string(to.Cleanup))
	return list
}

// underWay says that something else is under way; fixed is what keeps that from being changed
// to what is asked for, as far as it is known.
func underWay(rc *corev1.ReplicationController, now *rollingupdate.Request, fixed []string) error {
	old := rc.Name
	what, back := "a rolling update to "+now.Goal(), fmt.Sprintf(", or take it back with 'loopscope rolling-update abort %s -n %s' and ask again then", old, rc.Namespace)
	if _, ends := rc.Annotations[rollingupdate.AnnotationParked]; ends {
		back = ", and ask again when that has ended"
	}
	if now.Abort {
		what, back = "the taking back of "+what, ", and ask again when that has ended"
	}
	if len(fixed) > 0 && !now.Abort {
		what = fmt.Sprintf("%s of %s is under way, and in the middle of it this cannot be changed: %s", what, old, prose.And(fixed))
	} else {
		what = fmt.Sprintf("%s of %s is under way", what, old)
	}
	return fmt.Errorf("%s. Watch it with 'loopscope rolling-update status %s -n %s --watch'%s", what, old, rc.Namespace, back)
}

// Started is an update that was asked for.
type Started struct {
	Namespace, Old string
	// ID is that of the request, by which its end is known.
	ID string
	// Request is what stands there now.
	Request *rollingupdate.Request
	// Again is set where it was under way already, and Changed says what is different now.
	Again   bool
	Changed []string
	// Kept is the new one of a file where it existed, so that the file is not applied; Made
	// where it was gone, and was created from the file in the middle of the update. "" for none.
	Kept, Made string
	// Differs is set where that of the file has another template than the one that is kept.
	Differs bool
	// Left is set where kubectl had left it half-done.
	Left bool
	// Back is set where it is to be taken back.
	Back bool
	// Unread is what could not be looked at beforehand; "" for nothing.
	Unread string
	// desired is how many pods it ends with.
	desired int32
	// written is set where this client has made the request, which it may then withdraw.
	written *written
}

// Watch says how to watch it.
func (s *Started) Watch() string {
	return fmt.Sprintf("watch it with 'loopscope rolling-update status %s -n %s --watch'", s.Old, s.Namespace)
}

// Told says what became of an update that was under way already.
func (s *Started) Told() string {
	text := fmt.Sprintf("The rolling update of %s to %s is under way already", s.Old, s.Request.Goal())
	if len(s.Changed) > 0 {
		text += ", and was changed: " + prose.And(s.Changed)
	} else {
		text += ", and stays as it was asked for"
	}
	if s.Request.Paused {
		text += fmt.Sprintf(". It is paused: to go on, 'loopscope rolling-update resume %s -n %s'", s.Old, s.Namespace)
	}
	text += "."
	if s.Kept != "" {
		text += fmt.Sprintf(" %s stays as it was created: the file%s is not applied again.", s.Kept, s.other())
	}
	if s.Made != "" {
		text += fmt.Sprintf(" %s did not exist, and was created from the file.", s.Made)
	}
	return text
}

// Keeps says that the file of a new update is not applied; "" where it is.
func (s *Started) Keeps() string { return keeps(s.Kept, s.other()) }

// Lends says that one pod may be missing although none was to be; "" where that is not so.
func (s *Started) Lends() string { return lends(s.Request, s.desired) }

// lends is Lends of an update to that many pods.
func lends(r *rollingupdate.Request, desired int32) string {
	if r == nil || r.Abort || !zero(r.Surge) {
		return ""
	}
	none := ""
	if !zero(r.Unavailable) {
		if n, err := intstr.GetScaledValueFromIntOrPercent(r.Unavailable, int(desired), false); err != nil || n > 0 || desired <= 0 {
			return ""
		}
		none = fmt.Sprintf(", which of %s is none,", prose.Count(int64(desired), "pod"))
	}
	return fmt.Sprintf("With a surge of 0 and %s unavailable%s nothing could move: one pod may be unavailable.", r.Unavailable.String(), none)
}

func zero(v *intstr.IntOrString) bool { return v != nil && (v.String() == "0" || v.String() == "0%") }

func keeps(name, other string) string {
	if name == "" {
		return ""
	}
	return name + " exists, so the update continues with it as it is: the file" + other + " is not applied."
}

// other says that the file has another template.
func (s *Started) other() string {
	if !s.Differs {
		return ""
	}
	return ", which has another template,"
}

// End says what will become of the two, and how to choose otherwise. chosen is set where
// somebody has.
func (s *Started) End(chosen bool) string {
	end := map[rollingupdate.Cleanup]string{
		rollingupdate.Delete:   fmt.Sprintf("%s is deleted, and %s stays", s.Old, s.Request.To),
		rollingupdate.Rename:   fmt.Sprintf("%s takes over the pods of %s, which is deleted", s.Old, s.Request.To),
		rollingupdate.Preserve: fmt.Sprintf("%s and %s both stay", s.Old, s.Request.To),
	}[s.Request.Cleanup]
	if chosen {
		return "At the end " + end + "."
	}
	return fmt.Sprintf("At the end %s, as kubectl would have done. To choose otherwise: 'loopscope rolling-update resume %s -n %s --cleanup=%s'.", end, s.Old, s.Namespace, otherThan(s.Request.Cleanup))
}

func otherThan(c rollingupdate.Cleanup) string {
	var list []string
	for _, other := range []rollingupdate.Cleanup{rollingupdate.Delete, rollingupdate.Rename, rollingupdate.Preserve} {
		if other != c {
			list = append(list, string(other))
		}
	}
	return strings.Join(list, "|")
}
