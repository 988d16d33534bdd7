package source

import (
	"github.com/loopscope/loopscope/telemetry"
)

// KeyStates is what a queue holds, by key.
type KeyStates map[string]*telemetry.KeyState

// idleKey is the state of a key that no queue holds. Nobody changes it.
var idleKey telemetry.KeyState

// Of is the state of a key, the zero one where the queue does not hold it.
func (m KeyStates) Of(key string) *telemetry.KeyState {
	if k := m[key]; k != nil {
		return k
	}
	return &idleKey
}

// Keys is what the queue of a loop holds now.
func (s *Source) Keys(loop string) KeyStates {
	queue := s.Opts.Queue(loop)
	keys := make(KeyStates, len(queue.Keys))
	for i := range queue.Keys {
		keys[queue.Keys[i].Key] = &queue.Keys[i]
	}
	return keys
}
