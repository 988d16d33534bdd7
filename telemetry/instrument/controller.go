package instrument

import (
	"fmt"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Recorder takes the trace of every sync: a *telemetry.Journal is one. Record must not
// block, and sets the number of the trace; SyncOf finds the sync that wrote a
// resourceVersion.
type Recorder interface {
	Record(*telemetry.Trace)
	SyncOf(kind, namespace, name, rv string) (seq uint64, ok bool)
}

// maxObjects bounds the objects of which is kept who signed them: that one is gone is heard only of
// kinds with a Handler.
const maxObjects = 1 << 16

// Controller is one instrumented controller. Its methods are safe for concurrent use.
type Controller struct {
	loop     decision.Loop
	recorder Recorder // nil where it is switched off
	managers *changes.Managers

	mu    sync.Mutex
	lag   time.Duration
	queue func() telemetry.QueueState // nil before there is one
	slots []bool                      // the workers that have a key now
}

// New instruments the controller of a loop; only the loop's Name and Kind have to be
// there. The recorder is usually the journal that the console shows, which has to be told
// of the loop, too. With none nothing is recorded and nothing is done: queues are
// client-go's own, and whatever takes a context returns at once.
func New(recorder Recorder, loop decision.Loop) (*Controller, error) {
	if !decision.IsLoopName(loop.Name) {
		return nil, fmt.Errorf("instrument: %q is no name for a loop: it takes 1 to 63 lower-case letters, digits and hyphens, the first a letter", loop.Name)
	}
	if loop.Kind == "" {
		return nil, fmt.Errorf("instrument: loop %s: the kind of its objects is missing", loop.Name)
	}
	if j, ok := recorder.(*telemetry.Journal); ok && j == nil {
		recorder = nil
	}
	c := &Controller{loop: loop, recorder: recorder, managers: changes.NewManagers()}
	c.managers.KeepAtMost(maxObjects)
	return c, nil
}

// Off reports whether nothing is recorded.
func (c *Controller) Off() bool { return c.recorder == nil }

// Strip is a transform for informers. It takes managedFields out of their objects, which
// are most of what a cache holds, and keeps who signed what: causes then name who made a
// change. It does so for 65536 objects at most: those of kinds without a Handler are not
// forgotten when they are gone. It is not needed for anything else, and does nothing
// where recording is switched off.
func (c *Controller) Strip(obj any) (any, error) {
	if c.Off() {
		return obj, nil
	}
	return c.managers.Strip(obj)
}

// State is the controller as it stands now, for the console's page of queues.
func (c *Controller) State() telemetry.LoopState {
	c.mu.Lock()
	s := telemetry.LoopState{Name: c.loop.Name, Mode: "act", Running: c.queue != nil, Lag: c.lag.Truncate(time.Millisecond)}
	queue, workers := c.queue, len(c.slots)
	c.mu.Unlock()
	if queue != nil {
		s.Queue = queue()
		s.Queue.Workers = workers
	}
	return s
}

// lagShare is the weight of one wait in the average: one in eight.
const lagShare = 8

// enter gives a sync a worker's number: the smallest that is free. How many workers there
// are nobody says, so they are as many as were ever seen at once.
func (c *Controller) enter(wait time.Duration) (worker int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag += (max(0, wait) - c.lag) / lagShare
	for n, taken := range c.slots {
		if !taken {
			c.slots[n] = true
			return n
		}
	}
	c.slots = append(c.slots, true)
	return len(c.slots) - 1
}

func (c *Controller) leave(worker int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slots[worker] = false
}

// record hands the trace of a sync over. A broken recorder costs a trace and never the
// process.
func (c *Controller) record(t *telemetry.Trace) {
	defer func() { _ = recover() }()
	c.recorder.Record(t)
}

// ours notes which causes are the echoes of writes that were recorded.
func (c *Controller) ours(t *telemetry.Trace) {
	for i := range t.Causes {
		x := &t.Causes[i]
		kind, namespace, name, _ := t.Called(x.Object)
		if seq, ok := c.recorder.SyncOf(kind, namespace, name, x.NewRV); ok {
			x.Sync, x.Manager = seq, ""
		}
	}
}
