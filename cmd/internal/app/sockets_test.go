package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
)

// childVariable has this test binary be the program that is measured, with so many places for websockets.
const childVariable = "LOOPSCOPE_SOCKETS_CHILD"

// loads is how many sockets are open and say nothing, and how many of which are sent something. A sample
// is what CI runs; LOOPSCOPE_SOCKETS=5000,1000 is the measurement: make sockets.
func loads(t *testing.T) (idle, active int) {
	t.Helper()
	idle, active = 200, 40
	if asked := os.Getenv("LOOPSCOPE_SOCKETS"); asked != "" {
		if _, err := fmt.Sscanf(asked, "%d,%d", &idle, &active); err != nil {
			t.Fatalf("LOOPSCOPE_SOCKETS=%s: give two numbers, as 5000,1000", asked)
		}
	}
	return idle, active
}

// mostEach is how many bytes an idle socket may take. A few hundred tell too little to be held to it.
const mostEach = 80 << 10

// usage is what the program takes.
type usage struct {
	rss        int64 // bytes, after a collection
	cpu        time.Duration
	Goroutines int
	Heap       uint64
}

// TestSocketsChild is the program that TestSockets measures.
func TestSocketsChild(t *testing.T) {
	places, err := strconv.Atoi(os.Getenv(childVariable))
	if err != nil {
		t.Skip("is run by TestSockets")
	}
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet(), Secure: securely(t)})
	if err != nil {
		t.Fatal(err)
	}
	options := a.consoleOptions(a.journal, a.tally)
	options.MaxReaders = places // More than a manager has.
	if a.console, err = web.New(options); err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	for i := range 50 {
		a.journal.Record(webTrace(i))
	}
	fmt.Println(a.Addr(), a.secure.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		command, argument, _ := strings.Cut(in.Text(), " ")
		switch command {
		case "rest":
			runtime.GC() // Pools are emptied by the second collection.
			debug.FreeOSMemory()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			line, err := json.Marshal(usage{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(string(line))
		case "sync":
			n, err := strconv.Atoi(argument)
			if err != nil {
				t.Fatal(err)
			}
			a.journal.Record(webTrace(n))
		case "profile":
			f, err := os.Create(argument)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(pprof.WriteHeapProfile(f), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func webTrace(i int) *telemetry.Trace {
	now := time.Now()
	return &telemetry.Trace{Version: telemetry.TraceVersion, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: fmt.Sprint("web-", i%50)},
		Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, At: now, Object: "Deployment web"}}, Queued: now, Started: now, Ended: now, Result: telemetry.ResultWrote}
}

// child is the program that is measured.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	ports []port
}

func startChild(t *testing.T, places int) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 15*time.Minute) // It ends with its input.
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSocketsChild$", "-test.timeout=15m")
	cmd.Env = append(os.Environ(), childVariable+"="+strconv.Itoa(places))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	plain, secured, found := strings.Cut(c.line(), " ")
	if !found {
		t.Fatal("the program does not say where it is")
	}
	c.ports = []port{{name: "plain", address: plain}, {name: "tls", address: secured, tls: insecure}}
	return c
}

func (c *child) line() string {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the program ended: %v", c.out.Err())
	}
	return c.out.Text()
}

func (c *child) tell(command string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, command+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// use is what the program takes after a collection.
func (c *child) use() (u usage) {
	c.t.Helper()
	c.tell("rest")
	if err := json.Unmarshal([]byte(c.line()), &u); err != nil {
		c.t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		c.t.Skip("memory is read from /proc")
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(rest, &u.rss); err != nil {
		c.t.Fatal(err)
	}
	u.rss <<= 10
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	var user, system int64
	fields := strings.Fields(string(stat)[strings.LastIndex(string(stat), ")")+1:])
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		c.t.Fatal(err)
	}
	u.cpu = time.Duration(user+system) * 10 * time.Millisecond
	return u
}

// sockets are open connections to a program.
type sockets struct {
	conns    []io.Closer
	reading  sync.WaitGroup
	messages atomic.Int64
}

func (s *sockets) close() {
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.reading.Wait()
	s.conns = nil
}

// openMany opens n of them, some at a time.
func openMany(t *testing.T, n int, dial func(i int) (io.Closer, error)) *sockets {
	t.Helper()
	s := &sockets{conns: make([]io.Closer, n)}
	var next atomic.Int64
	var opening sync.WaitGroup
	for range 32 {
		opening.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				conn, err := dial(i)
				if err != nil {
					t.Errorf("socket %d: %v", i, err)
					return
				}
				s.conns[i] = conn
			}
		})
	}
	opening.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return s
}

// keptAlive is a connection that has been answered once.
func (p port) keptAlive(ctx context.Context) (io.Closer, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Minute))
	if _, err := io.WriteString(conn, p.asks("GET /healthz")+"\r\n"); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	return conn, err
}

// follow opens a websocket of one of 16 users, and counts what it is sent.
func (s *sockets) follow(ctx context.Context, p port, i int, protocol, path string) (io.Closer, error) {
	scheme := map[bool]string{true: "wss://", false: "ws://"}[p.tls != nil]
	d := websocket.Dialer{Subprotocols: []string{protocol}, TLSClientConfig: p.tls, HandshakeTimeout: time.Minute, NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	conn, res, err := d.DialContext(ctx, scheme+p.address+"/live", http.Header{"Authorization": {fmt.Sprint("Bearer user-", i%16)}})
	if err != nil {
		return nil, fmt.Errorf("%w, %v", err, res)
	}
	if protocol == page.PageProtocol {
		if err := conn.WriteJSON(live.Subscribe{Page: path}); err != nil {
			return nil, err
		}
	}
	if _, _, err := conn.ReadMessage(); err != nil {
		return nil, err
	}
	s.reading.Go(func() {
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
			s.messages.Add(1)
		}
	})
	return conn, nil
}

// TestSockets prints what open sockets take: connections that are kept, websockets that follow a page on
// which nothing happens, and websockets that are sent every sync, five a second, or a list that it changes.
func TestSockets(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process of its own")
	}
	idle, active := loads(t)
	for which, name := range []string{"plain", "tls"} {
		t.Run(name, func(t *testing.T) {
			c := startChild(t, (idle+active)*8) // One user may have an eighth.
			measure(t, c, c.ports[which], idle, active)
		})
	}
}

func measure(t *testing.T, c *child, p port, idle, active int) {
	warmup := openMany(t, 20, func(int) (io.Closer, error) { return p.keptAlive(t.Context()) })
	warmup.close()
	before := c.use()
	t.Logf("%-5s nothing: %d MiB, %d goroutines", p.name, before.rss>>20, before.Goroutines)
	say := func(what string, n int, u usage) {
		per := (u.rss - before.rss) / int64(n)
		t.Logf("%-5s %5d %-34s %4d MiB, %5.1f KiB and %.1f goroutines each (heap %5.1f KiB)", p.name, n, what, u.rss>>20, float64(per)/1024,
			float64(u.Goroutines-before.Goroutines)/float64(n), float64(int64(u.Heap)-int64(before.Heap))/float64(n)/1024)
		if per > mostEach && n >= 1000 {
			t.Errorf("%s: %d bytes for each of %d %s, at most %d are to be", p.name, per, n, what, mostEach)
		}
	}
	kept := openMany(t, idle, func(int) (io.Closer, error) { return p.keptAlive(t.Context()) })
	say("connections that are kept", idle, c.use())
	kept.close()
	var quiet, busy sockets
	quiet.conns = openMany(t, idle, func(i int) (io.Closer, error) {
		return quiet.follow(t.Context(), p, i, page.PageProtocol, fmt.Sprint("/deployments/shop/web-", i%10))
	}).conns
	u := c.use()
	say("websockets on calm pages", idle, u)
	if file := os.Getenv("LOOPSCOPE_SOCKETS_PROFILE"); file != "" {
		c.tell("profile " + file + "-" + p.name)
		c.use()
	}
	busy.conns = openMany(t, active, func(i int) (io.Closer, error) {
		if i%2 == 0 {
			return busy.follow(t.Context(), p, i, live.TraceProtocol, "")
		}
		return busy.follow(t.Context(), p, i, page.PageProtocol, "/deployments")
	}).conns
	began, from := time.Now(), c.use()
	const syncs = 50
	for i, tick := 0, time.NewTicker(200*time.Millisecond); i < syncs; i++ {
		<-tick.C
		c.tell(fmt.Sprint("sync ", i))
	}
	for tick := time.NewTicker(10 * time.Millisecond); busy.messages.Load() < int64(active/2*syncs) && time.Since(began) < 2*time.Minute; <-tick.C {
	}
	took, to := time.Since(began), c.use()
	if n := busy.messages.Load(); n < int64(active/2*syncs) {
		t.Errorf("%s: %d messages of %d syncs for %d readers of traces", p.name, n, syncs, active/2)
	}
	t.Logf("%-5s %5d more that are sent syncs: %d MiB, %.1f KiB each; %d messages in %.1f s took %.2f s of CPU, %.0f %% of a processor, %.0f µs a message", p.name, active, to.rss>>20,
		float64(to.rss-u.rss)/float64(active)/1024, busy.messages.Load(), took.Seconds(), (to.cpu - from.cpu).Seconds(), (to.cpu-from.cpu).Seconds()/took.Seconds()*100,
		float64((to.cpu-from.cpu).Microseconds())/float64(max(1, busy.messages.Load())))
	quiet.close()
	busy.close()
	deadline := time.Now().Add(time.Minute)
	for u = c.use(); u.Goroutines > before.Goroutines+10 && time.Now().Before(deadline); u = c.use() {
	}
	t.Logf("%-5s afterwards: %d MiB, %d goroutines", p.name, u.rss>>20, u.Goroutines)
	if u.Goroutines > before.Goroutines+10 || u.Heap > before.Heap+32<<20 {
		t.Errorf("%s: %d goroutines and %d MiB of heap are left, before %d and %d", p.name, u.Goroutines, u.Heap>>20, before.Goroutines, before.Heap>>20)
	}
}
