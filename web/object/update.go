package object

import (
	"net/http"
	"strings"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

// update is the page of a rolling update: the ReplicationControllers between which pods move.
func (s *Pages) update(q *page.Query) (*page.Page, error) {
	x, err := s.Find(q)
	if err != nil {
		return nil, err
	}
	v := views.Update{Object: s.objectView(q, x), PodsTitle: "Pods"}
	v.Plain = true
	if snap, err := facts.RollingUpdate(s.Loops, x.Newest); err == nil {
		v.Scope = s.Update(q.Now, x, snap)
	}
	if snap, err := facts.RollingUpdate(s.Loops, x.Told()); err == nil {
		v.Controllers = s.controllers(q, x, snap)
		v.ControllersNote = wantedNote(v.Controllers)
		s.podsOfUpdate(&v, x, snap)
	}
	return s.updatePage(q, x, v), nil
}

func (s *Pages) updatePage(q *page.Query, x *subject.Subject, v views.Update) *page.Page {
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, titleOf(v.Object)), Body: views.UpdateBody(v), Data: v}
	s.objectFrame(q, p, x)
	p.Frame.About = append(p.Frame.About, views.Say(prose.Upper(s.Loops.Of(x.Object.Loop).One())), views.Text{}.Link("story", x.StoryHref()), views.Text{}.Link("what if", x.WhatIfHref()))
	p.Frame.Keys = page.PlannedKeys
	p.GoLive(q, append(objectParts(v.Object), page.Part{ID: "f-pods", View: views.PodsPart(v.PodsTitle, v.Pods, v.PodsNote)},
		page.Part{ID: "f-sets", View: views.ControllersPart(v)}, page.Part{ID: "f-syncs", View: views.SyncsPart(v.Object)})...)
	s.keepsUp(q, p, x)
	return p
}

// controllers are the new one and the old one, as far as they exist.
func (s *Pages) controllers(q *page.Query, x *subject.Subject, snap *rollingupdate.Snapshot) []views.Set {
	states := map[string]*telemetry.Trace{}
	for _, o := range s.Steered(x.Told()) {
		if t := s.beside(x, o); t != nil {
			states[o.Name] = t
		}
	}
	var list []views.Set
	add := func(c *rollingupdate.Controller, role string, available int64) {
		if c == nil {
			return
		}
		v := views.Set{Revision: role, Own: c.Name, Href: address.Page(replicaset.ControllerLoop.Name, snap.Namespace, c.Name), Images: imagesOf(c), Size: c.Size, Available: available, New: c == snap.New}
		if own := states[c.Name]; own != nil {
			said := s.saidOf(q, x, own)
			o, _ := words.OutcomeOf(said.Tone)
			v.State = &views.Mark{Tone: o.View, Word: said.State}
		}
		list = append(list, v)
	}
	n := facts.NumbersOf(x.Told())
	add(snap.New, "new", n.Or("newAvailable"))
	role, available := "old", n.OldAvailable()
	if snap.New == nil {
		role, available = "", n.Or("available") // There is only one.
	}
	add(snap.Old, role, available)
	return list
}

func wantedNote(list []views.Set) string {
	var pods int64
	for i := range list {
		pods += list[i].Size
	}
	return prose.Count(pods, "pod") + " wanted in all"
}

func imagesOf(c *rollingupdate.Controller) string {
	images := make([]string, len(c.Containers))
	for i, x := range c.Containers {
		images[i] = x.Image
	}
	return prose.Clip(strings.Join(images, ", "), 300)
}

// podsOfUpdate are the pods that an update waits for: those of the new one, if there is one.
func (s *Pages) podsOfUpdate(v *views.Update, x *subject.Subject, snap *rollingupdate.Snapshot) {
	c := snap.New
	if c == nil {
		c = snap.Old
	}
	if c == nil {
		return
	}
	v.PodsTitle = "Pods of " + c.Name
	for _, o := range s.Steered(x.Told()) {
		if o.Name != c.Name {
			continue
		}
		t := s.beside(x, o)
		if t == nil {
			return
		}
		if own, err := facts.ReplicaSet(s.Loops, t); err == nil {
			v.Pods, v.PodsNote = s.podsThen(x, t, own)
		}
	}
}

// partOf is what a rolling update does with an object, and how it stands; nil where none does.
func (s *Pages) partOf(q *page.Query, x *subject.Subject) views.Text {
	t := s.SteeredBy(x.Object)
	if t == nil || !x.Moment.IsZero() {
		return nil
	}
	said, what := s.SaidNow(t, q.Now), s.Loops.Of(t.Loop).One()
	text := views.Say(prose.Upper(what)+" ").Link(t.Name, address.Of(t.Object))
	if snap, err := facts.RollingUpdate(s.Loops, t); err == nil {
		if role := roleIn(snap, x.Object.Name); role != nil {
			text = role.Plain(": "+what+" ").Link(t.Name, address.Of(t.Object))
		}
	}
	text = text.Plain(" " + said.Verb + " " + said.State)
	if lead := words.Text(said.Lead, false); len(lead) > 0 {
		text = text.Plain(": ").Join(lead)
	}
	return words.Stop(text)
}

// roleIn is the part that one of the two has in an update that is under way; nil at its end.
func roleIn(snap *rollingupdate.Snapshot, name string) views.Text {
	if snap.New == nil || snap.Old == nil {
		return nil
	}
	old, fresh, back := snap.Old.Name, snap.New.Name, snap.Request != nil && snap.Request.Abort
	switch {
	case name == old && back:
		return views.Say("Taking its place back from ").Code(fresh)
	case name == old:
		return views.Say("Being replaced by ").Code(fresh)
	case back:
		return views.Say("Giving its place back to ").Code(old)
	}
	return views.Say("Replacing ").Code(old)
}
