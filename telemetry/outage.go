package telemetry

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Lack is why an API server serves this process nothing.
type Lack string

// What may be lacking.
const (
	LackAnswer Lack = ""            // it does not answer
	LackLogin  Lack = "credentials" // it answers, and does not know this process
	LackEtcd   Lack = "etcd"        // it answers, and has lost its etcd
	LackReady  Lack = "ready"       // it answers that it is not ready
)

// lackWords are a lack as it is now, as it has lasted since, and as it was.
var lackWords = map[Lack]struct{ is, since, was string }{
	LackAnswer: {"does not answer", "has not answered since", "did not answer"},
	LackLogin:  {"does not accept this process's credentials", "has not accepted this process's credentials since", "did not accept this process's credentials"},
	LackEtcd:   {"has lost its etcd", "has been without its etcd since", "was without its etcd"},
	LackReady:  {"is not ready", "has not been ready since", "was not ready"},
}

// Is says it of the present: "does not answer".
func (l Lack) Is() string { return lackWords[l].is }

// Since says it of the time up to now: "has not answered since".
func (l Lack) Since() string { return lackWords[l].since }

// Was says it of an outage that is over: "did not answer".
func (l Lack) Was() string { return lackWords[l].was }

// Worse reports whether it leaves less than another one does.
func (l Lack) Worse(than Lack) bool {
	order := []Lack{LackAnswer, LackLogin, LackEtcd, LackReady}
	return slices.Index(order, l) < slices.Index(order, than)
}

// Outage is a time in which no API server could serve.
type Outage struct {
	// Began is when one served last, Ended when one served again; zero while none does.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"`
	Lack  Lack      `json:"lack,omitempty"`
	Error string    `json:"error,omitempty"`
}

// Outage is the present one; ok while there is one.
func (s ServerState) Outage() (o Outage, ok bool) {
	return Outage{Began: s.Since, Lack: s.Lack, Error: s.Error}, !s.Reachable
}

// Outages are those that are over, and the present one.
func (s ServerState) Outages() []Outage {
	list := slices.Clone(s.Over)
	if o, ok := s.Outage(); ok {
		list = append(list, o)
	}
	return list
}

// Unanswered reports whether the sync failed for want of an API server that serves. One that
// refuses some of several requests serves, though the reply to another is lost.
func (t *Trace) Unanswered() bool {
	absent, refused := false, false
	t.outcomes(func(_ *decision.Action, o *decision.Outcome) {
		absent = absent || o.State == decision.Unanswered
		refused = refused || o.Lost != nil && !o.Failure.Down()
	})
	return absent || t.Failure.Down() && !refused
}
