package standby

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry"
)

func traceText(t testing.TB, change func(*telemetry.Trace)) string {
	t.Helper()
	at := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	x := &telemetry.Trace{Version: telemetry.TraceVersion, Epoch: "7c41", Seq: 12, Object: telemetry.Object{Loop: "toy", Namespace: "shop", Name: "web"},
		Started: at, Ended: at, Result: telemetry.ResultWrote}
	if change != nil {
		change(x)
	}
	text, err := json.Marshal(map[string]any{"trace": x})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const helloText = `{"hello":{"api":"loopscope.trace.v1+json","epoch":"7c41","last":3,"after":0,"cluster":"c","version":"dev","by":"a"}}`

func TestParse(t *testing.T) {
	whole := traceText(t, nil)
	for text, want := range map[string]string{
		helloText:                           "",
		`{"gap":{"missed":3,"next":9}}`:     "",
		whole:                               "",
		whole[:len(whole)-2] + `,"new":1}}`: "",
		`{"gap":{"missed":9,"next":9}}`:     "PROTOCOL.md",
		`{"gap":{"missed":0,"next":0}}`:     "PROTOCOL.md",
		`{}`:                                "PROTOCOL.md",
		`[]`:                                "PROTOCOL.md",
		``:                                  "PROTOCOL.md",
		whole + whole:                       "PROTOCOL.md",
		helloText[:len(helloText)-1] + `,"gap":{"missed":1,"next":2}}`:              "PROTOCOL.md",
		strings.Replace(helloText, "v1+json", "v2+json", 1):                         "speaks",
		strings.Replace(helloText, "7c41", "../x", 1):                               "PROTOCOL.md",
		strings.Replace(helloText, "7c41", "", 1):                                   "PROTOCOL.md",
		traceText(t, func(x *telemetry.Trace) { x.Seq = 0 }):                        "no number",
		traceText(t, func(x *telemetry.Trace) { x.Result = "odd" }):                 "not known",
		traceText(t, func(x *telemetry.Trace) { x.Name = "a/b" }):                   "cannot be read",
		traceText(t, func(x *telemetry.Trace) { x.Started = time.Unix(-1<<33, 0) }): "cannot be read",
		`{"trace":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`:     "nested deeper",
		`{"trace":[` + strings.Repeat("0,", 600_000) + `0]}`:                        "elements",
	} {
		m, err := parse(websocket.TextMessage, []byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s: %v, want %q", text, err, want)
		}
		if n := len(given(m)); err == nil && n != 1 {
			t.Errorf("%.120s has %d messages", text, n)
		}
	}
	if _, err := parse(websocket.BinaryMessage, []byte(helloText)); err == nil {
		t.Error("bytes are read")
	}
}

// given are the parts of a message.
func given(m message) (list []string) {
	for name, is := range map[string]bool{"hello": m.hello != nil, "gap": m.gap != nil, "trace": m.trace != nil} {
		if is {
			list = append(list, name)
		}
	}
	return list
}

// Whatever comes, there is an error or one message, and a follower that takes it does not fall over.
func FuzzParse(f *testing.F) {
	f.Add([]byte(helloText))
	f.Add([]byte(`{"gap":{"missed":3,"next":9}}`))
	f.Add([]byte(traceText(f, nil)))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parse(websocket.TextMessage, text)
		if err == nil && len(given(m)) != 1 {
			t.Fatalf("%d messages", len(given(m)))
		}
		if err != nil {
			return
		}
		x := New(Options{Begin: func(epoch string) *telemetry.Journal {
			return telemetry.FollowJournal(telemetry.JournalOptions{Epoch: epoch})
		},
			Logger: quiet, Known: func(string) bool { return true }, Missed: func(telemetry.MissedSyncs) {}})
		x.run = run{epoch: "7c41", journal: x.opts.Begin("7c41"), seq: 3}
		_ = x.take(leaderA, m, m.hello != nil)
		_ = x.take(leaderA, m, m.hello != nil) // Twice is once.
		if n, _, _ := x.run.journal.Window(); n > 1 {
			t.Errorf("%d syncs are kept", n)
		}
	})
}
