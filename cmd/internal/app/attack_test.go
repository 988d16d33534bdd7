package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: loopscope.trace.v1+json\r\n"

// attack is what one connection does.
type attack struct {
	name string
	// send is sent at once, and then drip, once a second, for as long as it is taken.
	send func(p port) string
	drip string
	// raw is set where there is no TLS, deaf where nothing is read before the server has hung up.
	raw, deaf bool
	// says is in what the server answers before it hangs up, "" for nothing; leaves is how long
	// that has to leave, where that is not as long as it takes.
	says   func(p port) string
	leaves time.Duration
}

func always(text string) func(port) string { return func(port) string { return text } }

// attacks are what costs whoever sends it nothing.
func attacks() []attack {
	return []attack{
		{name: "nothing at all", send: always(""), raw: true},
		{name: "headers that never end", send: func(p port) string { return p.asks("GET /") }, drip: "X-More: 1\r\n"},
		{name: "half a handshake of a websocket", send: func(p port) string { return p.asks("GET /live") + upgrade }},
		{name: "a body that never comes", send: func(p port) string { return p.asks("PUT /debug/flags/v") + "Content-Length: 2\r\n\r\n" }, drip: ""},
		{name: "a body where none is read", send: func(p port) string { return p.asks("POST /") + "Content-Length: 1000000000\r\n\r\n" }, drip: "x", says: always("405 Method Not Allowed")},
		{name: "a large header", send: func(p port) string { return p.asks("GET /") + "X: " + strings.Repeat("x", 80<<10) + "\r\n\r\n" }, says: always("431 Request Header Fields Too Large")},
		{name: "a very large header", send: func(p port) string { return p.asks("GET /") + "X: " + strings.Repeat("x", 2<<20) + "\r\n\r\n" }, says: always("431 Request Header Fields Too Large")},
		{name: "many headers", send: func(p port) string { return p.asks("GET /") + strings.Repeat("X: x\r\n", 50_000) + "\r\n" }, says: always("431 Request Header Fields Too Large")},
		{name: "a large address", send: func(p port) string { return p.asks("GET /deployments?q="+strings.Repeat("x", 80<<10)) + "\r\n" }, says: always("431 Request Header Fields Too Large")},
		{name: "a long query", send: func(p port) string {
			return p.asks("GET /deployments?q="+strings.Repeat("x", 8<<10)) + "Connection: close\r\n\r\n"
		}, says: always("414 Request URI Too Long")},
		{name: "a websocket that says nothing", send: func(p port) string { return p.asks("GET /live") + upgrade + "\r\n" }, says: always("101 Switching Protocols")},
		{name: "a websocket with a frame too large", send: func(p port) string {
			return p.asks("GET /live") + upgrade + "\r\n" + "\x81\xff\x00\x00\x00\x00\x7f\xff\xff\xff" + "\x00\x00\x00\x00"
		}, says: always("\x88\x02\x03\xf1"), leaves: time.Second},
		{name: "a websocket that reads nothing", send: func(p port) string { return p.asks("GET /live?after=0") + upgrade + "\r\n" }, deaf: true},
		{name: "an export that is not read", send: func(p port) string { return p.asks("GET /export.jsonl") + "Connection: close\r\n\r\n" }, deaf: true},
	}
}

// headersWithin is how long a request may take to arrive; who takes longer is told nothing.
const headersWithin = 5 * time.Second

// run attacks once, until the server has hung up, and returns what it said before that.
func (x *attack) run(ctx context.Context, p port) (said string, err error) {
	if x.raw {
		p.tls = nil
	}
	conn, err := p.dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	over := make(chan struct{})
	defer close(over)
	go func() {
		_, err := io.WriteString(conn, x.send(p))
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for err == nil && x.drip != "" {
			select {
			case <-tick.C:
				_, err = io.WriteString(conn, x.drip)
			case <-over:
				return
			}
		}
	}()
	if x.deaf {
		return "", hungUp(ctx, conn)
	}
	all, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", fmt.Errorf("it is still served: %.200q", all)
	}
	return string(all), nil // However it was hung up on.
}

// told reports whether that is all that the server has to say.
func (x *attack) told(p port, said string) bool {
	return x.says == nil || strings.Contains(said, x.says(p))
}

// hungUp waits until the other end has closed a connection of which nothing is read. Pings of the
// websocket are answered by nobody either.
func hungUp(ctx context.Context, conn net.Conn) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C: // What is sent to a socket that was closed comes back as a reset.
			if _, err := io.WriteString(conn, "\x8a\x80\x00\x00\x00\x00"); err != nil {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readers ask until they are told to stop, count what they are answered, and keep what goes wrong. How
// soon an answer comes depends on the machine, so that only one that never comes goes wrong.
type readers struct {
	stop    context.CancelFunc
	done    sync.WaitGroup
	answers []*atomic.Int64 // of each reader
	failed  atomic.Pointer[error]
}

func startReaders(ctx context.Context, list []port) *readers {
	ctx, stop := context.WithCancel(ctx)
	x := &readers{stop: stop}
	for _, p := range list {
		client := &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{TLSClientConfig: p.tls, DisableKeepAlives: true}}
		base := map[bool]string{true: "https://", false: "http://"}[p.tls != nil] + p.address
		for _, path := range []string{"/healthz", "/about.json"} {
			answers := new(atomic.Int64)
			x.answers = append(x.answers, answers)
			x.done.Go(func() {
				for tick := time.NewTicker(100 * time.Millisecond); ; {
					if err := answered(ctx, client, base+path); err != nil && ctx.Err() == nil {
						x.failed.Store(&err)
					}
					answers.Add(1)
					select {
					case <-ctx.Done():
						tick.Stop()
						return
					case <-tick.C:
					}
				}
			})
		}
	}
	return x
}

func answered(ctx context.Context, client *http.Client, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer bob")
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, res.Status)
	}
	return nil
}

// counts are the answers that each reader has had so far.
func (x *readers) counts() []int64 {
	counts := make([]int64, len(x.answers))
	for i, n := range x.answers {
		counts[i] = n.Load()
	}
	return counts
}

// end returns the last thing that went wrong.
func (x *readers) end() error {
	x.stop()
	x.done.Wait()
	if err := x.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// attacked is a program that serves both ports, with a record of some size.
func attacked(t *testing.T) *App {
	t.Helper()
	a := served(t, func(o *Options) {
		o.Secure, o.Component = securely(t), Component{SetVerbosity: func(string) (string, error) { return "", nil }}
	})
	now := time.Now()
	for i := range 4000 {
		a.journal.Record(&telemetry.Trace{Version: telemetry.TraceVersion, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: fmt.Sprint("web-", i%50)},
			Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, At: now, Object: strings.Repeat("x", 2000)}}, Queued: now, Started: now, Ended: now, Result: telemetry.ResultWrote})
	}
	return a
}

// heap is what is in use, what can be collected aside.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// warm has a program answer for a while, and returns how many goroutines and how much memory it has then.
func warm(t *testing.T, a *App) (goroutines int, memory uint64) {
	t.Helper()
	first := startReaders(t.Context(), ports(a))
	for tick := time.NewTicker(10 * time.Millisecond); slices.Min(first.counts()) < 10; <-tick.C {
	}
	if err := first.end(); err != nil {
		t.Fatal(err)
	}
	return runtime.NumGoroutine(), heap()
}

// atRest waits until the program is as it was before.
func atRest(t *testing.T, a *App, goroutines int, memory uint64) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		now, used := runtime.NumGoroutine(), heap()
		if now <= goroutines+4 && used <= memory+16<<20 {
			t.Logf("%d goroutines and %d MiB, before %d and %d", now, used>>20, goroutines, memory>>20)
			return
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines and %d MiB, before %d and %d\n%s", now, used>>20, goroutines, memory>>20, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// TestAttacks: connections that are slow, silent, large or deaf are told why where they listen, and
// are hung up on; others are answered meanwhile, on both ports; and afterwards nothing is left of it.
// The times are those that a manager has, so that this takes about a minute.
func TestAttacks(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the deadlines of a manager")
	}
	a := attacked(t)
	goroutines, memory := warm(t, a)
	toldWhy(t, a)
	others := startReaders(t.Context(), ports(a))
	var attacking sync.WaitGroup
	for _, p := range ports(a) {
		for _, x := range attacks() {
			attacking.Go(func() { x.crowd(t, p) })
		}
	}
	attacking.Wait()
	// Each asks ten times a second at most: a reader that is answered only until all attacks have begun has fewer.
	if n := others.counts(); slices.Min(n) < 40 {
		t.Errorf("others had %d answers meanwhile, want 40 at least", n)
	}
	if err := others.end(); err != nil {
		t.Errorf("another reader: %v", err)
	}
	t.Logf("%d answers for others meanwhile", others.counts())
	atRest(t, a, goroutines, memory)
}

// crowd attacks twenty times at once. Each is hung up on and told why, but for those whose request takes
// longer than it has to arrive, or the last frame of whose websocket longer than it has to leave.
func (x *attack) crowd(t *testing.T, p port) {
	const each = 20
	var crowd sync.WaitGroup
	var told atomic.Int64
	began := time.Now()
	for range each {
		crowd.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			said, err := x.run(ctx, p)
			took := time.Since(began)
			late := said == "" && took > headersWithin || x.leaves > 0 && took > x.leaves
			switch {
			case err != nil:
				t.Errorf("%s, %s: %v", p.name, x.name, err)
			case x.told(p, said):
				told.Add(1)
			case late:
				t.Logf("%s, %s: told %.300q after %s", p.name, x.name, said, took)
			default:
				t.Errorf("%s, %s: told %.300q after %s", p.name, x.name, said, took)
			}
		})
	}
	crowd.Wait()
	if x.leaves > 0 && told.Load() == 0 { // A frame that leaves late is rare; all requests may arrive late.
		t.Errorf("%s, %s: none of %d is told why", p.name, x.name, each)
	}
	t.Logf("%-5s %-36s hung up on within %5.1f s, %d of %d told what there is to tell", p.name, x.name, time.Since(began).Seconds(), told.Load(), each)
}

// toldWhy has each attack that is to be told something come alone.
func toldWhy(t *testing.T, a *App) {
	for _, p := range ports(a) {
		for _, x := range attacks() {
			if x.says == nil || x.name == "a websocket that says nothing" { // That one is told at once, and then served for long.
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if said, err := x.run(ctx, p); err != nil || !x.told(p, said) {
				t.Errorf("%s, %s, alone: told %.300q, %v", p.name, x.name, said, err)
			}
			cancel()
		}
	}
}

// TestReconnectStorm: as many websockets as one user and as many users can open and drop, while others
// are answered. Whoever has more open than his share is told so, and when to come back.
func TestReconnectStorm(t *testing.T) {
	connects := 2000
	if testing.Short() {
		connects = 200
	}
	a := attacked(t)
	goroutines, memory := warm(t, a)
	for _, p := range ports(a) {
		for _, users := range []int{1, 100} {
			others := startReaders(t.Context(), []port{p})
			var said sync.Map
			var next atomic.Int64
			var storm sync.WaitGroup
			began := time.Now()
			for range 100 {
				storm.Go(func() {
					for n := next.Add(1); n <= int64(connects); n = next.Add(1) {
						status, err := p.connect(t.Context(), fmt.Sprint("user-", n%int64(users)))
						if err != nil {
							t.Errorf("%s: %v", p.name, err)
							return
						}
						count, _ := said.LoadOrStore(status, new(atomic.Int64))
						count.(*atomic.Int64).Add(1)
					}
				})
			}
			storm.Wait()
			took := time.Since(began)
			if err := others.end(); err != nil {
				t.Errorf("another reader: %v", err)
			}
			text := ""
			said.Range(func(status, count any) bool {
				text += fmt.Sprintf(" %v × %d", status, count.(*atomic.Int64).Load())
				if status != "101" && status != "503 too-many-of-one" && status != "503 too-many-readers" {
					t.Errorf("%s: a connect is answered %v", p.name, status)
				}
				return true
			})
			t.Logf("%-5s %4d connects of %3d users in %.1f s:%s; %d answers for others", p.name, connects, users, took.Seconds(), text, others.counts())
		}
	}
	atRest(t, a, goroutines, memory)
}

// connect opens a websocket as a user, waits for its first message, and drops it. It returns how that
// was answered.
func (p port) connect(ctx context.Context, user string) (status string, err error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	ask := "GET /live HTTP/1.1\r\nHost: " + p.address + "\r\nAuthorization: Bearer " + user + "\r\n" + upgrade + "\r\n"
	if _, err := io.WriteString(conn, ask); err != nil {
		return "", err
	}
	from := bufio.NewReader(conn)
	res, err := http.ReadResponse(from, nil)
	if err != nil {
		return "", err
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		_, err := from.ReadByte()
		return "101", err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	for _, code := range []string{"too-many-of-one", "too-many-readers"} {
		if strings.Contains(string(body), code) && res.Header.Get("Retry-After") != "" {
			return fmt.Sprint(res.StatusCode, " ", code), nil
		}
	}
	return fmt.Sprintf("%s %.200s", res.Status, body), nil
}
