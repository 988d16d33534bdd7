package testplane

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// LoopscopePolicy has the API server note every request of the user that Loopscope acts as, and nobody else's.
const LoopscopePolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: [loopscope]
- level: None
`

// Watcher is `loopscope manager --watch` beside the loops of a plane.
type Watcher struct {
	Dashboard string // URL

	plane    *Plane
	cmd      *exec.Cmd
	exited   chan struct{}
	exitErr  error // read after exited is closed
	stopping sync.Once
}

// Watch starts a watcher beside a plane, until the test ends.
func Watch(t testing.TB, p *Plane) *Watcher {
	t.Helper()
	binary := Loopscope(t)
	w := &Watcher{plane: p, exited: make(chan struct{}), cmd: exec.Command(binary, "manager", "--watch", "--listen=127.0.0.1:0", "--console-auth=none", "--history="+filepath.Join(t.TempDir(), "history.db"))}
	w.cmd.Env = p.environment(p.LoopscopeKubeconfig)
	output, err := w.cmd.StdoutPipe()
	if err == nil {
		w.cmd.Stderr = w.cmd.Stdout
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatalf("start %s: %v", binary, err)
	}
	var said []string
	lines := bufio.NewScanner(output)
	for w.Dashboard == "" && lines.Scan() {
		said = append(said, lines.Text())
		if url, found := strings.CutPrefix(lines.Text(), "dashboard: "); found {
			w.Dashboard = url
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, output)
		w.exitErr = w.cmd.Wait()
		close(w.exited)
	}()
	t.Cleanup(func() { w.Stop(t) })
	if w.Dashboard == "" {
		t.Fatalf("%s serves no console:\n%s", binary, strings.Join(said, "\n"))
	}
	Until(t, time.Minute, "the watcher's first lists", func() error { // What is in them was decided on before.
		response, err := http.Get(w.Dashboard + "/readyz")
		if err != nil {
			return err
		}
		if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz: %s", response.Status)
		}
		return nil
	})
	return w
}

// Stop ends it as Ctrl-C does, and leaves a recording of it where one is wanted. Calling it again does nothing more.
func (w *Watcher) Stop(t testing.TB) {
	t.Helper()
	w.stopping.Do(func() {
		record(t, w.Dashboard, w.exited)
		_ = w.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended already
		select {
		case <-w.exited:
		case <-time.After(stopLimit):
			_ = w.cmd.Process.Kill()
			<-w.exited
			t.Errorf("the watcher did not end within %s", stopLimit)
		}
		if w.exitErr != nil {
			t.Errorf("the watcher ended with %v", w.exitErr)
		}
	})
}

// Usage is what it has taken so far.
func (w *Watcher) Usage(t testing.TB) Usage {
	t.Helper()
	return UsageOf(t, w.cmd.Process.Pid)
}

// ClearPeak has the peak of its memory begin anew.
func (w *Watcher) ClearPeak(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(proc(w.cmd.Process.Pid, "clear_refs"), []byte("5"), 0o200); err != nil {
		t.Logf("the peak stays that since the start: %v", err)
	}
}

// Compared is how it compares now.
func (w *Watcher) Compared(t testing.TB) *Comparison {
	t.Helper()
	var twin struct{ Page *Comparison }
	if err := w.read("/shadow.json", &twin); err != nil {
		t.Fatal(err)
	}
	return twin.Page
}

// settledFor is longer than a write or an event waits to be compared.
const settledFor = 20 * time.Second

// Settled is how it compares when all that was seen has been compared.
func (w *Watcher) Settled(t testing.TB) *Comparison {
	t.Helper()
	var last *Comparison
	var since time.Time
	Until(t, 5*time.Minute, "comparison of all that was seen", func() error {
		now := w.Compared(t)
		if last == nil || now.Headline != last.Headline || !slices.EqualFunc(now.Kinds, last.Kinds, func(a, b ComparedKind) bool { return a.Compared == b.Compared && slices.Equal(a.Of, b.Of) }) {
			last, since = now, time.Now()
		}
		if quiet := time.Since(since); quiet < settledFor {
			return fmt.Errorf("nothing more for only %s: %s", quiet.Round(time.Second), now.Headline)
		}
		return nil
	})
	return last
}

// Finish waits until all that was seen has been compared, says what that took and came to, and ends it. It fails
// the test unless it agrees with the loops beside it and has only read.
func (w *Watcher) Finish(t testing.TB) {
	t.Helper()
	c := w.Settled(t)
	t.Logf("the shadow took %s\n%s", w.Usage(t), c)
	c.Check(t)
	w.OnlyRead(t)
}

func (w *Watcher) read(path string, into any) error {
	reply, err := http.Get(w.Dashboard + path)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, reply.Status)
	}
	return json.NewDecoder(reply.Body).Decode(into)
}

// OnlyRead ends it and fails the test unless the plane's audit log has requests of it, all of which read.
func (w *Watcher) OnlyRead(t testing.TB) {
	t.Helper()
	w.Stop(t)
	var verbs map[string]int
	Until(t, time.Minute, "the end of its watches in the audit log", func() error {
		var wrote []string
		verbs, wrote = requestsOf(t, w.plane.AuditPath)
		for _, request := range wrote {
			t.Errorf("it does more than read: %s", request)
		}
		if len(wrote) == 0 && verbs["watch"] == 0 {
			return fmt.Errorf("it is not seen there: %v", verbs)
		}
		return nil
	})
	t.Logf("requests of the watcher by verb, as the audit log has them: %v", verbs)
}

// requestsOf counts the requests of Loopscope in an audit log by verb, and lists those that do not read.
func requestsOf(t testing.TB, path string) (verbs map[string]int, wrote []string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatalf("open the audit log: %v", err)
	}
	defer file.Close()
	verbs = map[string]int{}
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return verbs, wrote // What has no line end is still being written.
		}
		var r struct {
			Verb, RequestURI, UserAgent string
			User                        struct{ Username string }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("audit line %s: %v", line, err)
		}
		if r.User.Username != "loopscope" && !strings.HasPrefix(r.UserAgent, "loopscope") {
			continue
		}
		if verbs[r.Verb]++; !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			wrote = append(wrote, r.Verb+" "+r.RequestURI)
		}
	}
}
