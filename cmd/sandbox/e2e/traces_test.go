package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry"
)

// follower reads every trace over the websocket that is documented for programs.
type follower struct {
	mu     sync.Mutex
	traces map[uint64]*telemetry.Trace
	err    error
}

// followTraces reads traces until the test ends, from the next sync on.
func followTraces(t *testing.T, dashboard string) *follower {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{"loopscope.trace.v1+json"}, HandshakeTimeout: time.Minute}
	conn, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(dashboard, "http")+"/live", nil)
	if err != nil {
		t.Fatalf("follow the traces: %v", err)
	}
	f := &follower{traces: map[uint64]*telemetry.Trace{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for f.read(conn) {
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	return f
}

func (f *follower) read(conn *websocket.Conn) bool {
	var message struct {
		Trace *telemetry.Trace
		Gap   *struct{ Missed uint64 }
	}
	err := conn.ReadJSON(&message)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		f.err = err
		return false
	case message.Gap != nil:
		f.err = fmt.Errorf("%d traces were missed", message.Gap.Missed)
	case message.Trace != nil:
		f.traces[message.Trace.Seq] = message.Trace
	}
	return true
}

// of returns the traces of one object so far, by number.
func (f *follower) of(t *testing.T, object telemetry.Object) map[uint64]*telemetry.Trace {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		t.Fatalf("the stream of traces: %v", f.err)
	}
	some := map[uint64]*telemetry.Trace{}
	for seq, trace := range f.traces {
		if trace.Object == object {
			some[seq] = trace
		}
	}
	return some
}

// fetch reads a page or its JSON twin.
func fetch(t testing.TB, url string, header ...string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
		request.Header.Set(header[i], header[i+1])
	}
	response, err := console.Do(request)
	if err != nil {
		t.Fatalf("get %s: %v", url, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("get %s: %v", url, err)
	}
	return response.StatusCode, string(raw)
}

// console is a client that takes answers as they come.
var console = &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// fetchJSON reads a JSON twin into value.
func fetchJSON(t testing.TB, url string, value any) {
	t.Helper()
	status, text := fetch(t, url)
	if status != http.StatusOK {
		t.Fatalf("get %s: status %d: %s", url, status, text)
	}
	if err := json.Unmarshal([]byte(text), value); err != nil {
		t.Fatalf("get %s: %v", url, err)
	}
}
