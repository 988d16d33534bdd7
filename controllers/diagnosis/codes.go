package diagnosis

import (
	"cmp"
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// CanI checks the permission that a refusal names.
const CanI = "`kubectl auth can-i VERB RESOURCE -n NAMESPACE --as=USER`"

// The codes of findings, the most fundamental first: what stands further up has to
// be fixed before anything below it shows.
const (
	Namespace      = "namespace-terminating"
	Quota          = "quota"
	LimitRange     = "limit-range"
	PodSecurity    = "pod-security"
	ServiceAccount = "service-account"
	PriorityClass  = "priority-class"
	Webhook        = "webhook"
	Policy         = "admission-policy"
	Invalid        = "invalid-pod"
	Forbidden      = "forbidden"
	Refused        = "replica-failure"
	Mutated        = "pods-mutated"
	Delete         = "delete-refused"
	Claim          = "volume-claim"
	Gated          = "scheduling-gated"
	Preempted      = "preempted"
	Node           = "unschedulable"
	NodeGone       = "node-gone"
	Rejected       = "kubelet-rejected"
	Evicted        = "evicted"
	Image          = "image-pull"
	Config         = "config"
	Init           = "init"
	Start          = "start-error"
	Memory         = "out-of-memory"
	Crash          = "crash-loop"
	Sidecar        = "sidecar"
	Startup        = "startup-probe"
	Probe          = "readiness"
	Gate           = "readiness-gate"
	Setup          = "pod-setup"
	Starting       = "starting"
	Uncounted      = "uncounted"
	MinReady       = "min-ready"
	SetTerminating = "replicaset-terminating"
	Terminating    = "pods-terminating"
)

var ranks = func() map[string]int {
	order := []string{Namespace, Quota, LimitRange, PodSecurity, ServiceAccount, PriorityClass, Webhook, Policy, Invalid, Forbidden, Refused, Delete, Mutated,
		Claim, Gated, Preempted, Node, NodeGone, Rejected, Evicted, Image, Config, Init, Start, Memory, Crash, Sidecar, Startup, Probe, Gate, Setup, Starting, Uncounted, MinReady, SetTerminating, Terminating}
	m := make(map[string]int, len(order))
	for i, code := range order {
		m[code] = i
	}
	return m
}()

// IsRefusal reports whether a code is of pods that the API server does not let be
// created.
func IsRefusal(code string) bool {
	rank, known := ranks[code]
	return known && rank <= ranks[Refused]
}

// IsDisruption reports whether a code is of pods that are gone, and not of those that are
// waited for.
func IsDisruption(code string) bool { return code == Preempted || code == Rejected || code == Evicted }

// Rank orders findings: by how fundamental they are, then by how many pods they
// keep, then by the name of the first pod.
func Rank(list []decision.Finding) {
	slices.SortStableFunc(list, func(a, b decision.Finding) int {
		return cmp.Or(ranks[a.Code]-ranks[b.Code], cmp.Compare(b.Count, a.Count))
	})
}

// IsStarting reports whether a code is of pods that go through what every pod goes through.
func IsStarting(code string) bool { return code == Setup || code == Starting }

// Relevant are the findings that a sentence names: while anything else keeps pods, what
// every pod goes through is left out, and so is that no node has room for those that
// were preempted.
func Relevant(all []decision.Finding) []decision.Finding {
	var list []decision.Finding
	preempted := int64(0)
	all = all[:len(all)-len(Beside(all))]
	for i := range all {
		f := &all[i]
		if f.Code == Preempted {
			preempted += f.Count
		}
		if !f.Usual && f.Code != MinReady && !IsStarting(f.Code) && (f.Code != Node || f.Count > preempted) {
			list = append(list, *f)
		}
	}
	if len(list) == 0 {
		return all
	}
	return list
}

// Beside are the findings that are wrong as well, and hold nothing up. They stand behind all others.
func Beside(all []decision.Finding) []decision.Finding {
	i := slices.IndexFunc(all, func(f decision.Finding) bool { return f.Beside })
	if i < 0 {
		return nil
	}
	return all[i:]
}

// Heading is what findings are headed with: where all are of pods that have to go, that these are not gone.
func Heading(list []decision.Finding) string {
	if slices.ContainsFunc(list, func(f decision.Finding) bool { return f.Code != Delete && f.Code != Terminating }) {
		return "Why pods are not available"
	}
	return "Why pods are not gone"
}

// because keeps the table below short.
var because = decision.Because

// What several codes have in common.
const (
	triesOn    = "The ReplicaSet tries again with a back-off that grows; old pods stay."
	oldStay    = "Old pods stay and serve as far as they are available."
	triesAgain = "The ReplicaSet replaces them at once; old pods stay."
	// deletedToo is for pods that exist: only a Deployment replaces them when the template changes.
	deletedToo = "; without a Deployment the pods have to be deleted, too."
	// overtaken is why the end of a pod does not stand before all that living pods wait for.
	overtaken = "If more is known about the replacements, that is reported instead, unless pods are taken away again and again."
	describe  = "`kubectl describe pod` of a pod that is named, and what is held back on the page."
)

// Codes are what a finding may be. They are codes of sentences, of held writes and
// of estimates as well.
var Codes = decision.Reasons{Scope: "worker", Kind: "finding", Doc: "What keeps pods from being available: `diagnosis.findings[].code` of a trace, the most fundamental first. The sentence, the held writes and the estimate of the same sync use these codes, too.", List: []decision.Reason{
	because(Namespace, "The namespace is being deleted, so no pod can be created in it.", "Nothing is tried again.", "Never: the namespace is removed.", "Look at what blocks the deletion of the namespace: `kubectl get namespace -o yaml` lists it under status.conditions."),
	because(Quota, "A ResourceQuota has no room for the pods, or requires requests or limits that the template lacks.", triesOn, "The quota leaves room.", "`kubectl describe quota`: raise it, or make something smaller. Or allow a pod to be unavailable, so that an old one goes first."),
	because(LimitRange, "A LimitRange does not allow what the containers request.", triesOn, "The template or the LimitRange changes.", "`kubectl describe limitrange`."),
	because(PodSecurity, "The Pod Security level that the namespace enforces forbids the pods.", triesOn, "The template or the label pod-security.kubernetes.io/enforce of the namespace changes.", "Read the fields that the message names, and set them in the template's securityContext."),
	because(ServiceAccount, "The pods name a ServiceAccount that does not exist.", triesOn, "That ServiceAccount exists, or the template changes.", "`kubectl get serviceaccount`."),
	because(PriorityClass, "The pods name a PriorityClass that does not exist.", triesOn, "That PriorityClass exists, or the template changes.", "`kubectl get priorityclass`."),
	because(Webhook, "An admission webhook denies the pods, or cannot be called.", triesOn, "The webhook allows them or answers again, or its configuration changes.", "`kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations`, and the log of the program behind it."),
	because(Policy, "A ValidatingAdmissionPolicy denies the pods.", triesOn, "The template or the policy changes.", "`kubectl describe validatingadmissionpolicy`."),
	because(Invalid, "The API server finds the pods of the template invalid.", triesOn, "The template changes.", "Correct the field that the message names."),
	because(Forbidden, "The loop itself may not create pods in the namespace.", triesOn, "Its service account is granted the permission.", "`kubectl auth can-i create pods -n NAMESPACE --as=USER`, with the user that the message names."),
	because(Refused, "The API server refuses the pods for a reason that only its message gives.", triesOn, "The refusing component allows them, or the template changes.", "Read the message; events of the namespace say the same."),
	because(Delete, "The API server refuses to delete pods.", "It is tried again with back-off.", "The refusing component allows it.", "Read the message; look at the webhook or policy that it names, or grant the permission."),
	because(Mutated, "The pods do not match the selector of their ReplicaSet as soon as they are created, as a mutating webhook or policy changes their labels.", "The ReplicaSet releases them and creates others, without end; nobody deletes them.", "Whatever changes pods leaves the labels alone that the ReplicaSet selects by.", "`kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies`: look for one that matches pods. Scale to 0 meanwhile, and delete the pods that have no owner."),
	because(Claim, "The pods wait for a PersistentVolumeClaim that is missing or not bound.", oldStay, "The claim exists and is bound.", "`kubectl get pvc` and `kubectl describe pvc`."),
	because(Gated, "The pods have scheduling gates, so the scheduler leaves them alone.", oldStay, "Whoever set the gates removes them.", "Look for the controller that the gate is named after."),
	because(Preempted, "Pods of higher priority preempted the pods. It stands before the scheduler's reasons, as it is why no node has room.", oldStay, "Pods of higher priority leave, or a node has more room.", "`kubectl get events --field-selector reason=Preempted` says for whom; `kubectl get priorityclass`."),
	because(Node, "The pods fit no node.", oldStay, "A suitable node has room, or the template requests less"+deletedToo, "Read the scheduler's reasons with the number of nodes for each; `kubectl describe nodes`."),
	because(NodeGone, "The node of the pods does not answer.", oldStay, "The node comes back, or its pods are evicted: after five minutes, unless they tolerate the outage for another time.", "`kubectl get nodes`."),
	because(Rejected, "A kubelet does not admit the pods that the scheduler gave it: they fail at once and are replaced. "+overtaken, triesAgain, "A node admits them.", "Read the kubelet's reason in the message; the failed pods stay, and `kubectl describe pod` shows them."),
	because(Evicted, "Pods were evicted by a kubelet, through the Eviction API or by a taint, or went with their node, and their replacements are not available. "+overtaken, triesAgain, "The node has room again, or the replacements become available.", "The failed pods stay, and `kubectl describe pod` shows them; `kubectl describe nodes` shows pressure and taints."),
	because(Image, "The image of the pods cannot be pulled.", oldStay+" Kubelets try to pull again.", "The image exists and may be pulled, or the template changes"+deletedToo, "Check the name of the image and the pull secret, or take the change back."),
	because(Config, "A container cannot be created as it is configured: a ConfigMap, a Secret or a key is missing, or a rule of its own forbids it.", oldStay+" Kubelets try again.", "What it refers to exists, or the template changes"+deletedToo, "Look for the ConfigMap, Secret or key that the message names."),
	because(Init, "An init container has not ended, so the others do not start.", oldStay, "It succeeds, or the template changes"+deletedToo, "`kubectl logs -c` of that container."),
	because(Start, "A container cannot be started: its command is missing, or a hook failed.", oldStay+" Kubelets try again with growing back-off.", "The image changes, or the template does"+deletedToo, "Check command, args and working directory of the container."),
	because(Memory, "A container needs more memory than its limit and keeps being killed.", oldStay+" Kubelets start it again with growing back-off.", "Its memory limit is raised, or it needs less"+deletedToo, "Look at its memory before it is killed, and at its limit."),
	because(Crash, "A container keeps exiting.", oldStay+" Kubelets start it again with growing back-off.", "It stays up, or the template changes"+deletedToo, "Read its last log lines: `kubectl logs --previous`."),
	because(Sidecar, "A sidecar has not started or keeps exiting.", oldStay, "It starts and stays up, or the template changes"+deletedToo, "`kubectl logs -c` of that container."),
	because(Startup, "A container runs but has not passed its startup probe.", oldStay+" When the probe gives up, the kubelet kills the container.", "It passes the probe.", describe),
	because(Probe, "Containers run but do not pass their readiness probe.", oldStay, "They pass it.", describe),
	because(Gate, "The pods wait for a readiness gate.", oldStay, "Whoever owns the gate sets its condition.", "`kubectl get pod -o yaml`: status.conditions."),
	because(Setup, "The node of the pods has not set up their volumes and network yet. That takes seconds; where it takes longer, a volume cannot be attached or mounted, a ConfigMap or Secret that is mounted does not exist, or the network plugin fails.", oldStay+" Kubelets keep trying.", "The kubelet succeeds.", "The events of the pods, as FailedMount or FailedCreatePodSandBox: the page shows them, and "+describe),
	because(Starting, "The pods are starting, and nothing is known to hold them up. If their node has not reported on them, the sentence says so; and if no scheduler chose that node, that the template, or whoever created the pods, named it. If they are not created, it names the ReplicaSet that has to create them, and says if no controller has reported on that one.", oldStay, "They become ready; a controller of ReplicaSets runs and may create them; or a node that no scheduler chose exists and starts them, or the template names another.", "Wait; where it takes long, `kubectl get nodes`, to see whether the node exists and is ready, "+describe+" Of pods that are not created, the page of the ReplicaSet says more; if another program runs that loop, its log does."),
	because(Uncounted, "Pods are ready, and the status of their ReplicaSet, by which a Deployment goes, does not count them.", oldStay, "The loop of ReplicaSets writes that status: it does so within a second or two.", "Where it takes longer, the page of the ReplicaSet says what is in the way; if another program runs that loop, its log does."),
	because(MinReady, "The pods are ready, but not for minReadySeconds yet.", oldStay, "Only time.", "Wait, or lower minReadySeconds."),
	because(SetTerminating, "The ReplicaSet of the template is being deleted, and creates no more pods until it is gone.", "The Deployment creates the next one only when it is gone.", "It is gone, and the next one has created the pods.", "`kubectl get replicaset -o yaml`: look at its finalizers, and at its pods where it is deleted in the foreground."),
	because(Terminating, "Pods were deleted and are not gone.", "Recreate starts no new pod.", "The last of them is gone.", "Look at finalizers, a long grace period, or a node that is down."),
}}
