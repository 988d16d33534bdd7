package engine

import (
	"slices"
	"strings"
	"sync"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// NotDeleted begins the error of a refused deletion, but not its event ([EV-2]).
const NotDeleted = "unable to delete pods: "

// Redactor remembers, for one sync, what others said in their very words, where
// the record holds other ones. What is published must be the very words: a
// status write stores the conditions of its body. The zero value is ready, and
// stays empty in all but a few syncs. Safe for concurrent use.
type Redactor struct {
	mu        sync.Mutex
	originals map[string]string // by the words of the record
	// conditions are those of which the record holds other words: two may be the same there.
	conditions map[Words]Words
	numbers    []string // annotations that should be numbers and are none
}

// Words are the texts of a condition.
type Words struct{ Kind, Status, Reason, Message string }

// Redact returns the words that the record may hold.
func (h *Redactor) Redact(text string) string {
	told := redact.Message(text)
	if told != text {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.originals == nil {
			h.originals = map[string]string{}
		}
		h.originals[told] = text
	}
	return told
}

// RedactNumber does the same for an annotation that should be a number. Of two that are
// none, each has words of its own: one of them may be published.
func (h *Redactor) RedactNumber(text string) string {
	told := redact.Number(text)
	if told == text {
		return text
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.Index(h.numbers, text)
	if at < 0 {
		at = len(h.numbers)
		h.numbers = append(h.numbers, text)
	}
	return told + strings.Repeat("…", at)
}

// UnredactNumber puts the very words back.
func (h *Redactor) UnredactNumber(told string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if rest := strings.ReplaceAll(told, "…", ""); rest == "" && told != "" {
		if at := strings.Count(told, "…") - 1; at < len(h.numbers) {
			return h.numbers[at]
		}
	}
	return told
}

// RedactFailure does the same for the message of an API server. Events leave out
// the words that acting puts before that of a deletion.
func (h *Redactor) RedactFailure(f *decision.Failure) {
	if f == nil {
		return
	}
	if message, wrapped := strings.CutPrefix(f.Message, NotDeleted); wrapped {
		f.Message = NotDeleted + h.Redact(message)
		return
	}
	f.Message = h.Redact(f.Message)
}

// Unredact puts the very words back into what is to be published. They may stand
// behind words of ours.
func (h *Redactor) Unredact(told string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	words := ""
	for w := range h.originals {
		if len(w) > len(words) && strings.HasSuffix(told, w) {
			words = w
		}
	}
	if words == "" {
		return told
	}
	return strings.TrimSuffix(told, words) + h.originals[words]
}

// Condition is how every condition of a snapshot is copied.
func (h *Redactor) Condition(kind, status, reason, message string) decision.Condition {
	said := Words{kind, status, reason, message}
	told := Words{h.Redact(kind), h.Redact(status), h.Redact(reason), h.Redact(message)}
	if told != said {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.conditions == nil {
			h.conditions = map[Words]Words{}
		}
		h.conditions[told] = said
	}
	return decision.Condition{Type: told.Kind, Status: told.Status, Reason: told.Reason, Message: told.Message}
}

// UnredactCondition puts the very words back into a condition that is to be published.
func (h *Redactor) UnredactCondition(c decision.Condition) Words {
	told := Words{c.Type, c.Status, c.Reason, c.Message}
	h.mu.Lock()
	said, known := h.conditions[told]
	h.mu.Unlock()
	if known {
		return said
	}
	return Words{h.Unredact(told.Kind), h.Unredact(told.Status), h.Unredact(told.Reason), h.Unredact(told.Message)}
}
