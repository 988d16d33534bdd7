package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/cmd/internal/standby"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web"
	"github.com/loopscope/loopscope/web/live"
)

// addressOf is where a handler is served until the test ends.
func addressOf(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// greeted is a websocket that has been greeted with the name of a run.
func greeted(t *testing.T, url, epoch string) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{live.TraceProtocol}, HandshakeTimeout: time.Minute}
	conn, _, err := d.DialContext(t.Context(), strings.Replace(url, "http", "ws", 1)+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var first struct{ Hello live.Hello }
	if err := conn.ReadJSON(&first); err != nil || first.Hello.Epoch != epoch {
		t.Fatalf("it is greeted with %+v, %v, want run %s", first, err, epoch)
	}
	return conn
}

// sentAway waits until a websocket is closed, as another console is shown.
func sentAway(t *testing.T, who string, conn *websocket.Conn) {
	t.Helper()
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseServiceRestart) {
		t.Errorf("the %s one: %v", who, err)
	}
}

// stays checks that a websocket is sent the next sync.
func stays(t *testing.T, conn *websocket.Conn, journal *telemetry.Journal) {
	t.Helper()
	journal.Record(webTrace(1))
	if _, message, err := conn.ReadMessage(); err != nil || !strings.Contains(string(message), `"trace"`) {
		t.Errorf("who reads what is shown gets %.100s, %v", message, err)
	}
}

// A websocket of a console that is not shown is sent away also where it was let in only after the
// change: it takes a while to ask what its viewer may see. Others stay.
func TestLateReadersAreSentAway(t *testing.T) {
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer func() { cancel(); working.Wait(); a.runs.end() }()
	theirs := telemetry.NewJournal(telemetry.JournalOptions{Epoch: "theirs"})
	leader, err := web.New(web.Options{Journal: theirs, Logger: quiet(), Leadership: func() telemetry.Leadership { return telemetry.Leadership{Identity: "b"} }})
	if err != nil {
		t.Fatal(err)
	}
	var standsBy atomic.Bool
	console := leadership.Console{Identity: "b", URL: addressOf(t, leader.Handler())}
	a.follower = standby.New(standby.Options{Config: &rest.Config{}, Logger: quiet(), Begin: a.beginRun, Missed: func(telemetry.MissedSyncs) {}, Known: func(string) bool { return true },
		Leadership: func() telemetry.Leadership {
			if standsBy.Load() {
				return telemetry.Leadership{Identity: "a", Leader: "b", StandsBy: true}
			}
			return telemetry.Leadership{Identity: "a", Leader: "a"}
		},
		Console: func() leadership.Console {
			if standsBy.Load() {
				return console
			}
			return leadership.Console{}
		}})
	shown, own := addressOf(t, a.handler()), addressOf(t, a.console.Handler())
	for _, run := range []func(context.Context) error{a.follower.Run, a.watchShown} {
		working.Go(func() { _ = run(ctx) })
	}
	for _, j := range []*telemetry.Journal{theirs, a.journal} {
		working.Go(func() { j.Run(ctx) })
	}

	early := greeted(t, shown, a.journal.Epoch())
	standsBy.Store(true)
	sentAway(t, "early", early)
	early = greeted(t, shown, "theirs")
	sentAway(t, "late", greeted(t, own, a.journal.Epoch()))
	stays(t, early, theirs)

	run := addressOf(t, a.shown().Handler())
	standsBy.Store(false)
	sentAway(t, "early", early)
	early = greeted(t, shown, a.journal.Epoch())
	sentAway(t, "late", greeted(t, run, "theirs"))
	stays(t, early, a.journal)
}
