package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func (c *Cluster) syncUpdate() Step {
	c.due = timer{at: c.due.at}
	s := c.Update()
	step := Step{At: c.now, Loop: rollingupdate.Catalogue.Loop, Name: s.Name, Update: s}
	core := rollingupdate.NewSync(s)
	step.run(core, c.now, func(a decision.Action) decision.Outcome { return c.doUpdate(s, core, a) })
	c.due.arm(step.Round.Verdict.Timers)
	c.measure(&step)
	return step
}

// doUpdate carries out one action of an update's loop.
func (c *Cluster) doUpdate(s *rollingupdate.Snapshot, core *rollingupdate.Sync, a decision.Action) decision.Outcome {
	c.due.now = true // The echo of the write.
	switch rc := c.rolling.named(a.Target.Name); {
	case a.Target.Kind == "Pod":
		c.doPod(a)
	case a.Kind == decision.Create && rc != nil:
		return refusal(409, "AlreadyExists", "replicationcontrollers "+strconv.Quote(a.Target.Name)+" already exists")
	case a.Kind == decision.Create:
		c.createController(s, a)
	case rc == nil:
		return decision.Outcome{State: decision.Superseded}
	case a.Kind == decision.UpdateStatus:
		rc.publish(core, s, a, c)
	case a.Kind == decision.Delete:
		c.deleteController(rc)
	default:
		c.write(rc, a)
	}
	return decision.Outcome{State: decision.Written, RV: c.rv()}
}

// doPod labels a pod or deletes a stray one.
func (c *Cluster) doPod(a decision.Action) {
	if a.Kind == decision.Delete {
		c.rolling.strays = slices.DeleteFunc(c.rolling.strays, func(p rollingupdate.Pod) bool { return p.UID == a.Target.UID })
		return
	}
	for _, m := range c.sets {
		for _, p := range m.pods {
			if p.UID == a.Target.UID {
				p.key, p.RV, m.due.now = a.Changes[0].To, c.rv(), true
			}
		}
	}
}

// createController makes the new one, or one of the old name where that is gone.
func (c *Cluster) createController(s *rollingupdate.Snapshot, a decision.Action) {
	from := s.Old
	if from == nil {
		from = s.New
	}
	notes := rollingupdate.Controller{Name: a.Target.Name, UID: fmt.Sprintf("sim-%09d", c.next()), MinReady: from.MinReady, TemplateKey: from.TemplateKey, SelectorKey: from.SelectorKey}
	for _, one := range from.Containers {
		if r := s.Request; s.Old != nil && (one.Name == r.Container || r.Container == "") {
			one.Image = r.Image
		}
		notes.Containers = append(notes.Containers, one)
	}
	m := &set{template: newTemplate, due: timer{now: true}, rs: deployment.ReplicaSet{
		Name: notes.Name, UID: notes.UID, Created: c.now, Mine: true, Matches: true, MinReady: notes.MinReady, Images: imagesOf(&notes)}}
	rc := &replicationController{set: m, notes: notes}
	c.sets, c.rolling.rcs = append(c.sets, m), append(c.rolling.rcs, rc)
	c.write(rc, a)
}

// letGo has one of the two let go of its pods, which wait for the one that takes over.
func (c *Cluster) letGo(rc *replicationController) {
	rc.notes.LetsGo = true
	old := c.rolling.named(c.rolling.s.Name)
	if old == nil || old == rc {
		return
	}
	for _, p := range rc.pods {
		p.Mine, p.Matches = false, false
		old.pods = append(old.pods, p)
	}
	rc.pods = nil
}

// deleteController deletes one of the two.
func (c *Cluster) deleteController(rc *replicationController) {
	c.rolling.rcs = slices.DeleteFunc(c.rolling.rcs, func(x *replicationController) bool { return x == rc })
	c.sets = slices.DeleteFunc(c.sets, func(m *set) bool { return m == rc.set })
}

// publish writes a condition.
func (rc *replicationController) publish(core *rollingupdate.Sync, s *rollingupdate.Snapshot, a decision.Action, c *Cluster) {
	status, reason, _ := strings.Cut(a.Changes[0].To, " ")
	rc.notes.Progress = &decision.Condition{Type: rollingupdate.CondProgressing, Status: status, Reason: reason,
		Message: rollingupdate.Message(reason, s.NewName, core.Why()), Transition: c.now}
	rc.rs.RV, rc.due.now = c.rv(), true
}

// write makes the changes of an action, which say all that is written.
func (c *Cluster) write(rc *replicationController, a decision.Action) {
	if a.Size != nil && a.Size.To != rc.rs.Replicas {
		rc.rs.Replicas, rc.rs.Generation = a.Size.To, rc.rs.Generation+1
	}
	for _, change := range a.Changes {
		field, key, _ := strings.Cut(change.Field, "[")
		switch key = strings.TrimSuffix(key, "]"); field {
		case "metadata.annotations":
			rc.annotate(key, change.To)
		case "spec.selector":
			rc.rs.Generation++
			switch {
			case key != rollingupdate.LabelParked:
				rc.notes.SelectorKey = change.To
			case change.To != "":
				c.letGo(rc)
			default:
				rc.adopt()
			}
		case "spec.template.metadata.labels":
			rc.rs.Generation++
			if key != rollingupdate.LabelParked {
				rc.notes.TemplateKey = change.To
			}
		case rollingupdate.FieldAccount:
			rc.notes.Account = change.To
		case "spec.template":
			c.park(rc, c.rolling.named(change.To))
		}
	}
	rc.rs.RV, rc.due.now = c.rv(), true
}

// park gives it the template of another one.
func (c *Cluster) park(rc, from *replicationController) {
	rc.template, rc.rs.Images, rc.rs.MinReady = from.template, from.rs.Images, from.rs.MinReady
	rc.notes.Containers, rc.notes.MinReady = from.notes.Containers, from.notes.MinReady
	rc.notes.Account, rc.notes.TemplateKey, rc.notes.SelectorKey = from.notes.Account, from.notes.TemplateKey, from.notes.SelectorKey
}

// adopt takes the pods that wait for it as adopted: its selector matches them now.
func (rc *replicationController) adopt() {
	rc.notes.LetsGo = false
	for _, p := range rc.pods {
		p.Mine, p.Matches = true, true
	}
}

// annotate sets an annotation, or removes it where there is no value.
func (rc *replicationController) annotate(key, value string) {
	n := &rc.notes
	switch key {
	case rollingupdate.AnnotationNext:
		n.Next = value
	case rollingupdate.AnnotationSource:
		n.Source = value
	case rollingupdate.AnnotationDesired:
		n.Desired = numberIn(value)
	case rollingupdate.AnnotationOriginal:
		n.Original = numberIn(value)
	case rollingupdate.AnnotationStepped:
		n.Stepped, _ = time.Parse(time.RFC3339Nano, value) // Removed: it is zero then.
	case rollingupdate.AnnotationParked:
		if n.Parked = nil; value != "" {
			n.Parked = &rollingupdate.Parked{}
			_ = json.Unmarshal([]byte(value), n.Parked) // The loop's own text.
		}
	case rollingupdate.AnnotationSize:
		n.Given = numberIn(value)
	case rollingupdate.AnnotationResult:
		rc.result = &rollingupdate.Result{}
		_ = json.Unmarshal([]byte(value), rc.result)
		if rc.result.Ended == rollingupdate.Complete && rc.result.To == rc.rs.Name {
			n.Replaced = rc.result.From
		}
	case rollingupdate.AnnotationRequest:
		rc.request, rc.requestError = nil, ""
	}
}

func numberIn(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil
	}
	return &n
}
