package diagnosis

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Lately is for how long the end of a pod may tell why its owner lacks one. What is
// older has been replaced, or is kept by something else by now.
const Lately = 10 * time.Minute

// replacedWithin is how long after the end of a pod its replacement is created.
const replacedWithin = time.Minute

// Gap is the pods that an owner lost and lacks.
type Gap struct {
	Lost []decision.DisruptedPod
	// Blocking are its pods that are not available, and NotCreated counts those that
	// are not created.
	Blocking   []decision.Pod
	NotCreated int64
	// Known is what keeps these.
	Known []decision.Finding
}

// Disrupted tells which pods the cluster took away lately. A pod that is replaced is
// left out, and so is one whose replacement is kept by something else. Pods that are
// taken away one after another are always told.
func (w Pods) Disrupted(g Gap) []decision.Finding {
	if len(g.Blocking) == 0 && g.NotCreated <= 0 {
		return nil
	}
	var groups []disruptions
	for i := range g.Lost {
		if p := &g.Lost[i]; w.Before(p.At.Add(Lately)) {
			groups = join(groups, p)
		}
	}
	var list []decision.Finding
	for i := range groups {
		if l := &groups[i]; l.again() || g.lacks(l) && (l.code == Preempted || !g.keeps()) {
			f := l.finding(w)
			f.NeedsAction = f.NeedsAction || l.code == Preempted && g.keeps()
			list = append(list, f)
		}
	}
	return list
}

// lacks reports whether a replacement of one of the pods is not available.
func (g *Gap) lacks(l *disruptions) bool {
	if g.NotCreated > 0 {
		return true
	}
	for _, p := range l.pods {
		for i := range g.Blocking {
			if after := g.Blocking[i].Created.Sub(p.At); after >= 0 && after < replacedWithin {
				return true
			}
		}
	}
	return false
}

// keeps reports whether more is known of the pods than what every pod goes through.
func (g *Gap) keeps() bool {
	for i := range g.Known {
		if f := &g.Known[i]; !f.Usual && f.Code != MinReady {
			return true
		}
	}
	return false
}

// disruptions are pods that were taken away for the same reason.
type disruptions struct {
	code, why string
	pods      []*decision.DisruptedPod
}

func join(groups []disruptions, p *decision.DisruptedPod) []disruptions {
	code, why := disruption(&p.Disruption)
	for i := range groups {
		if l := &groups[i]; l.code == code && l.why == why {
			l.pods = append(l.pods, p)
			return groups
		}
	}
	return append(groups, disruptions{code, why, []*decision.DisruptedPod{p}})
}

// Why pods were evicted. What a node was short of is named by itself.
const (
	byRequest      = "Eviction API"
	byTaint        = "taint"
	byNodeShutdown = "no node"
	byShutdown     = "shutdown"
	byLimit        = "limit"
)

// passes are reasons that end by themselves, however many pods they take.
var passes = map[string]bool{byRequest: true, byNodeShutdown: true, byShutdown: true}

// disruption sorts the words of whoever took a pod away. The kubelet alone gives
// the status a reason; what it rejects at once never was the target of anything.
func disruption(d *decision.Disruption) (code, why string) {
	_, low, _ := strings.Cut(d.Message, lowOn)
	low, _, _ = strings.Cut(low, ".")
	switch {
	case strings.HasPrefix(d.Target, "PreemptionBy"), d.Reason == "Preempting":
		return Preempted, d.Reason
	case d.Target == "EvictionByEvictionAPI":
		return Evicted, byRequest
	case d.Target == "DeletionByTaintManager":
		return Evicted, byTaint
	case d.Target == "DeletionByPodGC":
		return Evicted, byNodeShutdown
	case strings.HasPrefix(d.Message, rejection), d.Target == "" && d.Reason != "Evicted":
		return Rejected, d.Reason
	case low != "":
		return Evicted, low
	case d.Reason == "Terminated":
		return Evicted, byShutdown
	case strings.Contains(d.Message, "exceed"):
		return Evicted, byLimit
	}
	return Evicted, ""
}

// lowOn begins what a kubelet says of pods that it evicts for want of something.
const lowOn = "The node was low on resource: "

// rejection begins what a kubelet says of pods that it does not admit.
const rejection = "Pod was rejected: "

// again reports whether a pod was taken away that came after another one had been.
func (l *disruptions) again() bool {
	first := l.first()
	for _, p := range l.pods {
		if !p.Created.Before(first) && p.At.After(first) {
			return true
		}
	}
	return false
}

func (l *disruptions) first() time.Time {
	first := l.pods[0].At
	for _, p := range l.pods {
		if p.At.Before(first) {
			first = p.At
		}
	}
	return first
}

// newest is the pod whose words are quoted.
func (l *disruptions) newest() *decision.DisruptedPod {
	newest := l.pods[0]
	for _, p := range l.pods {
		if p.At.After(newest.At) {
			newest = p
		}
	}
	return newest
}

func (l *disruptions) finding(w Pods) decision.Finding {
	p := l.newest()
	f := decision.Finding{Code: l.code, Count: int64(len(l.pods)), Since: l.first(), Message: p.Message, NeedsAction: l.again() && !passes[l.why],
		Show: kubectl(w.Namespace, "describe pod "+p.Name)}
	for _, p := range l.pods[:min(len(l.pods), MaxNamed)] {
		f.Pods = append(f.Pods, p.Name)
	}
	switch l.code {
	case Preempted:
		f.After, f.Unblocks = l.sayPreempted(), words("when pods of higher priority leave, or a node has more room")
		f.Show = kubectl(w.Namespace, "get events --field-selector reason="+l.event())
	case Rejected:
		f.After = l.quoted(l.kubelet(l.were(" rejected")))
		f.Unblocks = words("when a node admits ").Say(l.one("it", "them"))
	default:
		f.After = l.sayEvicted(w, &f)
	}
	return f
}

// were is " was evicted", and says whether that happened to one pod after another.
func (l *disruptions) were(what string) decision.Words {
	w := words(l.one(" was", " were") + what)
	if l.again() {
		w = w.Say(" one after another")
	}
	return w
}

func (l *disruptions) one(one, many string) string {
	return prose.Plural(int64(len(l.pods)), one, many)
}

// from adds where the pods were.
func (l *disruptions) from(w decision.Words) decision.Words {
	switch name := l.pods[0].Node; {
	case l.nodes() > 1:
		return w.Say(" from their nodes")
	case name == "":
		return w.Say(l.one(" from its node", " from their node"))
	default:
		return w.Say(" from node ").Name(name)
	}
}

// kubelet adds whose doing it was.
func (l *disruptions) kubelet(w decision.Words) decision.Words {
	switch name := l.pods[0].Node; {
	case l.nodes() > 1:
		return w.Say(" by their kubelets")
	case name == "":
		return w.Say(l.one(" by its kubelet", " by their kubelet"))
	default:
		return w.Say(" by the kubelet of node ").Name(name)
	}
}

// quoted adds the words of the kubelet.
func (l *disruptions) quoted(w decision.Words) decision.Words {
	p := l.newest()
	said := strings.TrimPrefix(p.Message, rejection)
	if said == "" {
		said = p.Reason
	}
	return bracketed(w, said)
}

// bracketed adds words of others, where there are any.
func bracketed(w decision.Words, said string) decision.Words {
	if said = prose.ClipMiddle(said, longest); said == "" {
		return w
	}
	return w.Say(" (").Quote(said).Say(")")
}

func (l *disruptions) sayPreempted() decision.Words {
	if l.pods[0].Reason != "" { // The scheduler gives none.
		return l.quoted(l.kubelet(l.were(" preempted")))
	}
	return l.were(" preempted").Say(" to make room for pods of higher priority")
}

// event is the reason of the events that tell of a preemption.
func (l *disruptions) event() string {
	if l.pods[0].Reason != "" {
		return l.pods[0].Reason
	}
	return "Preempted"
}

func (l *disruptions) sayEvicted(w Pods, f *decision.Finding) decision.Words {
	p := l.newest()
	f.Unblocks = words("when ").Say(l.one("its replacement becomes", "their replacements become")).Say(" available")
	evicted := l.from(l.were(" evicted"))
	switch l.why {
	case byRequest:
		f.Show = "kubectl get nodes"
		return evicted.Say(" through the Eviction API, as in a drain")
	case byTaint:
		f.Show = "kubectl describe node " + p.Node
		if l.again() {
			f.Unblocks = w.Template.when(0, commaOr, clause("the taint is removed"), theTemplate("tolerates it"))
		}
		return evicted.Say(" by a NoExecute taint")
	case byNodeShutdown:
		f.Show = "kubectl get nodes"
		if len(l.pods) > 1 {
			return words(" were deleted, as their nodes no longer exist")
		}
		return words(" was deleted, as node ").Name(p.Node).Say(" no longer exists")
	case byShutdown:
		f.Show = "kubectl describe node " + p.Node
	case byLimit:
		f.NeedsAction = true
		f.Unblocks = w.Template.when(0, or, way{said: words(l.one("it uses", "they use")).Say(" less")}, theTemplate("allows more"))
	case "":
		if l.again() {
			f.Unblocks = words("when they can stay on a node")
		}
	default:
		short := prose.ClipMiddle(l.why, 40)
		if l.again() {
			f.Unblocks = w.Template.when(0, commaOr, way{said: words("a node has more ").Told(short).Say(" free")}, theTemplate("requests what they use"))
		}
		return bracketed(l.shortOf(evicted, short), l.users())
	}
	return l.quoted(evicted)
}

// shortOf says what the nodes had too little of.
func (l *disruptions) shortOf(w decision.Words, what string) decision.Words {
	return w.Say(", which ").Say(prose.Plural(l.nodes(), "was", "were")).Say(" low on ").Told(what)
}

// users is what the kubelet says of the containers that used the resource; where it
// names none, what it says of its threshold.
func (l *disruptions) users() string {
	_, said, _ := strings.Cut(l.newest().Message, lowOn+l.why+".")
	if _, containers, found := strings.Cut(said, "Container "); found {
		said = strings.ReplaceAll("container "+containers, ", has larger consumption of "+l.why, "")
	}
	return said
}

// nodes is how many nodes the pods were on.
func (l *disruptions) nodes() int64 {
	on := map[string]bool{}
	for _, p := range l.pods {
		on[p.Node] = true
	}
	return int64(len(on))
}
