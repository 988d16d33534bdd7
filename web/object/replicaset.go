package object

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/syncs"
	"github.com/loopscope/loopscope/web/words"
)

// shownPods is how many pods the page of a ReplicaSet lists, those that are not
// available first.
const shownPods = 60

// replicaSet is the page of one ReplicaSet or ReplicationController.
func (s *Pages) replicaSet(q *page.Query) (*page.Page, error) {
	x, err := s.Find(q)
	if err != nil {
		return nil, err
	}
	v := views.ReplicaSet{Object: s.objectView(q, x)}
	told := x.Told()
	if owner := told.Owner; owner != "" {
		v.Owner = &views.Link{Text: owner, Href: address.Of(telemetry.HeadOf(s.Loops, x.Object, owner))}
	}
	if snap, err := facts.ReplicaSet(s.Loops, told); err == nil {
		v.Images = strings.Join(snap.Images, ", ")
		v.Expects, v.Echoes = syncs.Expects(snap), echoLines(snap)
		if x.Moment.IsZero() && !x.Unseen() && !told.FoundGone() {
			v.Forecast = Forecast(told, snap, q.Now)
		}
		v.Scope = s.Pods(q.Now, x, snap)
		v.Pods, v.PodsNote = s.podsThen(x, told, snap)
	}
	v.Head.Part = s.partOf(q, x)
	v.Victims, v.VictimsNote = s.victimsOf(x)
	v.Shows = s.replicaSetShows(x)
	if !x.Moment.IsZero() {
		views.StillReplicaSet(&v, x.Moment)
	}
	return s.replicaSetPage(q, x, v), nil
}

func (s *Pages) replicaSetPage(q *page.Query, x *subject.Subject, v views.ReplicaSet) *page.Page {
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, titleOf(v.Object)), Body: views.ReplicaSetBody(v), Data: v}
	s.objectFrame(q, p, x)
	if v.Owner != nil {
		p.Frame.Up = v.Owner.Href
		at := len(p.Frame.Crumbs) - 1
		p.Frame.Crumbs = append(p.Frame.Crumbs[:at:at], *v.Owner, p.Frame.Crumbs[at])
	}
	p.Frame.About = append(p.Frame.About, views.Say(s.KindOf(x.Object.Loop)))
	if v.Images != "" {
		p.Frame.About = append(p.Frame.About, views.Text{}.Code(prose.Clip(v.Images, 200)))
	}
	p.Frame.Keys = page.ObjectKeys
	p.GoLive(q, append(objectParts(v.Object), page.Part{ID: "f-pods", View: views.PodsPart("Pods", v.Pods, v.PodsNote)}, page.Part{ID: "f-expects", View: views.ExpectsPart(v)}, page.Part{ID: "f-syncs", View: views.SyncsPart(v.Object)})...)
	s.keepsUp(q, p, x)
	return p
}

// podsOf lists the pods that a sync saw.
func podsOf(snap *replicaset.Snapshot) ([]views.Pod, string) {
	var rest, good []views.Pod
	for i := range snap.Pods {
		p, available := podOf(snap, &snap.Pods[i])
		if available {
			good = append(good, p)
		} else {
			rest = append(rest, p)
		}
	}
	list := append(rest, good...)
	note := prose.Count(len(list), "pod")
	if len(list) > shownPods {
		note += ", the first " + words.Digits(shownPods) + " shown"
		list = list[:shownPods]
	}
	return list, note
}

// podOf says what a pod is, in the words of the tones; the answers are those
// that the snapshot holds, as of its own moment.
func podOf(snap *replicaset.Snapshot, p *replicaset.Pod) (v views.Pod, available bool) {
	owner, own := words.Split(p.Name)
	v = views.Pod{Owner: owner, Own: own, Node: p.Node, Age: views.Text{}.Since(p.Created)}
	minReady := time.Duration(snap.MinReady) * time.Second
	switch {
	case p.Terminating:
		v.State = views.Mark{Tone: views.Idle, Word: "terminating"}
	case p.Phase == "Failed" || p.Phase == "Succeeded":
		v.State = views.Mark{Tone: views.Idle, Word: strings.ToLower(p.Phase)}
	case p.Ready && p.ReadySince.Add(minReady).After(snap.Now):
		v.State = views.Mark{Tone: views.Waiting, Word: "ready"}
		v.Why = views.Say("available in ").Until(p.ReadySince.Add(minReady))
	case p.Ready:
		v.State, available = views.Mark{Tone: views.OK, Word: "available"}, true
	case p.Node == "":
		v.State = views.Mark{Tone: views.Waiting, Word: "not scheduled"}
	default:
		v.State = views.Mark{Tone: views.Waiting, Word: "not ready"}
	}
	if d := p.Disruption; d != nil { // What became of its containers is the effect.
		v.Why = whyNot(cmp.Or(d.Reason, d.Target), d.Message, d.At)
	} else if p.Reason != "" && !p.Ready {
		v.Why = whyNot(p.Reason, p.Message, p.Since)
	}
	if !p.Mine {
		v.Why = v.Why.Plain(" an orphan that matches")
	}
	return v, available
}

// whyNot is a reason, for how long, and its message.
func whyNot(reason, message string, since time.Time) views.Text {
	t := views.Text{}.Code(reason)
	if !since.IsZero() {
		t = t.Plain(" for ").Since(since)
	}
	if message != "" {
		t = t.Plain(", " + prose.Clip(message, 200))
	}
	return t
}

// victimsOf finds the newest sync, up to the one under the cursor, that chose
// pods for deletion.
func (s *Pages) victimsOf(x *subject.Subject) ([]views.Victim, views.Text) {
	for _, t := range slices.Backward(x.UpToCursor()) {
		for _, r := range t.Rounds {
			for _, a := range r.Verdict.Actions {
				if a.Kind == decision.DeletePods && len(a.Victims) > 0 {
					return victimViews(a.Victims), views.Say("By ").Link("sync "+words.Digits(t.Seq), address.Sync(t)).Plain(", ").Since(t.Ended).Plain(" ago.")
				}
			}
		}
	}
	return nil, views.Say("No kept sync chose a pod for deletion.")
}

func victimViews(victims []decision.Victim) []views.Victim {
	list := make([]views.Victim, 0, len(victims))
	for _, v := range victims {
		list = append(list, words.Victim(v))
	}
	return list
}

func (s *Pages) replicaSetShows(x *subject.Subject) views.Shows {
	t := x.Cursor
	snap, err := facts.ReplicaSet(s.Loops, t)
	if err != nil {
		return views.Shows{Note: "not recorded"}
	}
	if t.FoundGone() {
		return views.Shows{Note: "nothing, as it is gone"}
	}
	st := snap.Status
	v := views.Shows{Note: "as sync " + words.Digits(t.Seq) + " saw it, rv " + prose.OrNone(snap.RV)}
	v.Lines = append(v.Lines, views.Line{Label: "replicas", Text: views.Sayf("%d, %d ready, %d available", st.Replicas, st.Ready, st.Available)},
		views.Line{Label: "observed", Text: views.Sayf("generation %d of %d", st.ObservedGeneration, snap.Generation)})
	v.Lines = append(append(v.Lines, conditionLines(st.Conditions)...), lastEvents(x)...)
	return v
}
