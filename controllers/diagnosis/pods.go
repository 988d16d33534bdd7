package diagnosis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// MaxNamed bounds the pods that a finding names.
const MaxNamed = 3

// Pods is what pods are looked at with.
type Pods struct {
	Namespace string
	// Now is the instant of the look, Moved when a count last changed, and Usual how
	// long pods take here from their creation until they are ready.
	Now, Moved time.Time
	Usual      time.Duration
	// Template is how another template reaches the pods.
	Template Template
	// Leaving are the pods of the same owner that go, whose room is for its others, or those of them alone that
	// request at least as much as the others do; nil where none go.
	Leaving func(alike bool) Leaving
	// Next, where it is given, becomes the next instant at which the clock alone makes
	// other findings.
	Next *time.Time
}

// Before reports whether it is earlier than that, and notes in Next when it will not be.
func (w Pods) Before(at time.Time) bool {
	early := w.Now.Before(at)
	if early && w.Next != nil && (w.Next.IsZero() || at.Before(*w.Next)) {
		*w.Next = at
	}
	return early
}

// isEarly reports whether pods of that age, or the rollout they belong to, need not
// have got any further yet.
func (w Pods) isEarly(created time.Time) bool {
	return w.Before(created.Add(w.Usual)) || w.Before(w.Moved.Add(w.Usual))
}

// Waiting tells why pods that are not available are not: pods that wait for the
// same make one finding.
func (w Pods) Waiting(pods []decision.Pod) []decision.Finding {
	if len(pods) == 0 {
		return nil
	}
	groups, _ := w.groups(pods)
	list := make([]decision.Finding, len(groups))
	for i := range groups {
		list[i] = groups[i].finding(w)
	}
	Rank(list)
	return list
}

// group is pods that wait for the same.
type group struct {
	code   string
	pod    *decision.Pod // what is said of it holds for all; mostly the first
	also   string        // another container that fails in one of them
	detail string        // what tells it from other groups of the code
	pull   string        // why an image cannot be pulled, "" where it is not said
	reason string        // of pods that start, "" where they have several
	pods   []string
	node   string // the node of all of them, "" where they have several
	// unheard is set where all of them have nodes, and none has said a word of them.
	unheard bool
	count   int64
	since   time.Time
	exits   int64 // the highest number of restarts
	usual   bool
	// passing is set where it may come right by itself in all of them. Otherwise a pod in which it fails is the one told of.
	passing bool
	// template is how another one reaches them.
	template Template
}

// schedulerFailed is the reason of a pod that the scheduler chose a node for, and could not bind to it.
const schedulerFailed = "SchedulerError"

// sameWords reports whether two pods say the same word for word, so that whatever is made
// of one holds for the other.
func sameWords(a, b *decision.Pod) bool {
	x, y := &a.ContainerState, &b.ContainerState
	return a.Ready == b.Ready && a.Reason == b.Reason && a.Phase == b.Phase && a.Message == b.Message && a.Image == b.Image &&
		x.Container == y.Container && x.Role == y.Role && x.Probe == y.Probe && x.Exit == nil && y.Exit == nil && (a.Node == "") == (b.Node == "") &&
		x.NotSetUp == y.NotSetUp && x.Also == y.Also && x.AlsoRunning.Equal(y.AlsoRunning) && a.Nominated == b.Nominated && a.Scheduler == b.Scheduler && a.ResourceClaim == b.ResourceClaim && a.NodeNamed == b.NodeNamed
}

// join adds a pod that says what the first pod of the group says.
func (g *group) join(w Pods, p *decision.Pod) {
	g.count += 1 + p.Like
	g.shareNode(p.Node)
	if len(g.pods) < MaxNamed {
		g.pods = append(g.pods, p.Name)
	}
	if since := since(g.code, p); since.Before(g.since) {
		g.since = since
	}
	g.usual = g.usual && w.isEarly(p.Created)
}

func (g *group) shareNode(node string) {
	if g.node != node {
		g.node = ""
	}
}

// Since is when a pod came into what it waits for; zero where nobody knows.
func (w Pods) Since(p *decision.Pod) time.Time { return since(w.codeOf(p), p) }

// since is when a pod came into what it waits for, as far as anybody says; zero where nobody knows.
func since(code string, p *decision.Pod) time.Time {
	switch {
	case code == MinReady:
		return p.ReadySince
	case readyBetween(code, p):
		return time.Time{}
	case p.Since.IsZero():
		return p.Created
	default:
		return p.Since
	}
}

// readyBetween reports whether the pod was ready between crashes, so that it crashed before it was last ready.
func readyBetween(code string, p *decision.Pod) bool {
	switch code {
	case Crash, Memory, Start, Sidecar:
		return p.Exit != nil && p.Exit.Restarts > 1 && !p.Exit.At.IsZero() && !p.Since.Before(p.Exit.At)
	default:
		return false
	}
}

func (w Pods) group(p *decision.Pod) group {
	g := group{code: w.codeOf(p), template: w.Template, pod: p, count: 1 + p.Like, pods: []string{p.Name}, node: p.Node, also: w.alsoFails(p), detail: p.ContainerState.Container}
	g.since = since(g.code, p)
	if p.Exit != nil {
		g.exits = p.Exit.Restarts
	}
	switch g.code {
	case Image:
		g.pull, g.detail = pullTrouble(p), p.Image
	case Claim, Node, Config, Start:
		// What is said tells them apart, and not the message, in which a pod may be named.
		said := g.say(w, new(decision.Finding)).At(w.Now)
		g.detail = strings.ReplaceAll(said, p.Name, "it")
	case Starting:
		g.usual = w.isEarly(p.Created)
		g.detail, g.reason = cmp.Or(p.Scheduler, p.ResourceClaim), p.Reason
		if p.NodeNamed {
			g.detail = p.Node
			if !w.Moved.IsZero() { // Pods on a node that does not exist are replaced before they are old.
				g.usual = w.Before(w.Moved.Add(w.Usual))
			}
		}
		g.unheard = p.Node != "" && p.Reason == "" // A kubelet that knows a pod gives a reason.
	case Startup, Probe:
		g.usual = w.isEarly(p.Created)
	case Init, Sidecar, Memory, Crash:
		g.passing = w.passing(p)
	case Setup:
		g.usual, g.detail = w.isEarly(p.Created), ""
	case MinReady:
		g.detail = ""
	}
	return g
}

// same reports whether pods belong together. A back-off may not say what the error
// before it said: the image alone counts then.
func (g *group) same(other *group) bool {
	return g.code == other.code && g.detail == other.detail && (g.pull == other.pull || g.pull == "" || other.pull == "")
}

func (g *group) add(other group) {
	g.count += other.count
	g.shareNode(other.node)
	g.exits = max(g.exits, other.exits)
	g.usual, g.also, g.unheard = g.usual && other.usual, cmp.Or(g.also, other.also), g.unheard && other.unheard
	if len(g.pods) < MaxNamed {
		g.pods = append(g.pods, other.pods...)
	}
	switch {
	case g.pull == "" && other.pull != "":
		g.pull, g.pod = other.pull, other.pod
	case g.passing && !other.passing:
		g.pod, g.passing = other.pod, false
	case g.code == Starting && g.bare() && !other.bare(): // "No node yet" has to be true of all.
		g.pod = other.pod
	}
	if g.reason != other.reason {
		g.reason = ""
	}
	if other.since.Before(g.since) {
		g.since = other.since
	}
}

var pullReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}

// backoffReset is for how long a container has to run until the kubelet takes it for
// well and forgets how often it had to be started.
const backoffReset = 10 * time.Minute

// codeOf is what a pod waits for. A container that was started again a moment ago is
// still one that keeps crashing.
func (w Pods) codeOf(p *decision.Pod) string {
	c := p.ContainerState
	if c.Exit != nil && w.isWell(c.Running) {
		c.Exit = nil
	}
	switch {
	case p.Ready:
		return MinReady
	case p.Reason == "Unschedulable", p.Reason == schedulerFailed:
		if _, claim := claimTrouble(p.Message); claim {
			return Claim
		}
		return Node
	case p.Reason == "SchedulingGated":
		return Gated
	case p.Reason == "NodeLost", p.Reason == "NodeNotReady":
		return NodeGone
	case slices.Contains(pullReasons, p.Reason):
		return Image
	case p.Reason == "CreateContainerConfigError", p.Reason == "CreateContainerError":
		return Config
	case c.NotSetUp:
		return Setup
	case c.Role == decision.RoleInit:
		return Init
	case c.Role == decision.RoleSidecar:
		return Sidecar
	case p.Reason == "RunContainerError", p.Reason == "PostStartHookError", c.Exit != nil && (c.Exit.Reason == "StartError" || c.Exit.Reason == "ContainerCannotRun"):
		return Start
	case c.Exit != nil && c.Exit.Reason == "OOMKilled":
		return Memory
	case p.Reason == "CrashLoopBackOff", p.Reason == "Error", c.Exit != nil:
		return Crash
	case c.Probe == "startup":
		return Startup
	case p.Reason == "ReadinessGatesNotReady":
		return Gate
	case p.Reason == "" && p.Phase == "Pending", p.Reason == "ContainerCreating", p.Reason == "PodInitializing", p.Reason == "Pending":
		return Starting
	default:
		return Probe
	}
}

// isWell reports whether a container that was started again has run for long enough since.
func (w Pods) isWell(running time.Time) bool {
	return !running.IsZero() && !w.Before(running.Add(backoffReset))
}

// passing reports whether the container that a pod waits for may come right by itself: it has not ended, or is started
// again, as after its node was, and no more can be told of it yet.
func (w Pods) passing(p *decision.Pod) bool {
	e := p.Exit
	succeeded := e != nil && e.Code == 0 && p.Role == decision.RoleInit
	switch {
	case e == nil:
		return p.Role != ""
	case p.Running.IsZero(): // It waits in a new sandbox of its pod, or for its back-off.
		return p.Role != "" && (p.Reason == "PodInitializing" || p.Reason == "ContainerCreating") && (succeeded || e.Restarts <= 1)
	default:
		return succeeded || e.Restarts == 1 || w.isWell(p.Running)
	}
}

// alsoFails is another container of a pod that fails, "" for none.
func (w Pods) alsoFails(p *decision.Pod) string {
	if w.isWell(p.AlsoRunning) {
		return ""
	}
	return p.Also
}

// finding puts the group into words.
func (g *group) finding(w Pods) decision.Finding {
	f := decision.Finding{Code: g.code, Count: g.count, Pods: g.pods, Since: g.since, Message: g.pod.Message, Usual: g.usual,
		Show: kubectl(w.Namespace, "describe pod "+g.pod.Name)}
	said := g.say(w, &f)
	f.After = append(words(" "), said...)
	if g.also != "" {
		f.After = f.After.Say("; container ").Name(g.also).Say(" fails, too")
	}
	return f
}

// do picks the verb that goes with the number of pods.
func (g *group) do(one, many string) decision.Words { return words(prose.Plural(g.count, one, many)) }

// bare reports whether nothing is known of a pod that starts, not even a node.
func (g *group) bare() bool { return g.pod.Node == "" && g.pod.Reason == "" }

// container is " of container app", "" where there is no name.
func (g *group) container() decision.Words {
	if g.pod.ContainerState.Container == "" {
		return nil
	}
	return words("container ").Name(g.pod.ContainerState.Container)
}

// logs shows what the container said before it ended.
func (g *group) logs(w Pods, previous bool) string {
	command := "logs " + g.pod.Name
	if c := g.pod.ContainerState.Container; c != "" {
		command += " -c " + c
	}
	if previous {
		command += " --previous"
	}
	return kubectl(w.Namespace, command)
}

// ended is how the last run ended: "exit code 1", "killed by SIGSEGV".
func (g *group) ended() string {
	e := g.pod.Exit
	if e == nil {
		return g.pod.Reason
	}
	text := "exit code " + strconv.FormatInt(e.Code, 10)
	signal := e.Signal
	if signal == 0 {
		signal = e.Code - 128 // What is no signal has no name.
	}
	if name := signals[signal]; name != "" {
		text += ": " + name
	}
	return text + g.restarts()
}

func (g *group) restarts() string {
	if g.exits == 0 {
		return ""
	}
	return ", " + strconv.FormatInt(g.exits, 10) + prose.Plural(g.exits, " restart", " restarts")
}

var signals = map[int64]string{1: "SIGHUP", 2: "SIGINT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM"}

// pullTrouble is why an image cannot be pulled, "" where the message does not say.
func pullTrouble(p *decision.Pod) string {
	switch p.Reason {
	case "InvalidImageName":
		return invalidImage
	case "ErrImageNeverPull":
		return "not on the node, and imagePullPolicy is Never"
	case "SignatureValidationFailed":
		return "invalid signature"
	}
	message := strings.ToLower(p.Message)
	if p.Image != "" { // It may be called x509-exporter.
		message = strings.ReplaceAll(message, strings.ToLower(p.Image), "")
	}
	for _, t := range pullTroubles {
		if strings.Contains(message, t.theirs) {
			return t.ours
		}
	}
	if _, why, _ := strings.Cut(p.Message, "ErrImagePull: "); why != "" {
		return prose.ClipMiddle(prose.LastClause(why), 80)
	}
	if p.Reason == "ErrImagePull" {
		return prose.ClipMiddle(prose.LastClause(p.Message), 80)
	}
	return ""
}

// noAccess is what a registry says of an image that does not exist and of one that others may pull.
const noAccess = "no such image, or no access"

// pullTroubles in the order in which they are looked for: a registry that refuses a
// login often says "not found" as well.
var pullTroubles = []struct{ theirs, ours string }{
	{"qps exceeded", "pull rate limit of the node"},
	{"toomanyrequests", "registry rate limit"}, {"too many requests", "registry rate limit"}, {"rate limit", "registry rate limit"},
	{"unauthorized", "unauthorized"}, {"no basic auth credentials", "unauthorized"}, {"repository does not exist or may require", noAccess}, {"authorization failed", "unauthorized"},
	{"access denied", "denied"}, {"denied", "denied"}, {"forbidden", "denied"},
	{"no match for platform", "no image for the node's platform"}, {"manifest unknown", "not found"}, {"not found", "not found"}, {"does not exist", "not found"},
	{"x509", "registry certificate not trusted"}, {"no such host", "no such host"}, {"connection refused", "connection refused"},
	{"service unavailable", "registry unavailable"}, {"bad gateway", "registry unavailable"}, {"gateway timeout", "registry unavailable"}, {"internal server error", "registry unavailable"},
	{"i/o timeout", "timeout"}, {"deadline exceeded", "timeout"}, {"timeout", "timeout"}, {"no space left", "no space left on the node"},
}
