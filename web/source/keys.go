package source

import (
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// KeyStates is what a queue holds, by key; nil where that is not known.
type KeyStates map[string]*telemetry.KeyState

// idleKey is the state of a key that no queue holds, unknownKey that of one in a queue of
// another process. Nobody changes them.
var (
	idleKey    telemetry.KeyState
	unknownKey = telemetry.KeyState{Phase: telemetry.KeyUnknown}
)

// Of is the state of a key, the zero one where the queue does not hold it.
func (m KeyStates) Of(key string) *telemetry.KeyState {
	switch k := m[key]; {
	case k != nil:
		return k
	case m == nil:
		return &unknownKey
	}
	return &idleKey
}

// QueuesUnknown says why it is not known what is in the work queues; "" where it is known.
func (s *Source) QueuesUnknown() string {
	switch {
	case s.Opts.Recording != nil:
		return "What was in the work queues is not known: a recording does not have them."
	case s.Opts.Elsewhere:
		return "What is in the work queues is not known here: they are in the process that leads."
	case s.Opts.untold:
		return "What is in the work queues is not known here: this program does not tell its console (web.Options.Loops)."
	}
	return ""
}

// Keys is what the queue of a loop holds now.
func (s *Source) Keys(loop string) KeyStates {
	if s.QueuesUnknown() != "" {
		return nil
	}
	queue := s.Opts.Queue(loop)
	keys := make(KeyStates, len(queue.Keys))
	for i := range queue.Keys {
		keys[queue.Keys[i].Key] = &queue.Keys[i]
	}
	return keys
}

// lateKeys are what queues held a moment ago, by loop.
type lateKeys struct {
	mu sync.Mutex
	of map[string]keysAt
}

type keysAt struct {
	looked time.Time
	keys   KeyStates
}

// lately is how long it is not looked again what a queue holds, which copies all of it.
const lately = 900 * time.Millisecond

// KeysLately is what the queue of a loop holds, or held a moment ago.
func (s *Source) KeysLately(loop string) KeyStates {
	s.late.mu.Lock()
	defer s.late.mu.Unlock()
	now := s.Opts.Now()
	was, ok := s.late.of[loop]
	if age := now.Sub(was.looked); ok && age >= 0 && age < lately {
		return was.keys
	}
	if s.late.of == nil {
		s.late.of = map[string]keysAt{}
	}
	keys := s.Keys(loop)
	s.late.of[loop] = keysAt{now, keys}
	return keys
}
