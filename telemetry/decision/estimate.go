package decision

import "time"

// Estimate says when a rollout may complete, as a range with its basis, or why
// nobody can know. It decides nothing.
type Estimate struct {
	// Code is "known", or the stable reason why it is not.
	Code string `json:"code"`
	// From and To are the range; zero where it is not known.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Pods became ready, the fastest and the slowest of them in that time after
	// they were created: the basis of the range.
	Pods    int64         `json:"pods,omitempty"`
	Fastest time.Duration `json:"fastest,omitempty"`
	Slowest time.Duration `json:"slowest,omitempty"`
	// Steps is how often the rollout has yet to wait for pods.
	Steps int64 `json:"steps,omitempty"`
	// Words say it to a person.
	Words Words `json:"words"`
}

// EstimateKnown is the code of a range.
const EstimateKnown = "known"

// Facts are the numbers of the estimate as facts that its words may count with.
func (e *Estimate) Facts() []Fact {
	if e == nil || e.Code != EstimateKnown {
		return nil
	}
	return []Fact{Count("becameReady", e.Pods), Count("steps", e.Steps)}
}
