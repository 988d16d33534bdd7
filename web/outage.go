package web

import (
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/words"
)

// outage is the present time without an API server that serves; the zero one where there is none.
type outage struct {
	telemetry.Outage
	on bool
}

func (s *Server) outage() outage {
	o, on := s.opts.Server().Outage()
	if !on {
		return outage{}
	}
	return outage{o, true}
}

// asOf is the instant that a sentence is of: now, or where the outage keeps it from
// being told anew, when the API server last served. One that says itself that nobody
// answers goes on being true.
func (o outage) asOf(t *telemetry.Trace, now time.Time) (at time.Time, stale bool) {
	if !o.on || t.Sentence.Code == telemetry.CodeUnanswered {
		return now, false
	}
	return o.Began, true
}

// saidNow is what is to be said of a trace.
func (s *Server) saidNow(t *telemetry.Trace, now time.Time) decision.Sentence {
	said, _ := s.saidThen(t, now)
	return said
}

// saidThen is what is to be said of a trace, and the instant as of which that is known.
func (s *Server) saidThen(t *telemetry.Trace, now time.Time) (decision.Sentence, time.Time) {
	at, _ := s.outage().asOf(t, now)
	return s.said(t, at), at
}

// ofThen says as of when the words are that stand beside it: "As of", or what of them is.
func (o outage) ofThen(what string, at time.Time) *views.AsOf {
	return &views.AsOf{At: at.UTC(), Text: views.Say(what + " ").Clock(at).Plain(" UTC: the API server " + o.Lack.Since() + ".")}
}

// freeze makes of the head of a page what it was when the API server last served: no
// age in it grows. The numbers are those of the caches also where the sentence is of now.
func (o outage) freeze(h *views.Head, t *telemetry.Trace, now time.Time) {
	if !o.on {
		return
	}
	at := o.Began
	h.AsOf = o.ofThen("The numbers are as of", at)
	if _, stale := o.asOf(t, now); stale {
		h.AsOf = o.ofThen("As of", at)
		h.Lead, h.Then, h.ChangesAt = h.Lead.Still(at), h.Then.Still(at), nil
	}
	for i := range h.Numbers {
		h.Numbers[i].Value = h.Numbers[i].Value.Still(at)
	}
	if h.Estimate != nil {
		h.Estimate.Text = h.Estimate.Text.Still(at)
	}
}

// freezeFindings is the same of what stands below the head.
func (o outage) freezeFindings(held []views.Held, found []views.Finding) {
	if !o.on {
		return
	}
	for i := range held {
		held[i].Unblocks = held[i].Unblocks.Still(o.Began)
		for j := range held[i].Blockers {
			held[i].Blockers[j].Why = held[i].Blockers[j].Why.Still(o.Began)
		}
	}
	for i := range found {
		f := &found[i]
		f.What, f.Unblocks, f.For = f.What.Still(o.Began), f.Unblocks.Still(o.Began), f.For.Still(o.Began)
	}
}

// freezePods is the same of the pods of a ReplicaSet.
func (o outage) freezePods(pods []views.Pod) {
	if !o.on {
		return
	}
	for i := range pods {
		pods[i].Why, pods[i].Age = pods[i].Why.Still(o.Began), pods[i].Age.Still(o.Began)
	}
}

// freezeLanes stops the ages of pods.
func (o outage) freezeLanes(v *views.Scope) {
	if !o.on {
		return
	}
	for _, lanes := range [][]views.PodLane{v.Pods, v.MorePods, v.Rest} {
		for i := range lanes {
			lanes[i].Note = lanes[i].Note.Still(o.Began)
		}
	}
}

// due says whose writes wait for the API server: they got no answer, are held back for
// a moment, or have been sent.
func (s *Server) due() string {
	if s.opts.Mode != "act" {
		return "" // Whoever writes here is another process.
	}
	var parts []string
	for _, loop := range s.loops.Names() {
		n, keys := 0, s.keys(loop)
		for _, t := range s.journal.Board().List(loop) {
			if t.Unanswered() || t.Report != nil && t.Report.Hold || words.Queue(keys.of(t.Key())) == "processing" {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, prose.Count(n, s.kindOf(loop)))
		}
	}
	if len(parts) == 0 {
		return " No writes are pending."
	}
	return " Writes for " + prose.And(parts) + " are pending and will be retried as soon as it is back."
}
