package diagnosis

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// say is what the pods do, read after "3 new pods ". It fills in what ends it.
func (g *group) say(w Pods, f *decision.Finding) decision.Words {
	switch g.code {
	case Claim, Node:
		return g.sayNode(w, f)
	case Image:
		return g.sayImage(f)
	case Config:
		return g.sayConfig(w, f)
	case Init:
		return g.sayInit(w, f)
	case Sidecar:
		return g.saySidecar(w, f)
	case Start, Memory, Crash:
		return g.sayCrash(w, f)
	default:
		return g.sayWait(w, f)
	}
}

func (g *group) sayNode(w Pods, f *decision.Finding) decision.Words {
	s := unschedulable(g.pod.Message)
	f.NeedsAction = true
	f.Unblocks = g.when(commaOr, s.ways()...)
	if s.code == Claim {
		f.Show = kubectl(w.Namespace, s.show)
		return g.do("is not scheduled: ", "are not scheduled: ").Told(s.said)
	}
	if g.pod.Reason == schedulerFailed {
		f.NeedsAction, f.Unblocks = false, g.when(or, clause("the scheduler, which keeps trying, succeeds"))
		return g.do("is not scheduled, as the scheduler fails (", "are not scheduled, as the scheduler fails (").Quote(orReason(g.pod, longest)).Say(")")
	}
	if node := g.pod.Nominated; node != "" {
		f.NeedsAction, f.Unblocks = false, g.when(or, clause("the pods that are preempted there are gone"))
		return g.do("waits", "wait").Say(" for room on node ").Name(node).Say(", where the scheduler preempts pods of lower priority")
	}
	if w.Leaving != nil && lacksRoom(g.pod.Message) {
		leaving := w.Leaving(lacksRequests(g.pod.Message))
		if leaving.room(g.count, func(pods, gone int64) bool { return pods <= gone }) {
			f.NeedsAction, f.Unblocks = false, whenGone(leaving.Now).Say(" or a suitable node has room")
		}
	}
	return g.do("fits no node (", "fit no node (").Told(s.said).Say(")")
}

func (g *group) sayImage(f *decision.Finding) decision.Words {
	why := g.pull
	if why == "" {
		why = g.pod.Reason
	}
	f.NeedsAction = true
	switch why {
	case invalidImage:
		f.Unblocks = g.when(or, theTemplate("changes"))
	case "not found", "no image for the node's platform":
		f.Unblocks = g.when(or, clause("that image exists"), theTemplate("changes"))
	case noAccess:
		f.Unblocks = g.when(commaOr, clause("that image exists"), clause("a pull secret allows it"), theTemplate("changes"))
	case "unauthorized", "denied":
		f.Unblocks = g.when(or, clause("a pull secret allows it"), theTemplate("changes"))
	case "registry rate limit", "timeout", "connection refused", "registry unavailable":
		f.Unblocks, f.NeedsAction = g.when(or, clause("the registry answers (the kubelet keeps retrying)")), false
	case "pull rate limit of the node":
		f.Unblocks, f.NeedsAction = g.when(or, clause("the node pulls fewer images at once (the kubelet keeps retrying)")), false
	default:
		f.Unblocks = g.when(or, clause("that image can be pulled"), theTemplate("changes"))
	}
	return g.image(words("cannot pull ")).Say(" (").Told(why).Say(")")
}

// invalidImage is no name of an image, so that there cannot be one, and only another template helps.
const invalidImage = "invalid image name"

// longImage is how long the name of an image may be for a sentence to have it whole.
const longImage = 70

func (g *group) image(w decision.Words) decision.Words {
	switch image := g.pod.Image; {
	case image == "":
		return w.Say("its image")
	case utf8.RuneCountInString(image) <= longImage:
		return w.Name(image)
	default:
		return w.Quote(prose.ClipMiddle(image, longest))
	}
}

// sayConfig takes the kubelet's words apart: `configmap "app" not found`, `couldn't
// find key url in Secret ns/db`.
func (g *group) sayConfig(w Pods, f *decision.Finding) decision.Words {
	f.NeedsAction = true
	f.Unblocks = g.when(commaOr, way{said: g.do("it can", "they can").Say(" be created as configured")}, theTemplate("changes"))
	message := g.pod.Message
	for _, kind := range []string{"ConfigMap", "Secret"} {
		if name, ok := between(strings.ToLower(message), strings.ToLower(kind)+` "`, `" not found`); ok {
			f.Unblocks = g.when(or, way{said: words(kind + " ").Name(name).Say(" exists")}, theTemplate("changes"))
			f.Show = kubectl(w.Namespace, "get "+strings.ToLower(kind)+" "+name)
			return g.do("needs ", "need ").Say(kind + " ").Name(name).Say(", which does not exist")
		}
		if key, ok := between(message, "couldn't find key ", " in "+kind+" "); ok {
			_, object, _ := strings.Cut(message, " in "+kind+" ")
			object, _, _ = strings.Cut(object, " ")
			_, name, _ := strings.Cut(object, "/")
			f.Unblocks = g.when(or, way{said: words(kind + " ").Name(name).Say(" has that key")}, theTemplate("changes"))
			f.Show = kubectl(w.Namespace, "describe "+strings.ToLower(kind)+" "+name)
			return g.do("needs ", "need ").Say("key ").Name(key).Say(" of " + kind + " ").Name(name).Say(", which has no such key")
		}
	}
	if strings.Contains(message, "runAsNonRoot") {
		f.Unblocks = g.when(or, way{words("runAsUser"), "does"}, clause("the image specifies a non-root user"))
		return g.do("has", "have").Say(" runAsNonRoot set, and the image runs as root")
	}
	if containsAny(message, passingTroubles) {
		f.NeedsAction, f.Unblocks = false, g.when(or, clause("the kubelet, which keeps trying, succeeds"))
		return words("cannot be started yet (").Quote(orReason(g.pod, longest)).Say(")")
	}
	return g.do("cannot be started as it is configured", "cannot be started as they are configured").Say(" (").Quote(orReason(g.pod, longest)).Say(")")
}

// passingTroubles are parts of messages of containers whose configuration is not what is wrong: the
// kubelet's cache or the runtime was late, or the runtime still has the container of the last try.
var passingTroubles = []string{"timed out waiting for the condition", "deadline exceeded", "is reserved for", "already in use"}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

func orReason(p *decision.Pod, limit int) string {
	if p.Message == "" {
		return p.Reason
	}
	return prose.ClipMiddle(p.Message, limit)
}

func (g *group) sayInit(w Pods, f *decision.Finding) decision.Words {
	f.Show = g.logs(w, g.pod.Exit != nil)
	said := append(g.do("waits for init ", "wait for init "), g.container()...)
	if g.passing {
		f.Unblocks = g.when(or, clause("that container has ended"))
		f.Usual = g.pod.Exit == nil && w.isEarly(g.pod.Created)
		switch {
		case g.pod.Running.IsZero():
			return said.Say(", which is still starting")
		case g.pod.Exit != nil:
			said = said.Say(", which was started again and")
		default:
			said = said.Say(", which")
		}
		return said.Say(" has not ended for ").Since(g.pod.Running)
	}
	f.NeedsAction = true
	f.Unblocks = g.when(or, clause("that container succeeds"), theTemplate("changes"))
	fails := ", which fails again and again ("
	if g.exits == 0 {
		fails = ", which failed ("
	}
	return said.Say(fails).Told(g.ended()).Say(")")
}

func (g *group) saySidecar(w Pods, f *decision.Finding) decision.Words {
	f.Show = g.logs(w, g.pod.Exit != nil)
	said := append(g.do("waits for sidecar ", "wait for sidecar "), g.container()...)
	if g.passing {
		f.Unblocks = g.when(or, clause("that container has started"))
		f.Usual = g.pod.Exit == nil && w.isEarly(g.pod.Created)
		if g.pod.Exit != nil && !g.pod.Running.IsZero() {
			return said.Say(", which was started again and has not started up yet")
		}
		return said.Say(", which has not started")
	}
	f.NeedsAction = true
	f.Unblocks = g.when(or, clause("that container stays up"), theTemplate("changes"))
	return said.Say(", which keeps crashing (").Told(g.ended()).Say(")")
}

func (g *group) sayCrash(w Pods, f *decision.Finding) decision.Words {
	f.Show, f.NeedsAction = g.logs(w, true), true
	f.Unblocks = g.when(or, way{said: g.do("it stays", "they stay").Say(" up")}, theTemplate("changes"))
	of := g.container()
	switch {
	case g.passing:
		f.NeedsAction = false
		f.Unblocks = g.whenThey(" ready")
		why := "exit code " + strconv.FormatInt(g.pod.Exit.Code, 10)
		if g.code == Memory {
			why = "OOMKilled"
		}
		return in(g.do("runs again after one restart (", "run again after one restart (").Told(why).Say(")"), of)
	case g.code == Memory:
		f.Unblocks = g.when(or, way{words("its memory limit is raised"), "raises its memory limit"}, clause("it needs less"))
		said := g.do("keeps running out of memory (OOMKilled", "keep running out of memory (OOMKilled")
		return in(said.Told(g.restarts()).Say(")"), of)
	case g.code == Start:
		f.Unblocks = g.when(or, way{words("the template"), "changes"}, clause("the image changes"))
		f.Show = kubectl(w.Namespace, "describe pod "+g.pod.Name)
		return append(g.do("cannot start ", "cannot start "), append(orIts(of), decision.Words{}.Say(" (").Quote(g.startTrouble()).Say(")")...)...)
	case g.pod.Exit != nil && g.pod.Exit.Code == 0:
		return in(g.do("keeps exiting although it should keep running (", "keep exiting although they should keep running (").Told(g.ended()).Say(")"), of)
	}
	if e := g.pod.Exit; e != nil && (e.Code == 137 || e.Code == 143) { // Mostly by the kubelet, as a probe failed.
		return in(g.do("keeps being killed (", "keep being killed (").Told(g.ended()).Say(")"), of)
	}
	return in(g.do("keeps crashing (", "keep crashing (").Told(g.ended()).Say(")"), of)
}

// in names the container behind what is said of the pod.
func in(said, container decision.Words) decision.Words {
	if container == nil {
		return said
	}
	return append(said.Say(" in "), container...)
}

func orIts(container decision.Words) decision.Words {
	if container == nil {
		return words("a container")
	}
	return container
}

// startTrouble is why a container cannot be started: the runtime's last clause.
func (g *group) startTrouble() string {
	message := g.pod.Message
	if e := g.pod.Exit; e != nil && e.Message != "" {
		message = e.Message
	}
	if g.pod.Reason == "PostStartHookError" {
		return "PostStartHookError: " + prose.ClipMiddle(message, longest)
	}
	if _, command, ok := strings.Cut(message, "exec: "); ok {
		message = "exec: " + command
	}
	if message == "" {
		return g.pod.Reason
	}
	return prose.ClipMiddle(message, longest)
}

// sayWait is everything that may come right by itself.
func (g *group) sayWait(w Pods, f *decision.Finding) decision.Words {
	becomes := " ready"
	if g.code == MinReady {
		becomes = " available"
	}
	f.Unblocks = g.whenThey(becomes)
	switch g.code {
	case MinReady:
		return g.do("is ready but not for long enough", "are ready but not for long enough")
	case Gated:
		f.NeedsAction, f.Unblocks = true, g.when(or, clause("its scheduling gates are removed"))
		return g.do("is held back by a scheduling gate", "are held back by a scheduling gate")
	case NodeGone:
		f.Unblocks, f.Show = g.when(or, clause("the node answers again, or its pods are evicted (by default, after five minutes)")), "kubectl describe node "+g.pod.Node
		return g.do("is", "are").Say(" on node ").Name(g.pod.Node).Say(", which does not answer")
	case Gate:
		return g.sayGate(f)
	case Setup:
		f.Unblocks = g.when(or, way{said: words("volumes and network are set up (kubelets keep trying; the ").Say(prose.Plural(g.count, "pod's", "pods'")).Say(" events say what fails)")})
		return g.do("waits for its node", "wait for their nodes").Say(" to set up ").Say(prose.Plural(g.count, "its", "their")).Say(" volumes and network")
	case Starting:
		switch {
		case g.pod.Scheduler != "":
			f.Unblocks = g.when(or, clause("that scheduler runs and finds a node"))
			return g.do("has no node yet, and scheduler ", "have no node yet, and scheduler ").Name(g.pod.Scheduler).Say(prose.Plural(g.count, " has said nothing of it", " has said nothing of them"))
		case g.pod.ResourceClaim != "":
			return g.sayDevices(w, f)
		case g.bare():
			return g.do("has no node yet", "have no node yet")
		case g.unheard:
			return g.sayUnheard(f)
		case g.reason == "":
			return g.do("is still starting", "are still starting")
		}
		return g.do("is still starting", "are still starting").Say(" (").Quote(g.reason).Say(")")
	case Startup:
		return append(g.do("has not passed the startup probe of ", "have not passed the startup probe of "), orIts(g.container())...)
	}
	return g.sayUnready()
}

// sayUnheard is pods on nodes that have said nothing of them.
func (g *group) sayUnheard(f *decision.Finding) decision.Words {
	if g.node == "" {
		f.Unblocks, f.Show = g.when(or, clause("their nodes start them")), "kubectl get nodes"
		return words("are still starting: their nodes have not reported on them")
	}
	it := prose.Plural(g.count, "it", "them")
	said := g.do("is still starting: node ", "are still starting: node ").Name(g.node)
	f.Unblocks, f.Show = g.when(or, way{said: words("node ").Name(g.node).Say(" starts " + it)}), "kubectl describe node "+g.node
	if g.pod.NodeNamed { // Nobody has seen to it that there is such a node.
		f.NeedsAction = !g.usual
		f.Unblocks = g.when(commaOr, way{said: words("node ").Name(g.node).Say(" exists and starts " + it)}, theTemplate("names another"))
		said = said.Say(", which no scheduler chose,")
	}
	return said.Say(" has not reported on " + it)
}

// ClaimTemplate and NamedClaim begin what a pod says of the ResourceClaim that it needs, before the name.
const (
	ClaimTemplate = "ResourceClaimTemplate "
	NamedClaim    = "ResourceClaim "
)

// sayDevices is a pod that the scheduler does not look at: it does not while a ResourceClaim is missing.
func (g *group) sayDevices(w Pods, f *decision.Finding) decision.Words {
	f.NeedsAction = !g.usual // By then a claim that can be made has been made.
	if name, ok := strings.CutPrefix(g.pod.ResourceClaim, ClaimTemplate); ok {
		f.Unblocks, f.Show = g.when(or, clause("that template exists and a node has what it claims")), kubectl(w.Namespace, "get resourceclaimtemplate "+name)
		return g.do("has no node yet", "have no node yet").Say(": no ResourceClaim has been made from " + ClaimTemplate).Name(name).Say(prose.Plural(g.count, " for it", " for them"))
	}
	name := strings.TrimPrefix(g.pod.ResourceClaim, NamedClaim)
	f.Unblocks, f.Show = g.when(or, clause("that claim exists and a node has what it claims")), kubectl(w.Namespace, "get resourceclaim "+name)
	return g.do("has no node yet, and needs "+NamedClaim, "have no node yet, and need "+NamedClaim).Name(name)
}

// GateSays stands in the message of a pod before what the condition of its readiness gate says.
const GateSays = "; its condition: "

func (g *group) sayGate(f *decision.Finding) decision.Words {
	f.Unblocks = g.when(or, clause("its readiness gate is set"))
	said := g.do("waits", "wait").Say(" for a readiness gate")
	if gate, ok := between(g.pod.Message, `readiness gate "`, `"`); ok {
		said = g.do("waits", "wait").Say(" for readiness gate ").Name(gate)
	}
	if _, why, ok := strings.Cut(g.pod.Message, GateSays); ok {
		f.Unblocks = g.when(or, clause("that condition becomes True"))
		said = said.Say(" (").Quote(prose.ClipMiddle(why, longest)).Say(")")
	}
	return said
}

// sayUnready is a pod that runs and is not ready.
func (g *group) sayUnready() decision.Words {
	switch name := g.unreadyContainer(); {
	case name != "":
		return g.do("does", "do").Say(" not pass the readiness probe of container ").Name(name)
	case g.pod.Reason == "" || g.pod.Reason == "ContainersNotReady":
		return g.do("is running but not ready", "are running but not ready")
	default:
		return g.do("is not ready", "are not ready").Say(" (").Quote(prose.ClipMiddle(g.pod.Reason, 40)).Say(")")
	}
}

// unreadyContainer is the container that is not ready: by its own status, or by the
// pod's condition "containers with unready status: [app sidecar]".
func (g *group) unreadyContainer() string {
	if c := &g.pod.ContainerState; c.Container != "" {
		return c.Container
	}
	names, ok := between(g.pod.Message, "containers with unready status: [", "]")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(names, " ")
	return name
}
