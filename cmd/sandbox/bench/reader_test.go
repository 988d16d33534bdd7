package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

const (
	overview = "/deployments"
	// rowsFollowed is how many rows a browser keeps up to date, as console.js does.
	rowsFollowed = 100
	// rowsInSight is how many of them a window of 1920 by 1080 has in sight at most,
	// when all are quiet: web's TestBrowserSight prints it.
	rowsInSight = 33
	// sortPause is how often the reader at most has the list sorted again.
	sortPause = time.Second
)

// reader looks at the overview as a browser does: it loads the page, follows it
// over the websocket, and has the list sorted again when there are new rows.
type reader struct {
	conn *websocket.Conn
	done chan struct{}

	mu              sync.Mutex
	messages, bytes int
	ended           error
}

// subscription is what a page sends; web/PROTOCOL.md explains it.
type subscription struct {
	Page  string   `json:"page"`
	After uint64   `json:"after"`
	Epoch string   `json:"epoch"`
	V     string   `json:"v,omitempty"`
	Rows  []string `json:"rows"`
	Sight int      `json:"sight"`
}

// follow reads the overview until close, or the test's end.
func follow(t *testing.T, dashboard string) *reader {
	t.Helper()
	first, err := load(dashboard)
	if err != nil {
		t.Fatalf("load the overview: %v", err)
	}
	dialer := websocket.Dialer{Subprotocols: []string{"loopscope.page.v1"}, HandshakeTimeout: 10 * time.Second}
	conn, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(dashboard, "http")+"/live", nil)
	if err != nil {
		t.Fatalf("follow the overview: %v", err)
	}
	r := &reader{conn: conn, done: make(chan struct{})}
	go r.run(first)
	t.Cleanup(func() { _ = conn.Close(); <-r.done })
	return r
}

var (
	attribute = regexp.MustCompile(`data-(v|seq|epoch)="([^"]*)"`)
	row       = regexp.MustCompile(`<tr[^>]* id="(r-[^"]*)"`)
)

// load gets the page, and what its script would subscribe with.
func load(dashboard string) (subscription, error) {
	response, err := http.Get(dashboard + overview)
	if err != nil {
		return subscription{}, err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return subscription{}, fmt.Errorf("%s: %w", response.Status, err)
	}
	s := subscription{Page: overview, Rows: []string{}}
	for _, match := range attribute.FindAllSubmatch(page, -1) {
		switch value := string(match[2]); string(match[1]) {
		case "v":
			s.V = value
		case "epoch":
			s.Epoch = value
		case "seq":
			if s.After, err = strconv.ParseUint(value, 10, 64); err != nil {
				return s, err
			}
		}
	}
	for _, match := range row.FindAllSubmatch(page, rowsFollowed) {
		s.Rows = append(s.Rows, string(match[1]))
	}
	s.Sight = min(len(s.Rows), rowsInSight)
	return s, nil
}

// message is what the reader needs of an update: all but the fragments.
type message struct {
	Seq   uint64
	Epoch string
	Order []string
}

// run takes messages until the connection ends.
func (r *reader) run(s subscription) {
	defer close(r.done)
	err := r.conn.WriteJSON(s)
	sorted, stale := time.Now(), false
	var text bytes.Buffer
	for err == nil {
		var m message
		if m, err = r.receive(&text); err != nil {
			break
		}
		s.After, s.Epoch, s.V = m.Seq, m.Epoch, ""
		if wanted := m.Order[:min(len(m.Order), rowsFollowed)]; m.Order != nil && !slices.Equal(wanted, s.Rows) {
			s.Rows, s.Sight, stale = wanted, min(len(wanted), rowsInSight), true
		}
		if stale && time.Since(sorted) > sortPause {
			err = r.conn.WriteJSON(s)
			sorted, stale = time.Now(), false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = err
}

// receive takes the next message. Browsers have machines of their own: here,
// where a hundred readers share one with the loops, the fragments are read and
// not taken apart. They come last in a message.
func (r *reader) receive(text *bytes.Buffer) (m message, err error) {
	_, from, err := r.conn.NextReader()
	if err != nil {
		return m, err
	}
	text.Reset()
	if _, err = text.ReadFrom(from); err != nil {
		return m, err
	}
	r.mu.Lock()
	r.messages, r.bytes = r.messages+1, r.bytes+text.Len()
	r.mu.Unlock()
	head, _, cut := bytes.Cut(text.Bytes(), []byte(`,"frags":[`))
	if cut {
		head = append(head, '}')
	}
	return m, json.Unmarshal(head, &m)
}

// seen says how much has come, and fails the test if the stream has ended.
func (r *reader) seen(t *testing.T) string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil || r.messages == 0 {
		t.Errorf("the reader of the overview got %d messages; its stream ended: %v", r.messages, r.ended)
	}
	return fmt.Sprintf("the reader got %d messages, %d KB", r.messages, r.bytes>>10)
}
