package standby

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/tracefile"
)

const (
	// protocol is the subprotocol of the stream, and its api.
	protocol = "loopscope.trace.v1+json"
	// maxMessage bounds a message, in bytes.
	maxMessage = tracefile.MaxLine
	// maxEpoch bounds the name of a run, in bytes.
	maxEpoch = 64
)

// hello is the first message: whose syncs follow, and from where on.
type hello struct {
	API   string `json:"api"`
	Epoch string `json:"epoch"`
	Last  uint64 `json:"last"`
	After uint64 `json:"after"`
	By    string `json:"by"`
}

// gap says that so many syncs before the one numbered Next are kept no longer.
type gap struct {
	Missed uint64 `json:"missed"`
	Next   uint64 `json:"next"`
}

// message is one of the three.
type message struct {
	hello *hello
	gap   *gap
	trace *telemetry.Trace
}

var errMessage = errors.New("a message of the stream is none that PROTOCOL.md describes")

// parse reads a message. Fields that a newer release added are left out.
func parse(kind int, text []byte) (m message, err error) {
	var raw struct {
		Hello *hello          `json:"hello"`
		Gap   *gap            `json:"gap"`
		Trace json.RawMessage `json:"trace"`
	}
	if kind != websocket.TextMessage || json.Unmarshal(text, &raw) != nil {
		return m, errMessage
	}
	m.hello, m.gap = raw.Hello, raw.Gap
	switch {
	case raw.Trace != nil && raw.Hello == nil && raw.Gap == nil:
		if m.trace, err = tracefile.ParseTrace(raw.Trace); err != nil {
			return message{}, fmt.Errorf("a sync of the stream cannot be read: %w", err)
		}
		return m, nil
	case raw.Trace == nil && raw.Hello != nil && raw.Gap == nil:
		return m, raw.Hello.check()
	case raw.Trace == nil && raw.Hello == nil && raw.Gap != nil:
		if raw.Gap.Next == 0 || raw.Gap.Missed >= raw.Gap.Next {
			return message{}, errMessage
		}
		return m, nil
	}
	return message{}, errMessage
}

func (h *hello) check() error {
	if h.API != protocol {
		return fmt.Errorf("the stream speaks %q, and this process %s", clip(h.API), protocol)
	}
	if h.Epoch == "" || len(h.Epoch) > maxEpoch {
		return errMessage
	}
	for _, r := range h.Epoch { // It stands in addresses.
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' {
			return errMessage
		}
	}
	return nil
}

// clip bounds what an error repeats.
func clip(s string) string {
	const longest = 60
	if len(s) > longest {
		return s[:longest] + "…"
	}
	return s
}
