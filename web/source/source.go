// Package source is what pages are made from: the journal and its loops, and the states
// of this process as its options tell them. It says what is so now, sentences included,
// which an outage of the API server may keep from being told anew. What its viewer may not
// see is not in it. It knows no request
// and no page, and writes nothing.
package source

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/sight"
)

// Source is everything that is known. It is safe for concurrent use.
type Source struct {
	// Opts has no journal: what there is to see is in Journal.
	Opts    Options
	Journal *sight.Journal
	Loops   decision.Loops
	scope   *sight.Scope

	says      facts.Cache[told]
	estimates facts.Cache[*decision.Estimate]
	steered   facts.Cache[[]telemetry.Object]
	late      lateKeys
}

// New returns the source of those options, of which Journal is required, as one viewer sees it; nil
// sees everything.
func New(o Options, scope *sight.Scope) *Source {
	o = o.WithDefaults()
	s := &Source{Journal: sight.NewJournal(o.Journal, scope), Loops: o.Journal.Loops(), scope: scope}
	o.Archive, o.Warnings = scope.Archive(o.Archive), scope.Warnings(o.Warnings)
	o.Others = scope.Others(o.Others)
	o.Loops, o.Queue, o.Rival = scope.Loops(o.Loops), scope.Queue(o.Queue), scope.Rival(o.Rival)
	o.Shadow, o.Due = scope.Shadow(o.Shadow), scope.Due(o.Due)
	o.Journal = nil
	s.Opts = o
	return s
}

// OwnView reports whether what is shown is only what this process would do: another one leads, and
// its decisions are not received.
func (s *Source) OwnView() bool {
	l := s.Opts.Leadership()
	return l.StandsBy && (l.Following == nil || !l.Following.Shown)
}

// Family is the kept syncs of an object and of what belongs to it, of all runs and processes whose
// decisions counted.
func (s *Source) Family(o telemetry.Object) []*telemetry.Trace {
	list := s.Journal.Family(o)
	if s.OwnView() {
		return list
	}
	list = slices.DeleteFunc(list, func(t *telemetry.Trace) bool { return t.Standby })
	return append(list, s.Opts.Others(o, s.Journal.Epoch())...)
}
