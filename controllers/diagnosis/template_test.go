package diagnosis_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// found makes a finding where another template reaches the pods in that way.
type found func(diagnosis.Template) []decision.Finding

func waiting(pods ...decision.Pod) found {
	return func(t diagnosis.Template) []decision.Finding {
		return diagnosis.Pods{Now: noon, Template: t}.Waiting(pods)
	}
}

func waits(reason, message string) found {
	return waiting(decision.Pod{Name: "web-a", Created: noon.Add(-time.Hour), Phase: "Pending", Image: "web:404", Reason: reason, Message: message})
}

func exited(role decision.Role, code int64, reason string) found {
	return waiting(decision.Pod{Name: "web-a", Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Container: "app", Role: role,
		Exit: &decision.Exit{Code: code, Reason: reason, Restarts: 5}}})
}

func refused(message string) found {
	return func(t diagnosis.Template) []decision.Finding {
		return []decision.Finding{diagnosis.OfRefusal(diagnosis.Refusal{Namespace: "shop", Message: message, Count: 2, Template: t})}
	}
}

// takenAway are two pods that the same took away, one after the other.
func takenAway(d decision.Disruption) found {
	lost := func(name string, created, ended time.Duration) decision.DisruptedPod {
		d := d
		d.At = noon.Add(-ended)
		return decision.DisruptedPod{Name: name, Created: noon.Add(-created), Node: "node-1", Disruption: d}
	}
	return func(t diagnosis.Template) []decision.Finding {
		return diagnosis.Pods{Now: noon, Template: t}.Disrupted(diagnosis.Gap{NotCreated: 1,
			Lost: []decision.DisruptedPod{lost("web-b", time.Minute, 30*time.Second), lost("web-a", time.Hour, 2*time.Minute)}})
	}
}

// ends are what ends a finding in each of the ways in which another template may reach the pods.
type ends struct{ applies, waits, stays, forNew string }

// always is where no template helps.
func always(when string) ends { return ends{when, when, when, when} }

// changes is where one that changes does, of a pod that exists; comma is what stands before it.
func changes(when, comma string) ends {
	return ends{when + comma + " or the template changes", when + comma + " or the rollout is resumed", when, when + ", or the template changes and the pod is deleted"}
}

// ofNew is the same of pods that do not exist, so that none has to be deleted.
func ofNew(e ends) ends {
	e.forNew = e.applies
	return e
}

// does is where it takes a template that does more than change.
func does(when, comma, what string) ends {
	return ends{when + comma + " or the template " + what, when + ", or the new template " + what + " and the rollout is resumed", when, when + ", or the template " + what + " and the pod is deleted"}
}

// What ends a finding, for every code, goes by how another template reaches the pods.
func TestTemplate(t *testing.T) {
	noRoom := waits("Unschedulable", "0/3 nodes are available: 3 Insufficient cpu.")
	covered := map[string]bool{diagnosis.Delete: true, diagnosis.Mutated: true, diagnosis.Uncounted: true, diagnosis.SetTerminating: true, diagnosis.Terminating: true} // No template helps.
	for name, c := range map[string]struct {
		code string
		of   found
		want ends
	}{
		"namespace":     {diagnosis.Namespace, refused(`pods "a" is forbidden: unable to create new content in namespace shop because it is being terminated`), always("when the namespace is gone and recreated")},
		"quota":         {diagnosis.Quota, refused("exceeded quota: small, requested: requests.cpu=3, used: requests.cpu=0, limited: requests.cpu=2"), ofNew(does("when the quota is raised", "", "requests less"))},
		"quota of pods": {diagnosis.Quota, refused("exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2"), always("when the quota leaves room")},
		"quota asks": {diagnosis.Quota, refused("failed quota: small: must specify limits.cpu for: app"), ends{"when the template specifies them or a LimitRange sets defaults",
			"when a LimitRange sets defaults, or the new template specifies them and the rollout is resumed", "when a LimitRange sets defaults", "when the template specifies them or a LimitRange sets defaults"}},
		"limit range": {diagnosis.LimitRange, refused("maximum cpu usage per Container is 1, but limit is 2"), ends{"when the template or the LimitRange changes",
			"when the LimitRange changes or the rollout is resumed", "when the LimitRange changes", "when the template or the LimitRange changes"}},
		"pod security": {diagnosis.PodSecurity, refused(`violates PodSecurity "restricted:latest": runAsNonRoot != true`), ends{"when the template sets what is named, or the level of the namespace changes",
			"when the level of the namespace changes, or the new template sets what is named and the rollout is resumed", "when the level of the namespace changes", "when the template sets what is named, or the level of the namespace changes"}},
		"service account": {diagnosis.ServiceAccount, refused(`error looking up service account shop/web: serviceaccount "web" not found`), ofNew(changes("when that ServiceAccount exists", ""))},
		"priority class":  {diagnosis.PriorityClass, refused("no PriorityClass with name high was found"), ofNew(changes("when that PriorityClass exists", ""))},
		"webhook":         {diagnosis.Webhook, refused(`admission webhook "check" denied the request: no`), ofNew(changes("when the webhook allows them", ""))},
		"policy": {diagnosis.Policy, refused("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"), ends{"when the template or the policy changes",
			"when the policy changes or the rollout is resumed", "when the policy changes", "when the template or the policy changes"}},
		"invalid":   {diagnosis.Invalid, refused(`Pod "a" is invalid: spec.containers[0].image: Required value`), ends{"when the template changes", "when the rollout is resumed", "when the update is reversed", "when the template changes"}},
		"forbidden": {diagnosis.Forbidden, refused(`User "u" cannot create resource "pods" in API group "" in the namespace "shop"`), always("when it is granted that permission")},
		"refused":   {diagnosis.Refused, refused("not today"), ofNew(changes("when it allows them", ""))},

		"claim":       {diagnosis.Claim, waits("Unschedulable", `persistentvolumeclaim "data" not found`), always("when PersistentVolumeClaim data exists")},
		"gate":        {diagnosis.Gated, waits("SchedulingGated", ""), always("when its scheduling gates are removed")},
		"node":        {diagnosis.Node, noRoom, does("when a node has more cpu free", ",", "requests less")},
		"taint":       {diagnosis.Node, waits("Unschedulable", "0/3 nodes are available: 3 node(s) had untolerated taint {a: b}."), does("when a node without that taint has room", ",", "tolerates it")},
		"selector":    {diagnosis.Node, waits("Unschedulable", "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."), does("when a node has the labels that it requires", ",", "requires other labels")},
		"port":        {diagnosis.Node, waits("Unschedulable", "0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports."), does("when the port is free on a node", ",", "does not request it")},
		"node name":   {diagnosis.Node, waits("Unschedulable", "0/3 nodes are available: 3 node(s) didn't match the requested node name."), does("when the node that it names exists", ",", "names another")},
		"nodes":       {diagnosis.Node, waits("Unschedulable", "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable."), changes("when a suitable node has room", ",")},
		"cordoned":    {diagnosis.Node, waits("Unschedulable", "0/3 nodes are available: 3 node(s) were unschedulable."), always("when a node is uncordoned: kubectl uncordon")},
		"scheduler":   {diagnosis.Node, waits("SchedulerError", "binding rejected"), always("when the scheduler, which keeps trying, succeeds")},
		"node gone":   {diagnosis.NodeGone, waits("NodeLost", ""), always("when the node answers again, or its pods are evicted (by default, after five minutes)")},
		"preempted":   {diagnosis.Preempted, takenAway(decision.Disruption{Target: "PreemptionByScheduler"}), always("when pods of higher priority leave, or a node has more room")},
		"rejected":    {diagnosis.Rejected, takenAway(decision.Disruption{Reason: "UnexpectedAdmissionError", Message: "Pod was rejected: no"}), always("when a node admits them")},
		"evicted":     {diagnosis.Evicted, takenAway(decision.Disruption{Target: "DeletionByTaintManager"}), ofNew(does("when the taint is removed", ",", "tolerates it"))},
		"evicted low": {diagnosis.Evicted, takenAway(decision.Disruption{Reason: "Evicted", Message: "The node was low on resource: memory. Threshold quantity: 1Gi"}), ofNew(does("when a node has more memory free", ",", "requests what they use"))},
		"over its limit": {diagnosis.Evicted, takenAway(decision.Disruption{Reason: "Evicted", Message: "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."}),
			ofNew(does("when they use less", "", "allows more"))},

		"no image":     {diagnosis.Image, waits("ErrImagePull", "not found"), changes("when that image exists", "")},
		"no access":    {diagnosis.Image, waits("ErrImagePull", "repository does not exist or may require authorization"), ends{"when that image exists, a pull secret allows it, or the template changes", "when that image exists, a pull secret allows it, or the rollout is resumed", "when that image exists, or a pull secret allows it", "when that image exists, a pull secret allows it, or the template changes and the pod is deleted"}},
		"unauthorized": {diagnosis.Image, waits("ErrImagePull", "unauthorized"), changes("when a pull secret allows it", "")},
		"no pull":      {diagnosis.Image, waits("ErrImageNeverPull", ""), changes("when that image can be pulled", "")},
		"no registry":  {diagnosis.Image, waits("ErrImagePull", "i/o timeout"), always("when the registry answers (the kubelet keeps retrying)")},
		"no name":      {diagnosis.Image, waits("InvalidImageName", ""), ends{"when the template changes", "when the rollout is resumed", "when the update is reversed", "when the template changes and the pod is deleted"}},
		"config":       {diagnosis.Config, waits("CreateContainerConfigError", "no"), changes("when it can be created as configured", ",")},
		"ConfigMap":    {diagnosis.Config, waits("CreateContainerConfigError", `configmap "app" not found`), changes("when ConfigMap app exists", "")},
		"key":          {diagnosis.Config, waits("CreateContainerConfigError", "couldn't find key url in Secret shop/db"), changes("when Secret db has that key", "")},
		"root": {diagnosis.Config, waits("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"), ends{"when runAsUser or the image specifies a non-root user",
			"when the image specifies a non-root user, or the new template does and the rollout is resumed", "when the image specifies a non-root user", "when the image specifies a non-root user, or the template does and the pod is deleted"}},
		"init": {diagnosis.Init, exited(decision.RoleInit, 1, "Error"), changes("when that container succeeds", "")},
		"start": {diagnosis.Start, waits("RunContainerError", ""), ends{"when the template or the image changes", "when the image changes or the rollout is resumed", "when the image changes",
			"when the image changes, or the template changes and the pod is deleted"}},
		"memory": {diagnosis.Memory, exited("", 137, "OOMKilled"), ends{"when its memory limit is raised or it needs less", "when it needs less, or the new template raises its memory limit and the rollout is resumed",
			"when it needs less", "when it needs less, or the template raises its memory limit and the pod is deleted"}},
		"crash":   {diagnosis.Crash, exited("", 1, "Error"), changes("when it stays up", "")},
		"sidecar": {diagnosis.Sidecar, exited(decision.RoleSidecar, 1, "Error"), changes("when that container stays up", "")},

		"startup":        {diagnosis.Startup, waiting(decision.Pod{Name: "web-a", Phase: "Running", ContainerState: decision.ContainerState{Container: "app", Probe: "startup"}}), always("when it becomes ready")},
		"probe":          {diagnosis.Probe, waits("ContainersNotReady", ""), always("when it becomes ready")},
		"readiness gate": {diagnosis.Gate, waits("ReadinessGatesNotReady", ""), always("when its readiness gate is set")},
		"setup":          {diagnosis.Setup, waiting(decision.Pod{Name: "web-a", Phase: "Pending", Node: "node-1", ContainerState: decision.ContainerState{NotSetUp: true}}), always("when volumes and network are set up (kubelets keep trying; the pod's events say what fails)")},
		"starting":       {diagnosis.Starting, waits("ContainerCreating", ""), always("when it becomes ready")},
		"named node":     {diagnosis.Starting, waiting(decision.Pod{Name: "web-a", Phase: "Pending", Node: "gone", NodeNamed: true}), does("when node gone exists and starts it", ",", "names another")},
		"min ready":      {diagnosis.MinReady, waiting(decision.Pod{Name: "web-a", Ready: true}), always("when it becomes available")},
	} {
		covered[c.code] = true
		for template, want := range map[diagnosis.Template]string{
			diagnosis.TemplateApplies: c.want.applies, diagnosis.TemplateWaits: c.want.waits, diagnosis.TemplateStays: c.want.stays, diagnosis.TemplateForNew: c.want.forNew,
		} {
			list := c.of(template)
			if len(list) != 1 || list[0].Code != c.code || list[0].Unblocks.At(noon) != want {
				t.Errorf("%s: template %d: %+v, want %s %q", name, template, list, c.code, want)
			}
		}
	}
	for _, code := range diagnosis.Codes.List {
		if !covered[code.Code] {
			t.Errorf("no case of %s", code.Code)
		}
	}
}

// Several pods have to be deleted, and another container that fails comes right with a pod that is replaced.
func TestTemplateOfSeveral(t *testing.T) {
	pod := decision.Pod{Name: "web-a", Created: noon, Phase: "Pending", Image: "web:404", Reason: "ErrImagePull", Message: "not found", ContainerState: decision.ContainerState{Container: "app", Also: "log"}}
	nameless := pod
	nameless.Reason = "InvalidImageName"
	for _, c := range []struct {
		pod  decision.Pod
		n    int
		want map[diagnosis.Template]string
	}{
		{pod, 1, map[diagnosis.Template]string{
			diagnosis.TemplateApplies: "when that image exists or the template changes, and container log no longer fails",
			diagnosis.TemplateWaits:   "when that image exists, and container log no longer fails, or the rollout is resumed",
			diagnosis.TemplateStays:   "when that image exists, and container log no longer fails",
		}},
		{pod, 2, map[diagnosis.Template]string{
			diagnosis.TemplateForNew: "when that image exists, or the template changes and the pods are deleted, and container log no longer fails",
		}},
		{nameless, 2, map[diagnosis.Template]string{
			diagnosis.TemplateWaits:  "when the rollout is resumed",
			diagnosis.TemplateStays:  "when the update is reversed",
			diagnosis.TemplateForNew: "when the template changes and the pods are deleted, and container log no longer fails",
		}},
	} {
		var pods []decision.Pod
		for i := range c.n {
			pods = append(pods, c.pod)
			pods[i].Name = "web-" + string(rune('a'+i))
		}
		for template, want := range c.want {
			if list := waiting(pods...)(template); len(list) != 1 || list[0].Unblocks.At(noon) != want {
				t.Errorf("%s of %d, template %d: %+v, want %q", c.pod.Reason, c.n, template, list, want)
			}
		}
	}
}
