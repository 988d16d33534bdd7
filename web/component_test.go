package web

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loopscope/loopscope/static"
	"github.com/loopscope/loopscope/telemetry"
)

// checked notes what health checks found, as metrics would.
type checked struct {
	mu   sync.Mutex
	list []string
}

func (c *checked) Checked(check, probe string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := "ok"
	if err != nil {
		found = "failed"
	}
	c.list = append(c.list, probe+"/"+check+" "+found)
}

// ServeHTTP shows what was found since the last DELETE.
func (c *checked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Method == http.MethodDelete {
		c.list = nil
	}
	_, _ = io.WriteString(w, strings.Join(c.list, "\n"))
}

// ofAProcess is everything that a process may tell of itself.
func ofAProcess(o *Options) {
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	o.Profiling, o.Memory = true, "460 MiB, nine tenths of what its container may use"
	o.Controllers = map[string]string{"deployment-controller": "deployment"}
	o.Component = &Component{
		Configz: says("configuration"), Flagz: says("flags"), SLIs: &checked{},
		Statusz:      func(paths []string) http.Handler { return says(strings.Join(paths, " ")) },
		SetVerbosity: func(level string) (string, error) { return "set to " + level, nil },
	}
}

// What probes find is counted once for each of them; what they leave out is not; and whoever
// reads the counts has every check looked at.
func TestChecksAreCounted(t *testing.T) {
	counts := &checked{}
	_, h := newWorld(t, storyNow).serve(func(o *Options) {
		o.Component = &Component{SLIs: counts}
		o.Checks = func() []telemetry.Check { return []telemetry.Check{{Name: "loops", Err: errors.New("broken")}} }
	})
	for _, c := range []struct {
		path string
		want []string
	}{
		{"/readyz?exclude=api-server", []string{"readyz/ping ok", "readyz/loops failed"}},
		{"/readyz/loops", []string{"readyz/loops failed"}},
		{"/livez", []string{"livez/ping ok"}},
		{"/readyz/nothing", nil},
		{"/metrics/slis", []string{"healthz/ping ok", "livez/ping ok", "readyz/ping ok", "readyz/api-server ok", "readyz/loops failed"}},
	} {
		_, body := get(t, h.URL, c.path)
		if !slices.Equal(counts.list, c.want) {
			t.Errorf("%s counts %q, want %q", c.path, counts.list, c.want)
		}
		if c.path == "/metrics/slis" && body != strings.Join(c.want, "\n") {
			t.Errorf("what is read is not current: %s", body)
		}
		if res := raw(t, h.URL, "DELETE", "/metrics/slis"); res.StatusCode != http.StatusOK {
			t.Errorf("DELETE: %s", res.Status)
		}
	}
}

// The addresses for programs are listed where they are served, and only there; each leads
// somewhere.
func TestDebugListsWhatThereIs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"a process":                     {ofAProcess, "/metrics /metrics/slis /healthz /livez /readyz /statusz /flagz /configz /export.jsonl /live /debug/controllers /debug/flags /debug/pprof/"},
		"a process that says little":    {func(o *Options) { o.Component = &Component{} }, "/metrics /healthz /livez /readyz /export.jsonl /live /debug/controllers"},
		"a part of another's program":   {nil, "/metrics /healthz /livez /readyz /export.jsonl /live /debug/controllers"},
		"a process without --profiling": {func(o *Options) { ofAProcess(o); o.Profiling = false }, "/metrics /metrics/slis /healthz /livez /readyz /statusz /flagz /configz /export.jsonl /live /debug/controllers"},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := newWorld(t, storyNow).serve(c.change)
			var listed []string
			for _, e := range s.endpoints() {
				listed = append(listed, e.Path)
				want := http.StatusOK
				if e.Path == "/live" { // It wants a websocket.
					want = http.StatusUpgradeRequired
				}
				if res, _ := get(t, h.URL, e.Path); res.StatusCode != want {
					t.Errorf("%s: %s", e.Path, res.Status)
				}
			}
			for _, path := range paths(s.handler) {
				_, page := s.pages.Routes[path]
				below := func(e string) bool { return path == e || strings.HasPrefix(path, strings.TrimSuffix(e, "/")+"/") }
				if !page && path != "/" && path != "/debug" && !strings.HasPrefix(path, static.Prefix) && !slices.ContainsFunc(listed, below) {
					t.Errorf("%s is served and not listed", path)
				}
			}
			if got := strings.Join(listed, " "); got != c.want {
				t.Errorf("it lists %s, want %s", got, c.want)
			}
			_, body := get(t, h.URL, "/debug")
			d := parse(t, body)
			d.sound()
			if got := d.one("main"); !strings.Contains(got, "for Prometheus") {
				t.Errorf("the page says %s", got)
			}
		})
	}
	_, h := newWorld(t, storyNow).serve(ofAProcess)
	if _, body := get(t, h.URL, "/statusz"); !strings.Contains(body, "/debug/flags") || !strings.Contains(body, "/about") || strings.ContainsAny(body, "{*") {
		t.Errorf("/statusz is told of %s", body)
	}
	if _, body := get(t, h.URL, "/about"); !strings.Contains(body, "460 MiB, nine tenths") {
		t.Error("About does not say what bounds the memory")
	}
}

// The command line of a process may have a credential in it, and is shown without.
func TestCommandLine(t *testing.T) {
	before := os.Args
	defer func() { os.Args = before }()
	os.Args = []string{"loopscope", "manager", "--token=hunter1", "--password", "hunter2", "--server=https://me:hunter3@example.org", "--v=4"}
	_, h := newWorld(t, storyNow).serve(func(o *Options) { o.Profiling = true })
	if _, body := get(t, h.URL, "/debug/pprof/cmdline"); strings.Contains(body, "hunter") || !strings.Contains(body, "loopscope manager --token=") || !strings.HasSuffix(body, "--v=4") {
		t.Errorf("it shows %s", body)
	}
}
