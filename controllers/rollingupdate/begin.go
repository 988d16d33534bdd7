package rollingupdate

import (
	"strconv"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// split gives the old pods a label that the new ones have with another value ([RU-6]). It
// reports whether something is left to do.
func (t *decider) split() bool {
	old := t.s.Old
	if old == nil || t.s.Request.Image == "" || t.s.New != nil && t.s.Apart && old.SelectorKey == "" {
		return false // It is gone, or the two are told apart by other labels.
	}
	key := t.s.Request.DeploymentKey
	if old.SelectorKey == "" {
		return t.labelTemplate(key) || !t.templateSeen() || t.labelPods(key) || t.narrowSelector(key)
	}
	if old.Original != nil {
		return false // Pods without the label are somebody else's by now.
	}
	return t.deleteStrays()
}

// oldKey is the value of the label that the old pods get.
func (t *decider) oldKey() string {
	if key := t.s.Old.TemplateKey; key != "" {
		return key
	}
	return t.s.OldKey
}

func (t *decider) labelTemplate(key string) bool {
	if t.v.Path.Ask("RU-6.template", t.s.Old.TemplateKey != "", decision.Text("key", key)) {
		return false
	}
	t.act(decision.Action{
		Kind: decision.Update, Target: t.s.ref(t.s.Old), Question: "RU-6.template",
		Changes: []decision.Change{
			{Field: labelField("spec.template.metadata.labels", key), To: t.s.OldKey},
			t.stepped(t.s.Old), // Strays are younger than this.
		},
	})
	return true
}

// templateSeen asks whether its own loop makes pods with the label by now. Whatever pod it made
// without can be found then.
func (t *decider) templateSeen() bool {
	old := t.s.Old
	if t.v.Path.Ask("RU-6.seen", old.reported(), decision.Count("generation", old.Generation), decision.Count("observed", old.Observed)) {
		return true
	}
	t.hold(decision.Held{
		Code: heldSeen, Question: "RU-6.seen", Kind: decision.Label, Target: t.s.ref(old),
		Unblocks: words("when the status of ").Name(old.Name).Say(" shows that its loop has seen its template"),
		When:     decision.Unblock{Event: decision.StatusObserved, Of: t.s.ref(old)},
	})
	t.from, t.to, t.desired = old, &Controller{Name: old.Name, Progress: old.Progress}, old.Size
	t.waits(leafSeen)
	return false
}

func (t *decider) labelPods(key string) bool {
	var without []*Pod
	for i := range t.s.Old.Pods {
		if p := &t.s.Old.Pods[i]; p.Key != t.oldKey() {
			without = append(without, p)
		}
	}
	if t.v.Path.Ask("RU-6.pods", len(without) == 0, decision.Count("without", int64(len(without)))) {
		return false
	}
	for _, p := range without {
		t.act(decision.Action{
			Kind: decision.Label, Target: t.s.podRef(p), Discipline: decision.VisitAll, Question: "RU-6.pods",
			Changes: []decision.Change{{Field: labelField("metadata.labels", key), From: p.Key, To: t.oldKey()}},
		})
	}
	return true
}

// narrowSelector is asked where the selector lacks the label, so the answer is known.
func (t *decider) narrowSelector(key string) bool {
	t.v.Path.Ask("RU-6.selector", false, decision.Text("key", key))
	t.act(decision.Action{
		Kind: decision.Update, Target: t.s.ref(t.s.Old), Question: "RU-6.selector",
		Changes: []decision.Change{{Field: labelField("spec.selector", key), To: t.oldKey()}},
	})
	return true
}

func (t *decider) deleteStrays() bool {
	var strays []*Pod
	for i := range t.s.Strays {
		if p, since := &t.s.Strays[i], t.s.Old.Stepped; !since.IsZero() && !p.Created.Before(since.Truncate(time.Second)) {
			strays = append(strays, p)
		}
	}
	if !t.v.Path.Ask("RU-6.strays", len(strays) > 0, decision.Count("strays", int64(len(strays)))) {
		return false
	}
	for _, p := range strays {
		t.act(decision.Action{Kind: decision.Delete, Target: t.s.podRef(p), Discipline: decision.VisitAll, Question: "RU-6.strays"})
	}
	return true
}

// begin writes down where the update started ([RU-7]). It reports whether that is left to do.
func (t *decider) begin() bool {
	old := t.s.Old
	if old == nil {
		return false
	}
	if t.v.Path.Ask("RU-7.begun", old.Original != nil && old.Next == t.s.NewName) {
		return false
	}
	var changes []decision.Change
	if old.Original == nil {
		size := strconv.FormatInt(old.Size, 10)
		changes = append(changes, annotate(AnnotationOriginal, "", size), annotate(AnnotationSize, number(old.Given), size))
	}
	if old.Next != t.s.NewName {
		changes = append(changes, annotate(AnnotationNext, old.Next, t.s.NewName))
	}
	t.act(decision.Action{Kind: decision.Update, Target: t.s.ref(old), Question: "RU-7.begun", Changes: changes})
	return true
}

// create makes the new one, without pods ([RU-7]). It reports whether that is left to do.
func (t *decider) create() bool {
	if t.v.Path.Ask("RU-7.new", t.s.New != nil, decision.Text("new", t.s.NewName)) {
		return false
	}
	old := t.s.Old
	t.act(decision.Action{
		Kind: decision.Create, Target: decision.Ref{Kind: kindController, Namespace: t.s.Namespace, Name: t.s.NewName}, Question: "RU-7.new",
		Size: &decision.Size{},
		Changes: []decision.Change{
			{Field: "spec.template.spec.containers.image", From: old.chosen(t.s.Request.Container).Image, To: t.s.Request.Image},
			{Field: labelField("spec.selector", t.s.Request.DeploymentKey), To: t.s.NewKey},
			{Field: labelField("spec.template.metadata.labels", t.s.Request.DeploymentKey), To: t.s.NewKey},
			annotate(AnnotationSource, "", t.s.sourceID()),
			annotate(AnnotationDesired, "", strconv.FormatInt(*old.Original, 10)),
			annotate(AnnotationSize, "", "0"),
		},
	})
	return true
}

func annotate(key, from, to string) decision.Change {
	return decision.Change{Field: labelField("metadata.annotations", key), From: from, To: to}
}

func labelField(of, key string) string { return of + "[" + key + "]" }
