package decision

import "time"

// Diagnosis is why pods that are wanted are not available: everything that keeps
// them, the most fundamental first. Where there are several findings, mending one
// of them alone does not help.
type Diagnosis struct {
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is one reason, and the pods that it keeps.
type Finding struct {
	// Code is the stable reason code, e.g. "image-pull".
	Code string `json:"code"`
	// Old is set where it is about pods of old templates.
	Old bool `json:"old,omitempty"`
	// Count is how many pods it keeps, and Pods the names of the first of them.
	// Pods that were never created have no names.
	Count int64    `json:"count"`
	Pods  []string `json:"pods,omitempty"`
	// Since is when the first of them came into it; zero where nobody says.
	Since time.Time `json:"since,omitzero"`
	// Before and After are the words around the pods: "quota small refuses ", "3 new
	// pods", " (pods: 3 of 3 used)".
	Before Words `json:"before,omitempty"`
	After  Words `json:"after,omitempty"`
	// Message is the whole message of the cluster, as far as it is recorded.
	Message string `json:"message,omitempty"`
	// Unblocks says what ends it, to be read after "unblocks": "when that image exists".
	Unblocks Words `json:"unblocks,omitempty"`
	// NeedsAction is set where neither time nor a loop ends it, but a person.
	NeedsAction bool `json:"needsAction,omitempty"`
	// Usual is set while it is what every pod goes through, and not for longer
	// than pods take here.
	Usual bool `json:"usual,omitempty"`
	// Show is a command that shows more, "" for none.
	Show string `json:"show,omitempty"`
	// Beside is set where it is wrong as well, but holds nothing up: nothing waits for its end.
	Beside bool `json:"beside,omitempty"`
}

// First is the most fundamental finding; nil where nothing keeps any pod.
func (d Diagnosis) First() *Finding {
	if len(d.Findings) == 0 {
		return nil
	}
	return &d.Findings[0]
}

// Has reports whether anything keeps pods that is more than what every pod goes
// through when it starts.
func (d Diagnosis) Has() bool {
	for i := range d.Findings {
		if !d.Findings[i].Usual {
			return true
		}
	}
	return false
}

// PodsFact begins the names of the facts that findings count their pods with.
const PodsFact = "pods."

// Worth is the diagnosis where it is worth recording: nothing where pods only go
// through what every pod does.
func (d Diagnosis) Worth() Diagnosis {
	if d.Has() {
		return d
	}
	return Diagnosis{}
}

// IsZero reports whether nothing keeps any pod.
func (d Diagnosis) IsZero() bool { return len(d.Findings) == 0 }

// Fact is the name of the fact that a sentence counts the pods with.
func (f *Finding) Fact() string {
	if f.Beside {
		return PodsFact + "beside." + f.Code
	}
	return PodsFact + f.Code
}

// Facts are the numbers of pods as facts.
func (d Diagnosis) Facts() []Fact {
	facts := make([]Fact, 0, len(d.Findings))
	for i := range d.Findings {
		facts = append(facts, Count(d.Findings[i].Fact(), d.Findings[i].Count))
	}
	return facts
}
