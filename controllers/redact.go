package controllers

import (
	"slices"
	"strings"
	"sync"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// notDeleted begins the error of a refused deletion, but not its event ([EV-2]).
const notDeleted = "unable to delete pods: "

// redactor remembers, for one sync, what others said in their very words, where
// the record holds other ones. What is published must be the very words: a
// status write stores the conditions of its body. The zero value is ready, and
// stays empty in all but a few syncs. Safe for concurrent use.
type redactor struct {
	mu        sync.Mutex
	originals map[string]string // by the words of the record
	// conditions are those of which the record holds other words: two may be the same there.
	conditions map[words]words
	numbers    []string // annotations that should be numbers and are none
}

// words are the texts of a condition.
type words struct{ kind, status, reason, message string }

// redact returns the words that the record may hold.
func (h *redactor) redact(text string) string {
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

// redactNumber does the same for an annotation that should be a number. Of two that are
// none, each has words of its own: one of them may be published.
func (h *redactor) redactNumber(text string) string {
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

// unredactNumber puts the very words back.
func (h *redactor) unredactNumber(told string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if rest := strings.ReplaceAll(told, "…", ""); rest == "" && told != "" {
		if at := strings.Count(told, "…") - 1; at < len(h.numbers) {
			return h.numbers[at]
		}
	}
	return told
}

// redactFailure does the same for the message of an API server. Events leave out
// the words that acting puts before that of a deletion.
func (h *redactor) redactFailure(f *decision.Failure) {
	if f == nil {
		return
	}
	if message, wrapped := strings.CutPrefix(f.Message, notDeleted); wrapped {
		f.Message = notDeleted + h.redact(message)
		return
	}
	f.Message = h.redact(f.Message)
}

// unredact puts the very words back into what is to be published. They may stand
// behind words of ours.
func (h *redactor) unredact(told string) string {
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

// condition is how every condition of a snapshot is copied.
func (h *redactor) condition(kind, status, reason, message string) decision.Condition {
	said := words{kind, status, reason, message}
	told := words{h.redact(kind), h.redact(status), h.redact(reason), h.redact(message)}
	if told != said {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.conditions == nil {
			h.conditions = map[words]words{}
		}
		h.conditions[told] = said
	}
	return decision.Condition{Type: told.kind, Status: told.status, Reason: told.reason, Message: told.message}
}

// unredactCondition puts the very words back into a condition that is to be published.
func (h *redactor) unredactCondition(c decision.Condition) words {
	told := words{c.Type, c.Status, c.Reason, c.Message}
	h.mu.Lock()
	said, known := h.conditions[told]
	h.mu.Unlock()
	if known {
		return said
	}
	return words{h.unredact(told.kind), h.unredact(told.status), h.unredact(told.reason), h.unredact(told.message)}
}
