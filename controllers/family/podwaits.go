package family

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// reasonNodeNotReady is the reason of a pod whose containers are ready and which is
// not: the node lifecycle controller says so of pods on a node that does not
// answer, and gives no reason.
const reasonNodeNotReady = "NodeNotReady"

// PodWait is what an active pod that is not ready waits for.
type PodWait struct {
	Reason, Message, Image string
	Since                  time.Time
	Container              decision.ContainerState
	// Nominated is the node on which the scheduler makes room for it. Scheduler is one that is not
	// Kubernetes' own, and has said nothing of it. ResourceClaim is as in decision.Pod.
	Nominated, Scheduler, ResourceClaim string
	// NodeNamed is as in decision.Pod.
	NodeNamed bool
}

// PodWaitOf says why a pod is not ready: it has no node, a container waits, has
// ended or does not pass its probe. Ordinary start-up (ContainerCreating) is a
// reason too.
func PodWaitOf(p *corev1.Pod) PodWait {
	if PodReady(p) {
		return PodWait{}
	}
	if c := PodCondition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return PodWait{Reason: redact.Message(c.Reason), Message: redact.Message(c.Message), Since: c.LastTransitionTime.UTC(), Nominated: redact.Line(p.Status.NominatedNodeName)}
	}
	w := PodWait{Since: p.CreationTimestamp.UTC(), NodeNamed: nodeNamed(p)}
	c := PodCondition(p, corev1.PodReady)
	if c != nil {
		w.Reason, w.Message, w.Since = redact.Message(c.Reason), redact.Message(c.Message), c.LastTransitionTime.UTC()
	}
	switch {
	case nodeUnreachable(p):
		w.Reason = reasonNodeNotReady
		return w
	case p.Spec.NodeName == "":
		if scheduler := p.Spec.SchedulerName; scheduler != corev1.DefaultSchedulerName {
			w.Scheduler = redact.Line(scheduler)
		}
		w.ResourceClaim = resourceClaim(p)
	case w.Reason == "ReadinessGatesNotReady":
		w.Message += gateSays(p, w.Message)
	}
	worst, found := worstContainer(p)
	if !found {
		return w
	}
	w.Container, w.Image = worst.state(), redact.Image(worst.status.Image)
	w.Container.Also, w.Container.AlsoRunning = alsoFails(p, worst)
	w.Container.NotSetUp = worst.severity() == starts && setUp(p) == string(corev1.ConditionFalse)
	switch state := &worst.status.State; {
	case state.Waiting != nil && state.Waiting.Reason != "":
		w.Reason, w.Message = redact.Message(state.Waiting.Reason), redact.Message(state.Waiting.Message)
		if !worst.hasRun() {
			w.Since = p.CreationTimestamp.UTC()
		}
	case state.Terminated != nil:
		w.Reason, w.Message = redact.Message(state.Terminated.Reason), ""
	}
	return w
}

// nodeNamed reports whether a pod was created with its node: one that is bound to a node is marked as scheduled, and
// kubelets mark what they know.
func nodeNamed(p *corev1.Pod) bool {
	return p.Spec.NodeName != "" && PodCondition(p, corev1.PodScheduled) == nil
}

// nodeUnreachable reports whether the node of a pod does not answer: its containers are
// ready as far as the kubelet has told, and the pod was marked as not ready since.
// Some clusters say so in a word.
func nodeUnreachable(p *corev1.Pod) bool {
	if p.Status.Reason == "NodeLost" || p.Status.Phase == corev1.PodUnknown {
		return true
	}
	all, c := PodCondition(p, corev1.ContainersReady), PodCondition(p, corev1.PodReady)
	return c != nil && c.Status != corev1.ConditionTrue && c.Reason == "" && all != nil && all.Status == corev1.ConditionTrue && len(p.Spec.ReadinessGates) == 0
}

// resourceClaim is the claim for which Kubernetes' scheduler holds a pod back without a word until it exists: the first
// that is to be made from a template and was not, or else the first that is named.
func resourceClaim(p *corev1.Pod) string {
	named := ""
	for i := range p.Spec.ResourceClaims {
		switch c := &p.Spec.ResourceClaims[i]; {
		case c.ResourceClaimTemplateName != nil:
			if !slices.ContainsFunc(p.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == c.Name }) {
				return diagnosis.ClaimTemplate + redact.Line(*c.ResourceClaimTemplateName)
			}
		case c.ResourceClaimName != nil && named == "":
			named = diagnosis.NamedClaim + redact.Line(*c.ResourceClaimName)
		}
	}
	return named
}

// gateSays is what the condition says that the readiness gate waits for which the kubelet names
// first, "" where nobody has set it.
func gateSays(p *corev1.Pod, message string) string {
	_, gate, _ := strings.Cut(message, `readiness gate "`)
	gate, _, _ = strings.Cut(gate, `"`)
	c := PodCondition(p, corev1.PodConditionType(gate))
	if c == nil || c.Reason == "" && c.Message == "" {
		return ""
	}
	return diagnosis.GateSays + redact.Message(strings.Trim(c.Reason+": "+c.Message, ": "))
}

// container is one container of a pod and what it is for.
type container struct {
	status *corev1.ContainerStatus
	role   decision.Role
}

// How bad the state of a container is. Of several the worst is told: a container
// that waits for another one says nothing of its own.
const (
	fine = iota
	starts
	runs // and is not ready, or has not ended yet
	fails
)

// worstContainer is the container that keeps the pod from being ready, the first of
// those that are equally bad: init containers come first.
func worstContainer(p *corev1.Pod) (worst container, found bool) {
	most := fine
	for c := range containers(p) {
		if n := c.severity(); n > most {
			worst, most = c, n
		}
	}
	return worst, most > fine
}

// alsoFails is the first container that fails beside the worst one, and since when it runs again. One
// that was started again once is not counted, as after its node was: it may stay up.
func alsoFails(p *corev1.Pod, worst container) (name string, running time.Time) {
	for c := range containers(p) {
		if c.status == worst.status || c.severity() != fails {
			continue
		}
		runs := c.status.State.Running
		switch {
		case runs == nil:
			return redact.Message(c.status.Name), time.Time{}
		case c.status.RestartCount > 1:
			return redact.Message(c.status.Name), runs.StartedAt.UTC()
		}
	}
	return "", time.Time{}
}

// containers are those of a pod that its status tells of, init containers first.
func containers(p *corev1.Pod) iter.Seq[container] {
	return func(yield func(container) bool) {
		for i := range p.Status.InitContainerStatuses {
			c := container{&p.Status.InitContainerStatuses[i], decision.RoleInit}
			if isSidecar(p, c.status.Name) {
				c.role = decision.RoleSidecar
			}
			if !yield(c) {
				return
			}
		}
		for i := range p.Status.ContainerStatuses {
			if !yield(container{&p.Status.ContainerStatuses[i], ""}) {
				return
			}
		}
	}
}

func isSidecar(p *corev1.Pod, name string) bool {
	return slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}

// hasRun reports whether the container was ever started: then its pod has been in the way only since it stopped being ready.
func (c container) hasRun() bool {
	return c.status.RestartCount > 0 || c.status.LastTerminationState.Terminated != nil
}

// severity says how bad the container's state is.
func (c container) severity() int {
	s := c.status
	switch state := &s.State; {
	case state.Waiting != nil && (state.Waiting.Reason == "ContainerCreating" || state.Waiting.Reason == "PodInitializing"):
		return starts
	case state.Waiting != nil && state.Waiting.Reason != "":
		return fails
	case state.Terminated != nil && c.role == decision.RoleInit && state.Terminated.ExitCode == 0:
		return fine
	case state.Terminated != nil:
		return fails
	case state.Running == nil, c.role == "" && s.Ready:
		return fine
	case c.role == decision.RoleSidecar && (s.Started == nil || *s.Started):
		return fine
	case s.LastTerminationState.Terminated != nil:
		return fails
	default:
		return runs
	}
}

// state is what the record holds of the container.
func (c container) state() decision.ContainerState {
	s := c.status
	out := decision.ContainerState{Container: redact.Message(s.Name), Role: c.role}
	ended := s.LastTerminationState.Terminated
	switch {
	case s.State.Running != nil:
		out.Running = s.State.Running.StartedAt.UTC()
		if out.Probe = "readiness"; s.Started != nil && !*s.Started {
			out.Probe = "startup"
		}
	case s.State.Terminated != nil:
		ended = s.State.Terminated
	}
	if ended != nil {
		out.Exit = exit(ended, s.RestartCount)
	}
	return out
}

// exit leaves out the message of a container that ran: it is the program's own, and
// may be anything.
func exit(t *corev1.ContainerStateTerminated, restarts int32) *decision.Exit {
	e := &decision.Exit{Code: int64(t.ExitCode), Signal: int64(t.Signal), Reason: redact.Message(t.Reason), Restarts: int64(restarts), At: t.FinishedAt.UTC()}
	if t.Reason == "StartError" || t.Reason == "ContainerCannotRun" {
		e.Message = redact.Message(t.Message)
	}
	return e
}

// TerminatingPod describes a terminating pod.
func TerminatingPod(p *corev1.Pod) decision.TerminatingPod {
	return decision.TerminatingPod{Name: p.Name, Until: p.DeletionTimestamp.UTC(), Node: redact.Line(p.Spec.NodeName), Finalizers: finalizers(p), NodeGone: nodeUnreachable(p)}
}

func finalizers(o metav1.Object) []string {
	var list []string
	for _, f := range o.GetFinalizers() {
		list = append(list, redact.Message(f))
	}
	return list
}

// FirstTerminating are the most terminating pods that a snapshot describes: those whose grace period ends first.
func FirstTerminating(pods []decision.TerminatingPod) []decision.TerminatingPod {
	slices.SortFunc(pods, func(a, b decision.TerminatingPod) int {
		return cmp.Or(a.Until.Compare(b.Until), strings.Compare(a.Name, b.Name))
	})
	return pods[:min(len(pods), decision.MaxTerminatingPods)]
}

// Deletion is what keeps an object that is being deleted, nil where it is not. owned is what
// it owns, of the kind that its loop looks at.
func Deletion[T metav1.Object](o metav1.Object, owned []T) *decision.Deletion {
	at := o.GetDeletionTimestamp()
	if at == nil {
		return nil
	}
	d := &decision.Deletion{Since: at.UTC(), Finalizers: finalizers(o)}
	for _, child := range owned {
		if blocks(child, o) {
			d.Blocking++
		}
	}
	return d
}

// blocks reports whether the garbage collector deletes an owner in the foreground only after the child.
func blocks(child, owner metav1.Object) bool {
	return slices.ContainsFunc(child.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.UID == owner.GetUID() && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
	})
}

// Disruption is how the cluster ended a pod, nil where it did not: the pod goes or
// has failed, and is the target of a disruption or has a reason that only a kubelet
// gives. One that is about to be evicted still serves.
func Disruption(p *corev1.Pod) *decision.Disruption {
	failed := p.Status.Phase == corev1.PodFailed
	if !PodFinished(p) && p.DeletionTimestamp == nil {
		return nil
	}
	var d decision.Disruption
	if c := PodCondition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		d.Target, d.Message, d.At = redact.Message(c.Reason), redact.Message(c.Message), c.LastTransitionTime.UTC()
	}
	if failed && p.Status.Reason != "" {
		d.Reason, d.Message = redact.Message(p.Status.Reason), redact.Message(p.Status.Message)
	}
	if d.Target == "" && d.Reason == "" {
		return nil
	}
	if d.At.IsZero() {
		d.At = lastTransition(p)
	}
	return &d
}

// lastTransition is when anything last became of a pod.
func lastTransition(p *corev1.Pod) time.Time {
	at := p.CreationTimestamp.UTC()
	for i := range p.Status.Conditions {
		if t := p.Status.Conditions[i].LastTransitionTime.UTC(); t.After(at) {
			at = t
		}
	}
	return at
}

// IsRecent reports whether a disruption may still tell what keeps an owner short of pods.
func IsRecent(d *decision.Disruption, now time.Time) bool {
	return d != nil && now.Sub(d.At) < diagnosis.Lately
}
