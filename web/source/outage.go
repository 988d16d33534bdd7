package source

import (
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/words"
)

// Outage is the present time without an API server that serves; the zero one where there is none.
type Outage struct {
	telemetry.Outage
	On bool
}

// Outage is the one that is under way.
func (s *Source) Outage() Outage {
	o, on := s.Opts.Server().Outage()
	if !on {
		return Outage{}
	}
	return Outage{o, true}
}

// AsOf is the instant that a sentence is of: now, or where the outage keeps it from
// being told anew, that of Known. One that says itself that nobody answers goes on
// being true.
func (o Outage) AsOf(t *telemetry.Trace, now time.Time) (at time.Time, stale bool) {
	if !o.On || t.Sentence.Code == telemetry.CodeUnanswered {
		return now, false
	}
	return o.Known(t), true
}

// Known is as of when the numbers of a sync are: when the API server last served, or its own
// end where it came later and decided by the clock alone.
func (o Outage) Known(t *telemetry.Trace) time.Time {
	if t.Ended.After(o.Began) && t.Sentence.Code != telemetry.CodeUnanswered {
		return t.Ended
	}
	return o.Began
}

// SaidNow is what is to be said of a trace.
func (s *Source) SaidNow(t *telemetry.Trace, now time.Time) decision.Sentence {
	said, _ := s.SaidThen(t, now)
	return said
}

// SaidThen is what is to be said of a trace, and the instant as of which that is known.
func (s *Source) SaidThen(t *telemetry.Trace, now time.Time) (decision.Sentence, time.Time) {
	at, _ := s.Outage().AsOf(t, now)
	return s.Said(t, at), at
}

// OfThen says as of when the words are that stand beside it: "As of", or what of them is.
func (o Outage) OfThen(what string, at time.Time) *views.AsOf {
	text := views.Say(what + " ").Clock(at).Plain(" UTC: the API server " + o.Lack.Since())
	if at.After(o.Began) {
		text = text.Plain(" ").Clock(o.Began)
	}
	return &views.AsOf{At: at.UTC(), Text: text.Plain(".")}
}

// Freeze makes of the head of a page what it was when that was known: no age in it
// grows. The numbers are those of the caches also where the sentence is of now.
func (o Outage) Freeze(h *views.Head, t *telemetry.Trace, now time.Time) {
	if !o.On {
		return
	}
	at := o.Known(t)
	h.AsOf = o.OfThen("The numbers are as of", at)
	if _, stale := o.AsOf(t, now); stale {
		h.AsOf = o.OfThen("As of", at)
		h.Lead, h.Then, h.ChangesAt = h.Lead.Still(at), h.Then.Still(at), nil
	}
	views.StillNumbers(h.Numbers, at)
	if h.Estimate != nil {
		h.Estimate.Text = h.Estimate.Text.Still(at)
	}
}

// FreezeFindings is the same of what stands below the head.
func (o Outage) FreezeFindings(held []views.Held, found []views.Finding, t *telemetry.Trace) {
	if !o.On {
		return
	}
	at := o.Known(t)
	views.StillHeld(held, at)
	views.StillFindings(found, at)
}

// FreezePods is the same of the pods of a ReplicaSet.
func (o Outage) FreezePods(pods []views.Pod, t *telemetry.Trace) {
	if !o.On {
		return
	}
	views.StillPods(pods, o.Known(t))
}

// FreezeLanes stops the ages of pods.
func (o Outage) FreezeLanes(v *views.Scope, t *telemetry.Trace) {
	if !o.On {
		return
	}
	for _, lanes := range [][]views.PodLane{v.Pods, v.MorePods, v.Rest} {
		for i := range lanes {
			lanes[i].Note = lanes[i].Note.Still(o.Known(t))
		}
	}
}

// pending says whose writes wait for the API server: they got no answer, are held back for
// a moment, or have been sent.
func (s *Source) pending(lack telemetry.Lack) string {
	if s.waits() {
		return "" // Whoever writes here is another process.
	}
	var parts []string
	for _, loop := range s.Loops.Names() {
		n, keys := 0, s.Keys(loop)
		for _, t := range s.Journal.Board().List(loop) {
			if t.Unanswered() || t.Report != nil && t.Report.Hold || words.Queue(keys.Of(t.Key())) == "processing" {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, prose.Count(n, s.KindOf(loop))+s.Seen(loop))
		}
	}
	if len(parts) == 0 {
		return " No writes" + s.SeenOf() + " are pending."
	}
	until := "it is back"
	if lack == telemetry.LackLogin {
		until = "the credentials are accepted"
	}
	return " Writes for " + prose.And(parts) + " are pending and will be retried as soon as " + until + "."
}
