package diagnosis

import (
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// shortage is what keeps pods from every node, in a few words, when it ends, and what a template does that ends it as
// well, "" where none does.
type shortage struct {
	code, said     string
	until          decision.Words
	template, show string
}

// ways is what ends it.
func (s *shortage) ways() []way {
	list := []way{{said: s.until}}
	if s.template != "" {
		list = append(list, theTemplate(s.template))
	}
	return list
}

// nodeReasons are what the scheduler says of nodes, and what a person would say.
// The first that is found in a reason counts; longer ones stand before shorter ones. None of ours has a "not":
// where there is little room, the middle of what is said is left out.
var nodeReasons = []struct{ theirs, one, many, until, template string }{
	{"didn't match Pod's node affinity/selector", "conflicts with its node selector or affinity", "conflict with its node selector or affinity", "a node has the labels that it requires", "requires other labels"},
	{"didn't satisfy existing pods anti-affinity rules", "is excluded by the anti-affinity of existing pods", "are excluded by the anti-affinity of existing pods", "a node without such pods has room", ""},
	{"didn't match pod anti-affinity rules", "has a pod that its anti-affinity avoids", "have a pod that its anti-affinity avoids", "a node without such a pod joins", "changes"},
	{"didn't match pod affinity rules", "lacks a pod that its affinity requires", "lack a pod that its affinity requires", "such a pod runs", "changes"},
	{"didn't match pod topology spread constraints", "would break its topology spread", "would break its topology spread", "the other zones or nodes have room", "changes"},
	{"didn't have free ports for the requested pod ports", "has its host port in use", "have its host port in use", "the port is free on a node", "does not request it"},
	{"were unschedulable", "is cordoned", "are cordoned", "a node is uncordoned: kubectl uncordon", ""},
	{"Too many pods", "has reached its pod limit", "have reached their pod limit", "a node has room for a pod", ""},
	{"exceed max volume count", "has no room for a volume", "have no room for a volume", "a node has room for its volumes", ""},
	{"didn't match PersistentVolume's node affinity", "conflicts with the node affinity of its volume", "conflict with the node affinity of its volume", "a node that matches it has room", ""},
	{"had volume node affinity conflict", "conflicts with the node affinity of its volume", "conflict with the node affinity of its volume", "a node that matches it has room", ""},
	{"had no available volume zone", "is in another zone than its volume", "are in another zone than its volume", "a node in that zone has room", ""},
	{"with ReadWriteOncePod access mode already in-use", "is barred, as another pod uses its ReadWriteOncePod claim", "are barred, as another pod uses its ReadWriteOncePod claim", "that pod is gone (in a rollout: with strategy Recreate or maxSurge 0)", ""},
	{"did not have enough free storage", "has too little storage for its volume", "have too little storage for its volume", "a node has storage for its volume", ""},
	{"bound to non-existent pv(s)", "is barred, as the volume of its claim no longer exists", "are barred, as the volume of its claim no longer exists", "that volume is restored or the claim is recreated", ""},
	{"cannot allocate all claims", "lacks devices for its ResourceClaims", "lack devices for its ResourceClaims", "a node has free devices that satisfy its ResourceClaims", ""},
	{"didn't match the requested node name", "differs from the node that it names", "differ from the node that it names", "the node that it names exists", "names another"},
	{"didn't find available persistent volumes to bind", "lacks a volume for its claim", "lack a volume for its claim", "a volume for the claim exists", ""},
}

// unschedulable takes the scheduler's message apart: `0/3 nodes are available: 1
// node(s) had untolerated taint {a: b}, 2 Insufficient cpu. preemption: ...`. What
// it does not know it quotes.
func unschedulable(message string) shortage {
	if s, ok := claimTrouble(message); ok {
		return s
	}
	nodes, rest, found := strings.Cut(message, " nodes are available: ")
	if !found {
		return shortage{code: Node, said: prose.ClipMiddle(message, longest), until: words("a suitable node exists"), show: "describe pod"}
	}
	_, total, _ := strings.Cut(nodes, "/")
	rest = withoutPreemption(rest)
	s := shortage{code: Node, show: "describe pod"}
	var said []string
	for _, reason := range nodeList(rest) {
		words, until, template := nodeReason(reason)
		said = append(said, words)
		if s.until == nil {
			s.until, s.template = until, template
		}
	}
	if s.until == nil || len(said) > 1 {
		s.until, s.template = words("a suitable node has room"), "changes"
	}
	switch what, alike := strings.CutPrefix(strings.Join(said, ", "), total+" "); {
	case len(said) > 1 || !alike || strings.HasPrefix(what, "node(s)"):
		s.said = "of " + total + " nodes, " + prose.ClipMiddle(strings.Join(said, ", "), longest)
	case total == "1":
		s.said = "the only node " + prose.ClipMiddle(what, longest)
	case total == "2":
		s.said = "both nodes " + prose.ClipMiddle(what, longest)
	default:
		s.said = "all " + total + " nodes " + prose.ClipMiddle(what, longest)
	}
	return s
}

// ofRoom are parts of reasons that hold no longer for a node when a pod there is gone, and ofRequests are such where
// that pod has to have requested as much.
var (
	ofRoom     = []string{"didn't have free ports", "Too many pods", "anti-affinity rules", "exceed max volume count", "ReadWriteOncePod"}
	ofRequests = []string{"Insufficient ", "cannot allocate all claims"}
)

// lacksRoom reports whether it is room that some of the nodes lack, and lacksRequests whether it is room for what
// a pod requests.
func lacksRoom(message string) bool {
	return containsAny(withoutPreemption(message), ofRoom) || lacksRequests(message)
}

func lacksRequests(message string) bool { return containsAny(withoutPreemption(message), ofRequests) }

// withoutPreemption leaves out what follows the reasons, which is of claims and preemption.
func withoutPreemption(message string) string {
	message, _, _ = strings.Cut(message, " preemption: ")
	message, _, _ = strings.Cut(message, ". ")
	return message
}

// nodeList divides the reasons, each of which begins with a number. A comma may
// stand inside one.
func nodeList(s string) []string {
	var list []string
	for _, part := range strings.Split(strings.TrimRight(s, ". "), ", ") {
		if n := len(list); n > 0 && (part == "" || part[0] < '0' || part[0] > '9') {
			list[n-1] += ", " + part
			continue
		}
		list = append(list, part)
	}
	return list
}

// nodeReason says one reason in our words, with its number of nodes in front, and what ends it.
func nodeReason(reason string) (said string, until decision.Words, template string) {
	number, what, _ := strings.Cut(reason, " ")
	one := number == "1"
	pick := func(a, b string) string {
		if one {
			return number + " " + a
		}
		return number + " " + b
	}
	if resource, ok := strings.CutPrefix(what, "Insufficient "); ok {
		return pick("has too little "+resource, "have too little "+resource), words("a node has more ").Told(resource).Say(" free"), "requests less"
	}
	if taint, ok := between(what, "{", "}"); ok && strings.Contains(what, "taint") {
		taint = strings.TrimSuffix(strings.TrimSpace(taint), ":")
		return pick("is tainted "+taint, "are tainted "+taint), words("a node without that taint has room"), "tolerates it"
	}
	if strings.Contains(what, "taint") {
		return pick("has a taint", "have taints"), words("a node without that taint has room"), "tolerates it"
	}
	for _, r := range nodeReasons {
		if strings.Contains(what, r.theirs) {
			return pick(r.one, r.many), words(r.until), r.template
		}
	}
	return reason, nil, ""
}

// claimTrouble is what has to do with claims and with no node.
func claimTrouble(message string) (shortage, bool) {
	message = withoutPreemption(message)
	before, after, _ := strings.Cut(message, `persistentvolumeclaim "`)
	claim, after, named := strings.Cut(after, `" `)
	if !named {
		claim, named = strings.CutSuffix(strings.TrimSuffix(claim, "."), `"`)
	}
	get := "get pvc"
	if named {
		get += " " + claim
	}
	switch {
	case named && strings.HasPrefix(after, "not found"):
		return shortage{code: Claim, said: "PersistentVolumeClaim " + claim + " does not exist", until: words("PersistentVolumeClaim ").Told(claim).Say(" exists"), show: get}, true
	case named && strings.HasPrefix(after, "bound to non-existent"):
		volume, _ := between(after, `persistentvolume "`, `"`)
		return shortage{code: Claim, said: "PersistentVolume " + volume + " of claim " + claim + " no longer exists", until: words("that volume is restored or the claim is recreated"), show: get}, true
	case named && strings.Contains(before, "waiting for ephemeral volume controller"):
		return shortage{code: Claim, said: "PersistentVolumeClaim " + claim + " is not created yet", until: words("kube-controller-manager creates it for the pod"), show: get}, true
	case named && strings.HasPrefix(after, "is being deleted"):
		return shortage{code: Claim, said: "PersistentVolumeClaim " + claim + " is being deleted", until: words("a claim of that name is recreated"), show: get}, true
	case named:
		return shortage{code: Claim, said: "PersistentVolumeClaim " + prose.ClipMiddle(strings.TrimSpace(claim+" "+after), longest), until: words("the claim is usable"), show: get}, true
	case strings.Contains(message, "unbound immediate PersistentVolumeClaims"):
		return shortage{code: Claim, said: "its PersistentVolumeClaim is not bound to a volume", until: words("the claim is bound"), show: get}, true
	}
	return shortage{}, false
}
