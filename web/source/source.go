// Package source is what pages are made from: the journal and its loops, and the states
// of this process as its options tell them. It says what is so now, sentences included,
// which an outage of the API server may keep from being told anew. It knows no request
// and no page, and writes nothing.
package source

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/facts"
)

// Source is everything that is known. It is safe for concurrent use.
type Source struct {
	Opts    Options
	Journal *telemetry.Journal
	Loops   decision.Loops

	says      facts.Cache[decision.Sentence]
	estimates facts.Cache[*decision.Estimate]
	steered   facts.Cache[[]telemetry.Object]
}

// New returns the source of those options, of which Journal is required.
func New(o Options) *Source {
	o = o.WithDefaults()
	return &Source{Opts: o, Journal: o.Journal, Loops: o.Journal.Loops()}
}
