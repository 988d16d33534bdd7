package decision

import (
	"fmt"
	"slices"
	"strings"
)

// Reason is one stable code: what a script may compare with, and what a person
// has to know who reads it on a page, in JSON or in an alert.
type Reason struct {
	Code string `json:"code"`
	// Means says what is so.
	Means string `json:"means"`
	// Meanwhile says what the loop does as long as it is so.
	Meanwhile string `json:"meanwhile"`
	// Unblocks says what ends it.
	Unblocks string `json:"unblocks"`
	// Do says what a person can do about it.
	Do string `json:"do"`
	// Questions are the ids of those that lead to it; none where the worker
	// around a loop gives it.
	Questions []string `json:"questions,omitempty"`
}

// Reasons are the codes of one kind in one scope.
type Reasons struct {
	// Scope is the loop, or "worker" for what all loops share.
	Scope string `json:"scope"`
	// Kind says where the codes stand: "sentence", "held", "unblock", "timer",
	// "cause", "back-off", "result", "outcome", "tone".
	Kind string `json:"kind"`
	// Doc says in a sentence where a reader meets them.
	Doc  string   `json:"doc"`
	List []Reason `json:"list"`
	// Or are the codes of another kind that may stand in the same place.
	Or *Reasons `json:"-"`
}

// Find returns the reason with that code.
func (r Reasons) Find(code string) (Reason, bool) {
	i := slices.IndexFunc(r.List, func(x Reason) bool { return x.Code == code })
	switch {
	case i >= 0:
		return r.List[i], true
	case r.Or != nil:
		return r.Or.Find(code)
	default:
		return Reason{}, false
	}
}

// AnchorOf is the anchor of a code in the list that declares it, "" where none does.
func (r Reasons) AnchorOf(code string) string {
	for _, x := range r.List {
		if x.Code == code {
			return r.Anchor(x)
		}
	}
	if r.Or == nil {
		return ""
	}
	return r.Or.AnchorOf(code)
}

// Because builds a reason; its texts are in the order of its fields.
func Because(code, means, meanwhile, unblocks, do string, questions ...string) Reason {
	return Reason{Code: code, Means: means, Meanwhile: meanwhile, Unblocks: unblocks, Do: do, Questions: questions}
}

// ReasonsMarkdown renders REASONS.md: a section for every code. loops are the
// catalogues whose questions the codes refer to.
func ReasonsMarkdown(loops []Catalogue, all ...Reasons) string {
	var b strings.Builder
	b.WriteString("# Reasons\n\n" +
		"Every stable code that traces, pages, JSON, metrics and histories use, and what to do about it. Questions are those of\n" +
		"[DECISIONS.md](DECISIONS.md), and rules those of [RULES.md](RULES.md). Generated from the catalogues by `go generate ./controllers/...`; do not edit.\n\n" +
		"| scope | codes |\n| --- | --- |\n")
	for _, r := range all {
		codes := make([]string, len(r.List))
		for i, x := range r.List {
			codes[i] = fmt.Sprintf("[`%s`](#%s)", x.Code, r.Anchor(x))
		}
		fmt.Fprintf(&b, "| %s, %s | %s |\n", r.Scope, r.Kind, strings.Join(codes, ", "))
	}
	for _, r := range all {
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s\n", r.Scope, r.Kind, r.Doc)
		for _, x := range r.List {
			b.WriteString("\n")
			for _, id := range r.anchors(x, all) {
				fmt.Fprintf(&b, "<a id=\"%s\"></a>\n", id)
			}
			r.section(&b, loops, x)
		}
	}
	return b.String()
}

func (r Reasons) section(b *strings.Builder, loops []Catalogue, x Reason) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", x.Code, x.Means)
	fmt.Fprintf(b, "- Meanwhile: %s\n- Until: %s\n- What to do: %s\n", x.Meanwhile, x.Unblocks, x.Do)
	var links, rules []string
	for _, id := range x.Questions {
		for _, c := range loops {
			if q, ok := c.Find(id); ok && (c.Loop == r.Scope || r.Scope == "worker") {
				links = append(links, fmt.Sprintf("[`%s`](DECISIONS.md#%s)", id, anchor(c.Loop, q.ID)))
				if rule := fmt.Sprintf("[%s](RULES.md#%s)", q.Tag, RuleAnchor(q.Tag)); !slices.Contains(rules, rule) {
					rules = append(rules, rule)
				}
			}
		}
	}
	if len(links) > 0 {
		fmt.Fprintf(b, "- Questions: %s\n- Rules: %s\n", strings.Join(links, ", "), strings.Join(rules, ", "))
	}
}

// anchors are that of a reason, and one for every loop whose sentences may have its code: who knows
// no more than a loop and a code, as an alert does, can link to #LOOP-sentence-CODE.
func (r Reasons) anchors(x Reason, all []Reasons) []string {
	list := []string{r.Anchor(x)}
	for _, said := range all {
		shared := r.Scope == "worker" && r.Kind == said.Kind || said.Or != nil && said.Or.Scope == r.Scope && said.Or.Kind == r.Kind
		its := func(other Reason) bool { return other.Code == x.Code }
		if said.Kind == "sentence" && said.Scope != r.Scope && shared && !slices.ContainsFunc(said.List, its) {
			list = append(list, said.Anchor(x))
		}
	}
	return list
}

// Anchor is stable: a link to a code survives a change of its words.
func (r Reasons) Anchor(x Reason) string { return r.Scope + "-" + r.Kind + "-" + x.Code }

// ToneReasons are the five tones.
var ToneReasons = Reasons{Scope: "worker", Kind: "tone", Doc: "The outcome of an object, in its sentence, on every page and as a label of metrics. An object has the first that holds.", List: []Reason{
	Because(string(ToneFailed), "It cannot be fixed automatically, or a write was refused.", "The loop keeps the status up to date and tries again where that may help.", "A change from outside: of the object, of a quota, of an image.", "Read the sentence: it names what refuses and what would release it."),
	Because(string(ToneNeutral), "Somebody chose it: paused, being deleted, scaled to nothing, gone.", "Nothing is rolled out; the number of replicas is still maintained.", "The choice is taken back.", "No action needed."),
	Because(string(ToneMoving), "A size was written, or a count changed, within the last minute.", "The next step follows from the echo of the last one.", "It completes, or a minute passes without a change.", "Wait."),
	Because(string(ToneWaiting), "A step is held back, and what releases it is known.", "The loop looks again at every event of the object and at its timers.", "What the second sentence says.", "Read what is held back, with its numbers and blockers."),
	Because(string(ToneOK), "Everything that is wanted is there.", "Nothing, until something changes.", "Only a change ends it.", "No action needed."),
}}

// StateReasons are the outcomes of single writes.
var StateReasons = Reasons{Scope: "worker", Kind: "outcome", Doc: "How one write ended, in the outcomes of a trace.", List: []Reason{
	Because(string(Written), "The API server took the write; the outcome has its resourceVersion.", "The loop waits for the echo before it decides on that object again.", "It is final.", "Follow its resourceVersion to the sync that it woke."),
	Because(string(Partly), "Of several pods some were created or deleted and some were not.", "The next sync continues with what is left, after a back-off.", "The next try.", "Read the failure beside it: it is that of the first pod that was refused."),
	Because(string(Refused), "The API server refused the write: a webhook, a quota, a rule or a missing permission.", "It is tried again with back-off, unless the failure is terminal.", "The refusing component allows it, or the object changes.", "Read the failure's message; the API server's audit log has the request."),
	Because(string(Unanswered), "No API server was there, or able to serve: nothing was written.", "What still has to be written is tried again with back-off, and at once when one serves again.", "An API server serves.", "Look at the API server and its etcd: `kubectl get --raw /readyz?verbose`."),
	Because(string(Conflicted), "Another writer was first: the resourceVersion that was decided on is not the newest.", "Nothing was written. The next sync decides on the newer version.", "The next sync.", "Look at the manager named beside it. Two programs that fight over one field conflict again and again."),
	Because(string(Superseded), "Nothing was sent, as a newer write of this process to the same object exists, or the cache moved on.", "The loop waits for the echo of that write.", "The echo, or a timer of a second.", "No action needed."),
	Because(string(Unknown), "The reply was lost, or was an internal error of the API server: the write may have been done or not.", "The next sync of the key reads live before it decides.", "That live read.", "Look at the connection to the API server where it happens often."),
	Because(string(Tolerated), "It was refused in a way that the rules ignore: the object is gone already.", "The loop continues.", "It is final.", "No action needed."),
	Because(string(NotTried), "An earlier failure, or something learnt, ended the round before this write.", "The next round or sync decides anew whether it is needed.", "The next round.", "Look at the first write of the round that failed."),
}}

// UnblockReasons are the events that release held writes.
var UnblockReasons = Reasons{Scope: "worker", Kind: "unblock", Doc: "What would release a held write, for a program: `held[].when.event` of a trace, with the object, the number and the time beside it.", List: []Reason{
	Because(string(PodsAvailable), "That many more pods have to become available: of the new ReplicaSet, or of the whole Deployment.", "Old pods stay.", "Pods that become ready and stay so for minReadySeconds.", "Look why pods are not available; they may be of an old template."),
	Because(string(PodsReady), "That many pods of the new ReplicaSet have to become ready.", "Old pods stay.", "Readiness probes that succeed.", "Look at the blockers: each says what it waits for."),
	Because(string(PodsStayReady), "That many pods are ready and have to stay so until the time given.", "Old pods stay.", "Only time.", "Wait, or lower minReadySeconds."),
	Because(string(PodsCreated), "The new ReplicaSet has to be able to create its pods.", "Its own loop tries again with back-off.", "The refusing component allows them.", "Read the blocker's message."),
	Because(string(OldPodsGone), "That many old pods have to be gone.", "No new pods are started.", "Old pods end, or a size is lowered.", "Look at pods that take long to end: finalizers, grace periods, a node that is down."),
	Because(string(QuotaRoom), "The quota has to leave room for that many pods.", "The ReplicaSet tries again with back-off.", "Pods of the namespace end, or the quota grows.", "Raise the quota, or lower maxSurge so that an old pod goes first."),
	Because(string(StatusObserved), "The status of that ReplicaSet has to catch up with its size.", "Nothing is decided on the old status.", "A status written by the ReplicaSet loop.", "Look at the queue of the ReplicaSet loop if it takes longer than seconds."),
	Because(string(Resumed), "The Deployment, or the rolling update, has to be resumed.", "Scaling of a Deployment still works; nothing is rolled out.", "spec.paused, or paused in the request, becomes false.", "`kubectl rollout resume`, or `loopscope rolling-update resume`."),
	Because(string(WriteSeen), "The cache has to show a write of this process.", "Nothing is decided.", "The watch event of that write; a live read after five minutes.", "Look at the informer's lag on the page of the queues."),
	Because(string(RequestsSeen), "The pods that were created or deleted have to be seen.", "No further pods are created or deleted.", "Their watch events, or five minutes.", "Look at the informer's lag on the page of the queues."),
	Because(string(ParentSeen), "The cache has to show what a live read said of the object itself.", "Nothing is adopted.", "The watch event.", "No action needed."),
	Because(string(Asked), "Somebody has to ask for it.", "Nothing is written.", "A request on the object.", "Ask for it, or leave it."),
	Because(string(PeriodOver), "The period between two steps has to pass.", "Nothing is written.", "Only time.", "Wait, or shorten the period."),
	Because(string(PodsReleased), "The pods have to lose their controller.", "Nobody replaces a pod that ends.", "Their own loop removes its owner reference.", "Look at the queue of the ReplicationController loop if it takes longer than seconds."),
	Because(string(SizeRestored), "It has to have the size again that the update has given it.", "Nothing is scaled.", "Somebody scales it back.", "Stop what scales it, and scale it back."),
	Because(string(Never), "Nothing releases it.", "Nothing is tried again.", "The end of the namespace.", "No action needed."),
}}
