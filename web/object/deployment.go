package object

import (
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

// deployment is the page of one Deployment.
func (s *Pages) deployment(q *page.Query) (*page.Page, error) {
	x, err := s.Find(q)
	if err != nil {
		return nil, err
	}
	v := views.Deployment{Object: s.objectView(q, x)}
	if snap, err := facts.Deployment(s.Loops, x.Told()); err == nil {
		v.Revision, v.Strategy = snap.Revision, snap.Strategy
		v.Sets = s.sets(q, x, snap)
		revisions(x, v.Sets, snap)
		s.refusedSets(q, x, snap, &v.Object)
	}
	v.SetsNote = setsNote(v.Sets)
	v.Shows = s.deploymentShows(x)
	v.Scope = s.Rollout(q.Now, x)
	return s.deploymentPage(q, x, v), nil
}

func (s *Pages) deploymentPage(q *page.Query, x *subject.Subject, v views.Deployment) *page.Page {
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, titleOf(v.Object)), Body: views.DeploymentBody(v), Data: v}
	s.objectFrame(q, p, x)
	if v.Revision != "" {
		p.Frame.About = append(p.Frame.About, views.Say("revision "+v.Revision))
	}
	if v.Strategy != "" {
		p.Frame.About = append(p.Frame.About, views.Say(v.Strategy))
	}
	p.Frame.About = append(p.Frame.About, views.Text{}.Link("story", x.StoryHref()), views.Text{}.Link("what if", x.WhatIfHref()))
	p.Frame.Keys = page.PlannedKeys
	p.GoLive(q, append(objectParts(v.Object), page.Part{ID: "f-syncs", View: views.SyncsPart(v.Object)}, page.Part{ID: "f-sets", View: views.SetsPart(v)})...)
	s.keepsUp(q, p, x)
	return p
}

func titleOf(v views.Object) string {
	return v.Namespace + "/" + v.Name + " " + v.Head.Verb + " " + v.Head.State.Word
}

// sets are the ReplicaSets that the sync saw of which the page tells, the newest revision
// first, each with its own outcome at that time.
func (s *Pages) sets(q *page.Query, x *subject.Subject, snap *deployment.Snapshot) []views.Set {
	list := make([]views.Set, 0, len(snap.ReplicaSets))
	for i := range snap.ReplicaSets {
		v := s.setOf(snap, &snap.ReplicaSets[i])
		if own := s.beside(x, telemetry.Object{Loop: replicaset.Loop.Name, Namespace: snap.Namespace, Name: snap.ReplicaSets[i].Name}); own != nil && own.Owner == x.Object.Name {
			said := s.saidOf(q, x, own)
			o, _ := words.OutcomeOf(said.Tone)
			v.State = &views.Mark{Tone: o.View, Word: said.State}
		}
		list = append(list, v)
	}
	sort.SliceStable(list, func(i, j int) bool { return revisionLess(list[j].Revision, list[i].Revision) })
	return list
}

// refusedSets adds what ReplicaSets were refused by their newest syncs, where the Deployment does not know of it: it knows
// only what their status says, which may not be written either.
func (s *Pages) refusedSets(q *page.Query, x *subject.Subject, snap *deployment.Snapshot, v *views.Object) {
	known := s.Diagnosis(x.Newest, q.Now).Findings
	if !x.Moment.IsZero() || x.Unseen() || slices.ContainsFunc(known, isRefusal) {
		return
	}
	var refused []decision.Finding
	for i := range snap.ReplicaSets {
		rs := &snap.ReplicaSets[i]
		own := s.beside(x, telemetry.Object{Loop: replicaset.Loop.Name, Namespace: snap.Namespace, Name: rs.Name})
		if own == nil || own.Owner != x.Object.Name || own.UID != rs.UID {
			continue
		}
		for _, f := range s.Diagnosis(own, q.Now).Findings {
			if f.Old = !rs.SameTemplate; isRefusal(f) {
				refused = append(refused, f)
			}
		}
	}
	if len(refused) == 0 {
		return
	}
	all := slices.Concat(refused, known)
	v.FindingsHeading, v.Findings = diagnosis.Heading(all), findingViews(all)
	s.Outage().FreezeFindings(nil, v.Findings, x.Newest)
}

func isRefusal(f decision.Finding) bool {
	return diagnosis.IsRefusal(f.Code) || f.Code == diagnosis.Delete
}

func (s *Pages) setOf(snap *deployment.Snapshot, rs *deployment.ReplicaSet) views.Set {
	owner, name := words.Split(rs.Name)
	return views.Set{Revision: rs.Revision, Owner: owner, Own: name, Href: address.Page(replicaset.Loop.Name, snap.Namespace, rs.Name),
		Images: prose.Clip(strings.Join(rs.Images, ", "), 300), Size: rs.Replicas, Available: rs.Available, New: rs.SameTemplate}
}

// revisionLess compares revisions as numbers, which may have any length.
func revisionLess(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

func setsNote(sets []views.Set) string {
	var pods int64
	for _, x := range sets {
		pods += x.Size
	}
	return words.Digits(len(sets)) + " kept, " + prose.Count(pods, "pod") + " wanted of them"
}

// deploymentShows is the status that the sync under the cursor saw, and the last
// Event that was published until then.
func (s *Pages) deploymentShows(x *subject.Subject) views.Shows {
	t := x.Cursor
	snap, err := facts.Deployment(s.Loops, t)
	if err != nil {
		return views.Shows{Note: "not recorded"}
	}
	v := views.Shows{Note: "as sync " + words.Digits(t.Seq) + " saw it, rv " + prose.OrNone(snap.RV)}
	st := snap.Status
	v.Lines = append(v.Lines, views.Line{Label: "replicas", Text: views.Sayf("%d, %d updated, %d ready, %d available", st.Replicas, st.Updated, st.Ready, st.Available)},
		views.Line{Label: "observed", Text: views.Sayf("generation %d of %d", st.ObservedGeneration, snap.Generation)})
	v.Lines = append(append(v.Lines, conditionLines(st.Conditions)...), lastEvents(x)...)
	v.Lines = append(v.Lines, kubectlLine(snap))
	return v
}
