package live

import (
	"context"
	"fmt"
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
	}
	gapMessage struct {
		Gap Gap `json:"gap"`
	}
	// Gap says that traces are kept no longer that the reader has not got.
	Gap struct {
		Missed uint64 `json:"missed"`
		// Next is the number of the trace that follows.
		Next uint64 `json:"next"`
	}
)

// sendTraces sends every trace from the reader's position on, one message each.
func (c *reader) sendTraces(ctx context.Context) error {
	j := c.s.Journal
	if err := c.encode(helloMessage{Hello{API: TraceProtocol, Epoch: j.Epoch(), Last: j.Last(), After: c.after,
		Restarted: c.restarted, Cluster: c.s.Opts.Cluster, Version: c.s.Opts.Version}}); err != nil {
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
			if err := c.ping(); err != nil {
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
	batch, missed, err := c.wait(ctx, due)
	if err != nil {
		return nil, err
	}
	if missed > 0 {
		raw, err := answer.Marshal(gapMessage{Gap{missed, batch[0].Seq}})
		if err != nil {
			return nil, fmt.Errorf("encode gap: %w", err)
		}
		messages = append(messages, raw)
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
