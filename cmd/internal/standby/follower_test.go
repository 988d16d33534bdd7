package standby

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web"
)

var leaderA = leadership.Console{Identity: "a", URL: "http://127.0.0.1:1"}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// leader is a console that can be followed, with what it shows.
type leader struct {
	identity string
	journal  *telemetry.Journal
	console  *web.Server
	server   *http.Server
	address  string
}

func newLeader(t *testing.T, identity, epoch string, recent int) *leader {
	t.Helper()
	l := &leader{identity: identity, journal: telemetry.NewJournal(telemetry.JournalOptions{Epoch: epoch, Recent: recent, Wrote: 1}), address: "127.0.0.1:0"}
	go l.journal.Run(t.Context())
	l.serve(t)
	return l
}

// serve begins to serve, at the same address as before.
func (l *leader) serve(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", l.address)
	if err != nil {
		t.Fatal(err)
	}
	l.address = listener.Addr().String()
	l.console, err = web.New(web.Options{Journal: l.journal, Logger: quiet, Leadership: func() telemetry.Leadership { return telemetry.Leadership{Identity: l.identity, Leader: l.identity} }})
	if err != nil {
		t.Fatal(err)
	}
	l.server = web.HTTPServer(l.console.Handler(), quiet)
	server := l.server
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(l.cut)
}

// cut ends it as a kill does: without a word.
func (l *leader) cut() {
	_ = l.server.Close()
	l.console.Disconnect()
}

// record records syncs of an object, and gives the number of the last one.
func (l *leader) record(n int, name string, change func(*telemetry.Trace)) uint64 {
	for range n {
		now := time.Now()
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "toy", Namespace: "shop", Name: name}, Started: now, Ended: now, Result: telemetry.ResultUnchanged}
		if change != nil {
			change(x)
		}
		l.journal.Record(x)
	}
	return l.journal.Last()
}

// world is who leads, and a follower of that.
type world struct {
	*Follower
	mu     sync.Mutex
	l      telemetry.Leadership
	at     leadership.Console
	vouch  error
	missed []telemetry.MissedSyncs
	runs   map[string]*telemetry.Journal
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{runs: map[string]*telemetry.Journal{}, l: telemetry.Leadership{Identity: "me", StandsBy: true}}
	w.Follower = New(Options{Config: &rest.Config{BearerToken: "secret"}, Logger: quiet, Known: func(loop string) bool { return loop == "toy" },
		Leadership: func() telemetry.Leadership { w.mu.Lock(); defer w.mu.Unlock(); return w.l },
		Console:    func() leadership.Console { w.mu.Lock(); defer w.mu.Unlock(); return w.at },
		Vouch:      func(context.Context, leadership.Console) error { w.mu.Lock(); defer w.mu.Unlock(); return w.vouch },
		Missed:     func(m telemetry.MissedSyncs) { w.mu.Lock(); defer w.mu.Unlock(); w.missed = append(w.missed, m) },
		Begin: func(epoch string) *telemetry.Journal {
			if w.runs[epoch] == nil {
				w.runs[epoch] = telemetry.FollowJournal(telemetry.JournalOptions{Epoch: epoch})
			}
			return w.runs[epoch]
		}})
	ended := make(chan struct{})
	go func() { _ = w.Run(t.Context()); close(ended) }()
	t.Cleanup(func() { <-ended })
	return w
}

// leads has the Lease name a leader, and where its console is.
func (w *world) leads(identity, url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.l.Leader, w.l.Since, w.l.StandsBy, w.at = identity, time.Now(), identity != "me", leadership.Console{Identity: identity, URL: url}
	if identity == "me" {
		w.at = leadership.Console{}
	}
}

// until waits for what is shown, which is checked every few milliseconds.
func (w *world) until(t *testing.T, what string, is func(l telemetry.Leadership, shown *telemetry.Journal) error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		l := w.State(w.opts.Leadership())
		err := is(l, w.Shown())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v: %+v", what, err, l.Following)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// shows waits until these syncs are shown.
func (w *world) shows(t *testing.T, epoch string, want ...uint64) {
	t.Helper()
	w.until(t, "shown syncs", func(l telemetry.Leadership, shown *telemetry.Journal) error {
		if shown == nil || shown.Epoch() != epoch || l.Following == nil || !l.Following.Shown || !l.Following.Connected {
			return errors.New("the run is not shown")
		}
		var got []uint64
		for _, x := range shown.Kept(0, 1000) {
			got = append(got, x.Seq)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("shown are %v, want %v", got, want)
		}
		return nil
	})
}

func (w *world) wantMissed(t *testing.T, want ...telemetry.MissedSyncs) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.missed) != len(want) {
		t.Fatalf("missed are %+v, want %+v", w.missed, want)
	}
	for i, m := range w.missed {
		if m.Leader != want[i].Leader || m.Count != want[i].Count || m.From.IsZero() || m.To.IsZero() != want[i].To.IsZero() || m.To.Before(m.From) && !m.To.IsZero() {
			t.Errorf("missed is %+v, want %+v", m, want[i])
		}
	}
}

// What the leader decides comes as it happens, but for what it would have done before it led, and
// for loops that are not known. After a cut it goes on where it stopped: nothing twice, and no gap.
func TestFollow(t *testing.T) {
	l, w := newLeader(t, "a", "run1", 100), newWorld(t)
	l.record(2, "web", nil)
	l.record(1, "web", func(x *telemetry.Trace) { x.Standby = true })
	l.record(1, "web", func(x *telemetry.Trace) { x.Loop = "lease" })
	w.leads("a", "http://"+l.address)
	w.shows(t, "run1", 1, 2)
	l.record(2, "api", nil)
	w.shows(t, "run1", 1, 2, 5, 6)
	l.cut()
	w.until(t, "cut", func(l telemetry.Leadership, _ *telemetry.Journal) error {
		if l.Following.Connected || l.Following.Error == "" {
			return errors.New("it is connected")
		}
		return nil
	})
	l.record(3, "api", nil)
	l.serve(t)
	w.shows(t, "run1", 1, 2, 5, 6, 7, 8, 9)
	w.wantMissed(t)
}

// Who ends while it follows has lost nothing, and warns of nothing.
func TestEndIsNoWarning(t *testing.T) {
	var text bytes.Buffer
	f := New(Options{Logger: slog.New(slog.NewTextHandler(&text, nil)), Leadership: func() telemetry.Leadership { return telemetry.Leadership{} }})
	a := leadership.Console{Identity: "a", URL: "http://127.0.0.1:1"}
	f.state = telemetry.Following{Leader: "a", Connected: true}
	ctx, cancel := context.WithCancel(t.Context())
	f.cut(ctx, a, errors.New("connection reset"))
	if !strings.Contains(text.String(), "The leader's syncs are not received") {
		t.Errorf("of a cut it says %q", &text)
	}
	text.Reset()
	f.state.Connected = true
	cancel()
	if f.cut(ctx, a, context.Cause(ctx)); text.Len() > 0 {
		t.Errorf("at the end it says %q", &text)
	}
}

// A console that does not answer is tried ever less often, up to every half a minute or so. Nobody waits that long
// for the next leader: it is tried at once, but however often that changes, not without a pause.
func TestPauseEndsWithTheNextLeader(t *testing.T) {
	a, b := leadership.Console{Identity: "a", URL: "http://127.0.0.1:1"}, leadership.Console{Identity: "b", URL: "http://127.0.0.1:2"}
	moved := leadership.Console{Identity: "a", URL: b.URL}
	for name, x := range map[string]struct {
		then           leadership.Console
		after          time.Duration // the start of the pause
		least, most    time.Duration // it takes
		pause, another time.Duration
	}{
		"nothing changes":          {a, time.Second, 30 * time.Second, 45 * time.Second, longestPause, longestPause},
		"short pauses grow":        {a, time.Second, 4 * time.Second, 6 * time.Second, 4 * time.Second, 8 * time.Second},
		"another leads":            {b, 7 * time.Second, 7 * time.Second, 7*time.Second + look, longestPause, shortestPause},
		"it is elsewhere":          {moved, 7 * time.Second, 7 * time.Second, 7*time.Second + look, longestPause, shortestPause},
		"another leads already":    {b, 0, look, look, longestPause, shortestPause},
		"nobody leads for a while": {leadership.Console{}, time.Second, 30 * time.Second, 45 * time.Second, longestPause, longestPause},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				now := func() leadership.Console {
					if time.Since(began) >= x.after {
						return x.then
					}
					return a
				}
				f := New(Options{Console: now, Leadership: func() telemetry.Leadership { return telemetry.Leadership{StandsBy: true, Leader: now().Identity} }})
				next := f.rest(t.Context(), a, x.pause)
				if took := time.Since(began); took < x.least || took > x.most {
					t.Errorf("the pause took %s, want %s to %s", took, x.least, x.most)
				}
				if next != x.another {
					t.Errorf("the next one is %s, want %s", next, x.another)
				}
			})
		})
	}
}

// Of a leader that is gone without a word nobody knows what it did last. One that stops has said
// everything.
func TestNextLeader(t *testing.T) {
	a, b, w := newLeader(t, "a", "run1", 100), newLeader(t, "b", "run2", 100), newWorld(t)
	a.record(2, "web", nil)
	w.leads("a", "http://"+a.address)
	w.shows(t, "run1", 1, 2)
	a.record(90, "web", nil)
	if err := a.console.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until(t, "last sync", func(l telemetry.Leadership, _ *telemetry.Journal) error {
		if got := w.runs["run1"].Last(); got != 92 || l.Following.Connected {
			return fmt.Errorf("%d came, want 92", got)
		}
		return nil
	})
	b.record(3, "web", nil)
	w.leads("b", "http://"+b.address)
	w.shows(t, "run2", 1, 2, 3)
	w.wantMissed(t)
	b.cut()
	w.leads("me", "")
	w.until(t, "nothing shown", func(l telemetry.Leadership, shown *telemetry.Journal) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if shown != nil || l.Following != nil || len(w.missed) != 1 {
			return fmt.Errorf("shown is %v, missed %+v", shown, w.missed)
		}
		return nil
	})
	w.wantMissed(t, telemetry.MissedSyncs{Leader: "b"})
}

// Where somebody else answers, or nobody, or there is no address, nothing is shown as the
// leader's, and it is said why.
func TestNotTheLeader(t *testing.T) {
	l, w := newLeader(t, "somebody", "run1", 100), newWorld(t)
	says := func(want string) {
		t.Helper()
		w.until(t, want, func(l telemetry.Leadership, shown *telemetry.Journal) error {
			if shown != nil || l.Following == nil || l.Following.Shown || !strings.Contains(l.Following.Error, want) {
				return errors.New("it does not say so")
			}
			return nil
		})
	}
	l.record(1, "web", nil)
	w.leads("a", "http://"+l.address)
	says(`it is that of "somebody", and not of the leader`)
	w.leads("b", "")
	says("the Lease does not say where its console is")
	w.leads("c", "http://127.0.0.1:1")
	says("connection refused")
	me := newLeader(t, "me", "run2", 100)
	w.leads("d", "http://"+me.address)
	says("that address is this process's own now")
}

// Credentials go to nobody without TLS, and to whom the certificate of the Lease proves.
func TestCredentials(t *testing.T) {
	own := &rest.Config{Host: "https://api", BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CertFile: "crt", KeyFile: "key", CAFile: "ca", Insecure: true}}
	if c, err := credentials(own, leaderA); err != nil || c.BearerToken != "" || c.CertFile != "" || c.Host != leaderA.URL {
		t.Errorf("%v, %+v", err, c)
	}
	if c, err := credentials(own, leadership.Console{Identity: "a", URL: "https://10.0.0.1:1", Certificate: "none"}); err == nil {
		t.Errorf("%+v", c)
	}
	if own.Host != "https://api" || own.CAFile != "ca" {
		t.Errorf("the own credentials are %+v", own)
	}
}

// A token is sent to nobody for whom nobody vouches, however well its certificate is that of the Lease.
func TestTokensGoWhereSomebodyVouches(t *testing.T) {
	shown := make(chan string, 10)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.Header.Get("Authorization")
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer server.Close()
	w := newWorld(t)
	w.mu.Lock()
	w.vouch = errors.New("it is no manager")
	w.mu.Unlock()
	w.leads("a", server.URL)
	w.mu.Lock()
	w.at.Certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	w.mu.Unlock()
	w.until(t, "the reason", func(l telemetry.Leadership, _ *telemetry.Journal) error {
		if l.Following == nil || l.Following.Error != "it is no manager" {
			return fmt.Errorf("it says %+v", l.Following)
		}
		return nil
	})
	if len(shown) > 0 {
		t.Errorf("it was sent %q", <-shown)
	}
	w.mu.Lock()
	w.vouch = nil
	w.mu.Unlock()
	select {
	case got := <-shown:
		if got != "Bearer secret" {
			t.Errorf("it was sent %q", got)
		}
	case <-time.After(time.Minute):
		t.Error("nothing was sent to whom somebody vouches for")
	}
}
