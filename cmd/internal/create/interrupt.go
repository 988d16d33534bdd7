package create

import (
	"context"
	"errors"
	"sync"
	"time"

	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// answeredWithin is how long what is being sent may still be answered after an interrupt.
const answeredWithin = 500 * time.Millisecond

// stage is how far a run has come, in the words of somebody who interrupts it.
type stage struct {
	mu   sync.Mutex
	text string
}

func (s *stage) set(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

// interruptible runs what reads and sends objects, and leaves it behind soon after ctx has
// ended: standard input, addresses and API servers may be silent forever. left is set then, and
// nothing that run writes may be read any more.
func (s *stage) interruptible(ctx context.Context, run func() error) (left bool, err error) {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	select {
	case err := <-ended:
		return false, err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return false, err
	case <-time.After(answeredWithin):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return true, errors.New("interrupted" + s.text)
}

// reach says how far it has come, of which nothing is left by a dry run.
func (s *sending) reach(text string) {
	if s.r.dryRun != cmdutil.DryRunNone {
		text = "; nothing was written: it was a dry run"
	}
	s.at.set(text)
}
