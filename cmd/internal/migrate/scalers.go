package migrate

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// The kinds that an autoscaler is pointed to.
const (
	ofController = "ReplicationController"
	ofDeployment = "Deployment"
)

type scaler = autoscalingv2.HorizontalPodAutoscaler

// readScalers reads the autoscalers, or why they cannot be read.
func (c *Cluster) readScalers(ctx context.Context, client kubernetes.Interface, namespace string) {
	list, err := client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, metav1.ListOptions{})
	if c.Unread = err; err == nil {
		c.Scalers = list.Items
	}
}

// unreadable says why autoscalers that cannot be read are in the way; nil where it goes on without.
func (c *Cluster) unreadable(o *Options, r *record) error {
	switch {
	case c.Unread == nil:
		return nil
	case o.MoveScalers:
		return fmt.Errorf("list HorizontalPodAutoscalers, which --move-autoscaler is about: %w", c.Unread)
	case r != nil && r.ScalersMoved:
		return fmt.Errorf("list HorizontalPodAutoscalers, of which --move-autoscaler has pointed some to the Deployment: %w", c.Unread)
	case passing(c.Unread):
		return fmt.Errorf("list HorizontalPodAutoscalers: %w", c.Unread)
	}
	return nil
}

// unreadNote says what it means that autoscalers cannot be read.
func (c *Cluster) unreadNote(o *Options, name string) string {
	was, becomes := "ReplicationController "+o.Controller, "Deployment "+name
	if o.Undo {
		was, becomes = becomes, was
	}
	return fmt.Sprintf("HorizontalPodAutoscalers: one that scales %s has to be pointed to %s afterwards, as it scales nothing otherwise\n%s", was, becomes, redact.Line(c.Unread.Error()))
}

// scales reports whether an autoscaler is of an object.
func scales(h *scaler, kind, name string) bool {
	ref := &h.Spec.ScaleTargetRef
	return ref.Kind == kind && ref.Name == name
}

// pointScalers points the autoscalers of the ReplicationController to the Deployment that has its
// pods, if that is wanted. Until then they scale a size of 0, which they leave alone.
func pointScalers(c *Cluster, o *Options, from string) (s Step, due bool) {
	if !o.MoveScalers {
		return Step{}, false
	}
	var writes []Write
	for i := range c.Scalers {
		h := &c.Scalers[i]
		if !scales(h, ofController, o.Controller) || metav1.GetControllerOf(h) != nil {
			continue
		}
		out := h.DeepCopy()
		out.Annotations = with(out.Annotations, fromKey, from)
		writes = append(writes, point(out, "apps/v1", ofDeployment, c.Deployment.Name))
	}
	if len(writes) == 0 {
		return Step{}, false
	}
	return act("point "+prose.Count(len(writes), "HorizontalPodAutoscaler")+" to the Deployment", "it is scaled from now on by what has scaled the ReplicationController", writes...), true
}

// noteScalers writes down that autoscalers are moved, so that going back insists on reading them.
func noteScalers(rc *corev1.ReplicationController, r *record) Step {
	now := *r
	now.ScalersMoved = true
	return act("write down that HorizontalPodAutoscalers are pointed to the Deployment, for the way back", "a ReplicationController at 0 does nothing with it",
		write(Update, now.on(rc), change("scalersMoved in annotation "+recordKey, false, true)))
}

// pointScalersBack is pointScalers on the way back, of those that it has pointed. That comes first:
// a ReplicationController of size 0 is left alone until it has its pods.
func pointScalersBack(c *Cluster, r *record) (s Step, due bool) {
	var writes []Write
	for i := range c.Scalers {
		h := &c.Scalers[i]
		if !from(h, c.Controller) || !scales(h, ofDeployment, r.Deployment) {
			continue
		}
		out := h.DeepCopy()
		delete(out.Annotations, fromKey)
		writes = append(writes, point(out, corev1.SchemeGroupVersion.String(), ofController, c.Controller.Name))
	}
	if len(writes) == 0 {
		return Step{}, false
	}
	return act("point "+prose.Count(len(writes), "HorizontalPodAutoscaler")+" back to the ReplicationController", "nothing is scaled until that has its pods, as a size of 0 is left alone", writes...), true
}

func point(h *scaler, version, kind, name string) Write {
	was := h.Spec.ScaleTargetRef
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: version, Kind: kind, Name: name}
	return write(Update, h, change("scaleTargetRef", was.Kind+"/"+was.Name, kind+"/"+name))
}

// scalerProblems are what keeps autoscalers from being moved.
func scalerProblems(c *Cluster, o *Options, name string) (list []string) {
	if !o.MoveScalers {
		return nil
	}
	var moved, there []string
	for i := range c.Scalers {
		switch h := &c.Scalers[i]; {
		case scales(h, ofDeployment, name):
			there = append(there, h.Name)
		case !scales(h, ofController, o.Controller):
		case metav1.GetControllerOf(h) != nil:
			owner := metav1.GetControllerOf(h)
			list = append(list, fmt.Sprintf("%s %s controls HorizontalPodAutoscaler %s and would put back what is changed: point that to the Deployment yourself, and omit --move-autoscaler", owner.Kind, owner.Name, h.Name))
		default:
			moved = append(moved, h.Name)
		}
	}
	if len(moved) > 0 && len(moved)+len(there) > 1 {
		list = append(list, fmt.Sprintf("HorizontalPodAutoscalers %s would scale one Deployment, each against the others: delete all but one of them", prose.And(append(moved, there...))))
	}
	return list
}

// scalerNotes say which autoscalers have to be pointed elsewhere by whoever migrates.
func scalerNotes(c *Cluster, o *Options, name string) (list []string) {
	for i := range c.Scalers {
		h := &c.Scalers[i]
		switch {
		case o.Undo && scales(h, ofDeployment, name) && !from(h, c.Controller):
			list = append(list, fmt.Sprintf("HorizontalPodAutoscaler %s scales the Deployment, and nothing once that is gone. Point it to the ReplicationController then:\n%s", h.Name, patchOf(h, "v1", ofController, o.Controller)))
		case !o.Undo && !o.MoveScalers && scales(h, ofController, o.Controller):
			list = append(list, fmt.Sprintf("HorizontalPodAutoscaler %s scales the ReplicationController, and nothing from its release on. --move-autoscaler points it to the Deployment. Or once that is there:\n%s", h.Name, patchOf(h, "apps/v1", ofDeployment, name)))
		}
	}
	return list
}

func patchOf(h *scaler, version, kind, name string) string {
	return fmt.Sprintf(`kubectl -n %s patch hpa %s --type=merge -p '{"spec":{"scaleTargetRef":{"apiVersion":"%s","kind":"%s","name":"%s"}}}'`, h.Namespace, h.Name, version, kind, name)
}
