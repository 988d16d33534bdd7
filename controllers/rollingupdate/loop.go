package rollingupdate

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Loop is what the rest of the program knows of the loop.
var Loop = decision.Loop{
	Name: "rollingupdate", Kind: "RollingUpdate", Noun: "rolling update", Listed: true,
	Shows:      []decision.Resource{{Name: "replicationcontrollers"}, {Name: "pods"}},
	FirstSteps: "loopscope rolling-update web --image=nginx:1.29",
	Catalogue:  Catalogue, Reasons: Reasons, Headlines: headlines,
	New: func() decision.Snapshot { return new(Snapshot) },
	Decode: func(text []byte) (decision.Snapshot, error) {
		s, err := Decode(text)
		if err != nil {
			return nil, err
		}
		return s, nil
	},
}

var headlines = []decision.Headline{
	{Fact: "wanted", Label: "wanted"},
	{Fact: "new", Label: "new"},
	{Fact: "old", Label: "old"},
	{Fact: "available", Label: "available", Bound: "floor", Sign: "≥"},
	{Fact: "pods", Label: "pods", Bound: "ceiling", Sign: "≤"},
}

// Begin is a sync on the snapshot, which it never changes.
func (s *Snapshot) Begin() decision.Core { return NewSync(s) }

// Steers are the two ReplicationControllers, as far as they exist.
func (s *Snapshot) Steers() []decision.Ref {
	var list []decision.Ref
	for _, c := range []*Controller{s.Old, s.New} {
		if c != nil {
			list = append(list, s.ref(c))
		}
	}
	return list
}

// Untouched reports whether it is asked for and nothing has been written for it.
func (s *Snapshot) Untouched() bool {
	return s.Request != nil && s.Old != nil && s.Old.Stepped.IsZero() && s.Old.Original == nil && s.Old.Parked == nil &&
		(s.New == nil || s.New.Source == "")
}

// Taken is when it was observed.
func (s *Snapshot) Taken() time.Time { return s.Now }
