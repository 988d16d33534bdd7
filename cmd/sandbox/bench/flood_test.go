package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// The floods, and a rollout without one.
const (
	alone         = "alone"
	pagesFlood    = "pages"         // 512 sockets on pages that differ by an unknown parameter
	subscribing   = "subscriptions" // 100 sockets that subscribe without a pause
	storiesFlood  = "stories"       // 64 readers of a long story
	whatIfFlood   = "what-ifs"      // 64 readers of plans for 500 pods
	recordedFlood = "traces"        // 64 readers of all traces from the first on, and 2 of exports
)

var floodKinds = []string{alone, pagesFlood, subscribing, storiesFlood, whatIfFlood, recordedFlood}

// floodProcess is a flood in a process of its own, at the lowest priority: of the
// machine it gets what nobody else wants, as a client elsewhere would take nothing of it.
type floodProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

const floodOf = "LOOPSCOPE_BENCH_FLOOD_OF"

// floodOrder is what the process is told.
type floodOrder struct{ Kind, Console, Web, Big string }

func startFlood(t *testing.T, kind, console, web, big string) *floodProcess {
	t.Helper()
	order, err := json.Marshal(floodOrder{kind, console, web, big})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "nice", "-n", "19", os.Args[0], "-test.run=^TestFlood$", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), floodOf+"="+string(order))
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the flood: %v", err)
	}
	p := &floodProcess{cmd, in, bufio.NewReader(out)}
	if line, err := p.out.ReadString('\n'); err != nil || line != "flooding\n" {
		t.Fatalf("the flood of %s said %q: %v", kind, line, err)
	}
	return p
}

// stop ends the flood and returns what it was answered, and its CPU time.
func (p *floodProcess) stop(t *testing.T) (said string, cpu time.Duration) {
	t.Helper()
	_ = p.in.Close()
	said, err := p.out.ReadString('\n')
	_, _ = io.Copy(io.Discard, p.out) // what the testing package says
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the flood: %v", err)
	}
	if err != nil {
		t.Errorf("the flood said %q: %v", said, err)
	}
	return strings.TrimSpace(said), p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// TestFlood is the other process of TestFloods, and nothing by itself.
func TestFlood(t *testing.T) {
	text := os.Getenv(floodOf)
	if text == "" {
		return
	}
	var order floodOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		t.Fatal(err)
	}
	f := &flood{floodOrder: order, over: make(chan struct{}), answers: map[string]int{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: time.Minute}}
	f.start()
	fmt.Println("flooding")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the rollout is over
	close(f.over)
	f.mu.Lock()
	for conn := range f.conns {
		_ = conn.Close()
	}
	fmt.Println(f.said())
	os.Exit(0) // Requests that still wait are given up, as by any client that ends.
}

// flood is many clients, each of which asks again as soon as it is answered.
type flood struct {
	floodOrder
	client *http.Client
	over   chan struct{}

	mu      sync.Mutex
	answers map[string]int
	conns   map[*websocket.Conn]bool
}

func (f *flood) start() {
	web, big := "/deployments/"+f.Web+"/web-000", "/deployments/"+f.Big+"/web-000"
	repeat := func(n int, once func(i, k int)) {
		for i := range n {
			go func() {
				for k := 0; !f.ended(); k++ {
					once(i, k)
				}
			}()
		}
	}
	switch f.Kind {
	case pagesFlood:
		repeat(512, func(i, _ int) {
			page := overview
			if i%2 == 0 {
				page = web
			}
			f.look(func(int) string { return fmt.Sprintf("%s?x=%d", page, i) }, 1)
		})
	case subscribing:
		repeat(100, func(i, _ int) {
			f.look(func(k int) string { return []string{overview, web, big}[(i+k)%3] }, 1<<30)
		})
	case storiesFlood:
		repeat(64, func(int, int) { f.get(big + "/story") })
	case whatIfFlood:
		repeat(64, func(i, k int) {
			f.get(fmt.Sprintf("%s/what-if.json?maxUnavailable=%d%%25&minReadySeconds=%d", big, 1+i%40, k))
		})
	case recordedFlood:
		repeat(2, func(int, int) { f.get("/export.jsonl") })
		repeat(64, func(int, int) { f.traces() })
	}
}

func (f *flood) ended() bool {
	select {
	case <-f.over:
		return true
	default:
		return false
	}
}

func (f *flood) count(answer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended() {
		f.answers[answer]++
	}
}

func (f *flood) get(path string) {
	res, err := f.client.Get(f.Console + path)
	if err != nil {
		f.count("none")
		return
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	if f.count(fmt.Sprint(res.StatusCode)); err != nil {
		f.count("cut")
	}
}

// open is a websocket, nil where there is none to be had.
func (f *flood) open(query, protocol string) *websocket.Conn {
	dialer := websocket.Dialer{Subprotocols: []string{protocol}, HandshakeTimeout: 10 * time.Second}
	conn, res, err := dialer.Dial("ws"+strings.TrimPrefix(f.Console, "http")+"/live"+query, nil)
	if err != nil {
		if res != nil {
			f.count(fmt.Sprint(res.StatusCode))
		} else {
			f.count("none")
		}
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conns == nil {
		f.conns = map[*websocket.Conn]bool{}
	}
	f.conns[conn] = true
	return conn
}

func (f *flood) close(conn *websocket.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, conn)
	_ = conn.Close()
}

// look subscribes so many times and reads until the connection ends.
func (f *flood) look(page func(k int) string, times int) {
	conn := f.open("", "loopscope.page.v1")
	if conn == nil {
		return
	}
	defer f.close(conn)
	go func() {
		for k := 0; k < times; k++ {
			if conn.WriteJSON(subscription{Page: page(k), Rows: []string{}}) != nil {
				return
			}
		}
	}()
	f.drain(conn)
}

// traces reads all that is kept, and begins anew once it has.
func (f *flood) traces() {
	conn := f.open("?after=0", "loopscope.trace.v1+json")
	if conn == nil {
		return
	}
	defer f.close(conn)
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	f.drain(conn)
}

// drain counts messages, and why they ended.
func (f *flood) drain(conn *websocket.Conn) {
	for {
		_, from, err := conn.NextReader()
		if err == nil {
			_, err = io.Copy(io.Discard, from)
		}
		if err == nil {
			f.count("messages")
			continue
		}
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			f.count(fmt.Sprintf("closed %d", closed.Code))
		}
		return
	}
}

// said is what was answered how often. f is locked.
func (f *flood) said() string {
	var kinds []string
	for kind, n := range f.answers {
		kinds = append(kinds, fmt.Sprintf("%s: %d", kind, n))
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}
