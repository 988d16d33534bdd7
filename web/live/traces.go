package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/answer"
)

// The messages of loopscope.trace.v1+json: each is an object with one key.
type (
	helloMessage struct {
		Hello Hello `json:"hello"`
	}
	// Hello says where the reader begins.
	Hello struct {
		API   string `json:"api"`
		Epoch string `json:"epoch"`
		// Last is the newest trace, After the one before the first that follows.
		Last  uint64 `json:"last"`
		After uint64 `json:"after"`
		// Restarted is set where the reader's epoch is over: it begins anew.
		Restarted bool   `json:"restarted,omitempty"`
		Cluster   string `json:"cluster"`
		Version   string `json:"version"`
		// By is what the process that recorded them is called in the Lease, "" where nobody is elected.
		By string `json:"by,omitempty"`
	}
	gapMessage struct {
		Gap Gap `json:"gap"`
	}
	// Gap says that traces are kept no longer that the reader has not got.
	Gap struct {
		Missed uint64 `json:"missed"`
		// Next is the number of the trace from which on there are all. Those that follow before it
		// are the newest of objects that had none since.
		Next uint64 `json:"next"`
	}
)

// sendTraces sends every trace from the reader's position on, one message each.
func (c *reader) sendTraces(ctx context.Context) error {
	j := c.s.Journal
	if err := c.encode(helloMessage{Hello{API: TraceProtocol, Epoch: j.Epoch(), Last: j.LastSeen(), After: c.after,
		Restarted: c.restarted, Cluster: c.s.Opts.Cluster, Version: c.s.Opts.Version, By: c.s.Opts.Leadership().Identity}}); err != nil {
		return err
	}
	ping := time.Now().Add(pingEvery)
	for {
		if c.take() != nil {
			return malformed{"a reader of traces sends nothing"}
		}
		messages, err := c.nextTraces(ctx, ping)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if err := c.write(m); err != nil {
				return err
			}
		}
		if now := time.Now(); !now.Before(ping) {
			ping = now.Add(pingEvery)
			if err := c.check(livePath); err != nil {
				return err
			}
		}
	}
}

// nextTraces are the messages of the traces that follow. Those of the past, which
// nobody else may have asked for, are unpacked and encoded in a slot.
func (c *reader) nextTraces(ctx context.Context, due time.Time) (messages [][]byte, err error) {
	if c.s.Journal.Last() > c.after+uint64(len(c.s.encoded.raw)) {
		place, err := c.s.slots.Watch(ctx)
		if err != nil {
			return nil, context.Cause(ctx)
		}
		defer place.Release()
	}
	from := c.after + 1
	batch, missed, err := c.wait(ctx, due)
	if err != nil {
		return nil, err
	}
	if missed > 0 {
		next := c.after + 1
		if len(batch) > 0 {
			next = batch[0].Seq
		}
		newest := c.newestOf(from, next)
		raw, err := answer.Marshal(gapMessage{Gap{missed - min(missed, uint64(len(newest))), next}})
		if err != nil {
			return nil, fmt.Errorf("encode gap: %w", err)
		}
		messages, batch = append(messages, raw), append(newest, batch...)
	}
	for _, t := range batch {
		raw, err := c.s.encoded.of(t)
		if err != nil {
			return nil, err
		}
		messages = append(messages, raw)
	}
	return messages, nil
}

// newestOf are the newest traces of objects whose numbers are from first to before next, in order:
// they are on the board, however long ago their syncs were.
func (c *reader) newestOf(first, next uint64) (list []*telemetry.Trace) {
	board := c.s.Journal.Board()
	for _, loop := range board.Loops() {
		for _, t := range board.List(loop) {
			if t.Seq >= first && t.Seq < next {
				list = append(list, t)
			}
		}
	}
	slices.SortFunc(list, func(a, b *telemetry.Trace) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

// sendRest sends what was recorded until the console stopped, so that a reader who follows
// everything knows that nothing is missing.
func (c *reader) sendRest() error {
	for c.after < c.s.Journal.Last() {
		messages, err := c.nextTraces(context.Background(), time.Now().Add(c.s.Opts.WriteTimeout))
		if err != nil || len(messages) == 0 {
			return err
		}
		for _, m := range messages {
			if err := c.write(m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *reader) encode(v any) error {
	raw, err := answer.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return c.write(raw)
}

// encoded keeps the newest traces as they are sent, so that two hundred readers
// do not encode each of them two hundred times.
type encoded struct {
	mu  sync.Mutex
	raw [256]struct {
		seq   uint64
		bytes []byte
	}
}

func (e *encoded) of(t *telemetry.Trace) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	slot := &e.raw[t.Seq%uint64(len(e.raw))]
	if slot.seq == t.Seq {
		return slot.bytes, nil
	}
	raw, err := answer.Marshal(struct {
		Trace *telemetry.Trace `json:"trace"`
	}{t})
	if err != nil {
		return nil, fmt.Errorf("encode trace %d: %w", t.Seq, err)
	}
	slot.seq, slot.bytes = t.Seq, raw
	return raw, nil
}
