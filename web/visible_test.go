package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/static"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
	"github.com/loopscope/loopscope/telemetry/history"
	"github.com/loopscope/loopscope/telemetry/metrics"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// hiddenMark is in every name of what is planted, and in its contents; nothing else has it. What is
// asked for and does not exist has absentMark in its place, which is as long.
const hiddenMark, absentMark = "zqhidden", "zqabsent"

// The namespaces of what is planted, and of what is not.
const hiddenSpace, shownSpace = hiddenMark + "-ns", "shop"

// identities are who asks, by their names.
func identities() map[string]*somebody {
	view := func(r Resource) bool { return r != decision.AllResources }
	return map[string]*somebody{
		"anonymous":        {},
		"outsider":         {},
		"viewer of one":    {may: func(r Resource, namespace string) bool { return view(r) && namespace == shownSpace }},
		"viewer of others": {may: func(r Resource, namespace string) bool { return view(r) && namespace == hiddenSpace }},
		"viewer of pods":   {may: func(r Resource, namespace string) bool { return r.Name == "pods" || r.Name == "events" }},
		"viewer of all":    {may: func(r Resource, _ string) bool { return view(r) }},
		"admin":            {may: func(Resource, string) bool { return true }},
	}
}

// sees says which of them sees what is planted.
var sees = map[string]bool{"viewer of others": true, "viewer of all": true, "admin": true}

// planted is a console with objects that are shown and others that are hidden, and who asks it.
type planted struct {
	*world
	server *Server
	base   string
	hidden map[string]*telemetry.Trace // one sync of each loop, in this run
	shown  map[string]*telemetry.Trace
	old    *telemetry.Trace // hidden, of an earlier run
}

// plant makes of a sync one of a hidden object.
func plant(t testing.TB, x *telemetry.Trace) *telemetry.Trace {
	t.Helper()
	raw, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`([:\s[]")`+regexp.QuoteMeta(x.Namespace)+`"`).ReplaceAllString(string(raw), `${1}`+hiddenSpace+`"`)
	text = strings.ReplaceAll(text, "registry.example", hiddenMark+".example")
	for _, name := range []string{x.Name, x.Owner} {
		if name != "" {
			text = regexp.MustCompile(`([:\[]"|[:\[]"[A-Za-z]+ | )`+regexp.QuoteMeta(name)+`([-" ])`).ReplaceAllString(text, `${1}`+hiddenMark+"-"+name+`${2}`)
		}
	}
	y := new(telemetry.Trace)
	if err := json.Unmarshal([]byte(text), y); err != nil {
		t.Fatal(err)
	}
	y.Loop, y.Result, y.Namespace, y.Failure = x.Loop, x.Result, hiddenSpace, &decision.Failure{Reason: "Forbidden", Message: hiddenMark + " failed"}
	if !strings.HasPrefix(y.Name, hiddenMark) {
		y.Name = hiddenMark + "-" + y.Name
	}
	return y
}

func plantedConsole(t *testing.T) *planted {
	t.Helper()
	from := newWorld(t, storyNow.Add(-2*time.Hour))
	from.goldens()
	stuckRollout(from)
	loops := append(slices.Clone(testLoops), decisiontest.Loop)
	p := &planted{world: newWorld(t, storyNow.Add(-2*time.Hour)), hidden: map[string]*telemetry.Trace{}, shown: map[string]*telemetry.Trace{}}
	registry := prometheus.NewRegistry()
	counts, err := metrics.New(registry, metrics.Options{Loops: loops})
	if err != nil {
		t.Fatal(err)
	}
	p.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: loops, Epoch: "7c41", Clock: stands(storyNow.Add(-2 * time.Hour)), Observe: counts.Observe})
	store, err := history.Open(filepath.Join(t.TempDir(), "history.db"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var kept []*telemetry.Trace
	for seq := uint64(1); seq <= from.journal.Last(); seq++ {
		x, _ := from.journal.Get(seq)
		if x.Namespace == shownSpace || x.Loop == "rollingupdate" && p.shown[x.Loop] == nil {
			y := *x
			y.Namespace = shownSpace
			p.journal.Record(&y)
			p.shown[x.Loop] = &y
		}
		y := plant(t, x)
		p.journal.Record(y)
		if !y.Gone {
			p.hidden[x.Loop] = y
		}
		old := *y
		old.Epoch = "dead"
		kept, p.old = append(kept, y, &old), &old
	}
	if err := store.Add(t.Context(), kept...); err != nil {
		t.Fatal(err)
	}
	for _, loop := range []string{"claim", "ghost"} { // One says not what it tells of, the other one nothing at all.
		y := plain(hiddenSpace, hiddenMark+"-"+loop)
		y.Loop = loop
		p.journal.Record(y)
		p.hidden[loop] = y
	}
	crossing := plain(shownSpace, "crossing")
	crossing.Causes = []telemetry.Cause{{Kind: telemetry.CauseModified, At: storyNow, Object: "Deployment " + hiddenSpace + "/" + hiddenMark + "-web"}}
	p.journal.Record(crossing)
	p.pump()
	p.server = p.world.server(func(o *Options) {
		ofAProcess(o)
		o.Loops, o.Archive, o.Gatherer, o.Mode, o.Shadow, o.Rival = p.states, store, registry, "watch", p.differences, p.rival
		o.Warnings = func(_ context.Context, namespace string, _ []string) ([]telemetry.Warning, error) {
			return []telemetry.Warning{{At: storyNow, Count: 1, Object: "Pod x", Reason: "Failed", Message: "of " + namespace}}, nil
		}
	})
	h := httptest.NewServer(p.server.Named(func(string) bool { return true }, byHeader(identities())))
	t.Cleanup(h.Close)
	t.Cleanup(func() { _ = p.server.Shutdown(context.Background()) })
	p.base = h.URL
	return p
}

// states have hidden keys in every place where a key can be.
func (p *planted) states() []telemetry.LoopState {
	key := hiddenSpace + "/" + hiddenMark + "-web"
	var list []telemetry.LoopState
	for _, l := range p.loops() {
		for _, phase := range []telemetry.KeyPhase{telemetry.KeyWaiting, telemetry.KeyReady, telemetry.KeyDirty, telemetry.KeyProcessing} {
			l.Queue.Keys = append(l.Queue.Keys, telemetry.KeyState{Key: key + "-" + string(phase), Phase: phase, Since: storyNow, Attempts: 3})
		}
		l.Queue.Keys = append(l.Queue.Keys, telemetry.KeyState{Key: shownSpace + "/crossed", Phase: telemetry.KeyReady, Since: storyNow,
			Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, Object: "Deployment " + key}, {Kind: telemetry.CauseModified, Object: "Pod a"}}})
		l.Echoes = append(l.Echoes, telemetry.EchoState{Object: "ReplicaSet " + hiddenMark + "-web-1", Since: storyNow}, telemetry.EchoState{Object: "Deployment " + key, Since: storyNow})
		l.Expectations = append(l.Expectations, telemetry.ExpectationState{Key: key, Creates: 1, Since: storyNow})
		list = append(list, l)
	}
	return list
}

func (p *planted) differences() telemetry.ShadowState {
	st := shadowed()
	for i := range st.Differences {
		d := &st.Differences[i]
		d.Object, d.Target = telemetry.Object{Loop: "deployment", Namespace: hiddenSpace, Name: hiddenMark + "-web"}, hiddenMark+"-web-1"
	}
	return st
}

func (p *planted) rival() telemetry.Rival {
	return telemetry.Rival{Manager: "kube-controller-manager", Writes: 9, Last: storyNow, Object: "Deployment " + hiddenSpace + "/" + hiddenMark + "-web"}
}

// ask is what somebody is answered, headers included.
func (p *planted) ask(t *testing.T, who, path string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Who", who)
	client := http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %s: %v", who, path, err)
	}
	res.Header.Del("Date")
	var header strings.Builder
	_ = res.Header.Write(&header) // into memory
	return res.StatusCode, header.String() + digestOf.ReplaceAllString(string(body), "")
}

// digestOf finds what a page has of its own contents in it, what was asked for included.
var digestOf = regexp.MustCompile(` data-v="[0-9a-z]+"`)

// addresses are what is asked at a pattern of a route, with what is hidden in it and with what is
// shown. It fails for a parameter that it does not know.
func (p *planted) addresses(t *testing.T, pattern string) (list []string) {
	t.Helper()
	loops := []string{address.LoopAt(pattern)}
	if strings.HasPrefix(pattern, "/{objects}") {
		loops = []string{"ghost", "phantom"}
	} else if strings.Contains(pattern, "{loop}") {
		loops = []string{"deployment", "replicaset", "rollingupdate", "claim", "ghost"}
	}
	for _, loop := range loops {
		for _, x := range []*telemetry.Trace{p.hidden[loop], p.shown[loop], p.old, p.hidden["deployment"], p.shown["deployment"]} {
			if x == nil {
				continue
			}
			for _, seq := range []uint64{x.Seq, 1, 2} {
				to := strings.NewReplacer("{objects}", loop+"s", "{loop}", loop, "{namespace}", x.Namespace, "{name}", x.Name, "{epoch}", x.Epoch, "{seq}", words.Digits(seq),
					"{check}", "ping", "{file}", strings.TrimPrefix(static.Script.Path, static.Prefix), "*", "").Replace(pattern)
				if strings.Contains(to, "{") {
					t.Fatalf("nobody knows what to ask at %s: give the parameter a value here", pattern)
				}
				list = append(list, to)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// queries are those of any page that lead to what is hidden.
func (p *planted) queries(r page.Route) []string {
	x := p.hidden["deployment"]
	values := map[string][]string{
		"q": {hiddenMark, "ns:" + hiddenSpace, "name:" + x.Name, "ns:" + hiddenSpace + " name:" + x.Name, "error:" + hiddenMark, "image:" + hiddenMark, "loop:deployment is:failed", "loop:claim"}, "after": {x.Key(), "failed~~" + x.Key(), "1"},
		"sync": {words.Digits(x.Seq), "1"}, "epoch": {p.old.Epoch, "7c41"}, "at": {"now", "-30m"}, "pod": {hiddenMark + "-pod"}, "window": {"6h"}, "all": {""},
	}
	list := []string{""}
	for _, name := range r.Parameters {
		for _, v := range append(values[name], hiddenMark) {
			list = append(list, "?"+url.Values{name: {v}}.Encode())
		}
	}
	return append(list, "?sync="+words.Digits(p.old.Seq)+"&epoch="+p.old.Epoch)
}

// TestWhatAViewerMayNotGetIsNeverSeen walks every address as everybody. What is hidden is answered as
// what does not exist, and nothing else has anything of it; to whom may see it, it is shown.
func TestWhatAViewerMayNotGetIsNeverSeen(t *testing.T) {
	p := plantedConsole(t)
	var paths []string
	walk := func(_, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		queries := p.queries(p.server.pages.Routes[pattern])
		switch pattern {
		case "/debug/pprof/profile", "/debug/pprof/trace":
			queries = []string{timed}
		case "/export.jsonl":
			queries = []string{"", "?namespace=" + hiddenSpace, "?name=" + p.hidden["deployment"].Name, "?loop=deployment&limit=5"}
		}
		for i, path := range p.addresses(t, pattern) {
			for j, q := range queries {
				if !testing.Short() || (i+j)%29 == 0 {
					paths = append(paths, path+q)
				}
			}
		}
		return nil
	}
	if err := chi.Walk(p.server.handler, walk); err != nil {
		t.Fatal(err)
	}
	for who := range identities() {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			found := 0
			for _, path := range paths {
				if p.check(t, who, path) {
					found++
				}
			}
			t.Logf("%d of %d answers show what is planted", found, len(paths))
			if sees[who] != (found > 0) {
				t.Errorf("%d answers show what is planted", found)
			}
		})
	}
}

// timed asks for what takes as long as it is asked to, and shows the process alone.
const timed = "?seconds=1"

// check asks one address as somebody, and reports whether the answer shows what is planted.
func (p *planted) check(t *testing.T, who, path string) bool {
	t.Helper()
	if strings.HasSuffix(path, timed) && who != "outsider" {
		return false
	}
	status, body := p.ask(t, who, path)
	if status >= http.StatusInternalServerError && !strings.HasPrefix(path, "/debug/pprof/") {
		t.Errorf("%s: %s: %d: %.300s", who, path, status, body)
	}
	asked := strings.Contains(path, hiddenMark)
	if sees[who] {
		return strings.Contains(body, hiddenMark) && (!asked || status == http.StatusOK)
	}
	if !asked {
		if at := strings.Index(body, hiddenMark); at >= 0 {
			t.Errorf("%s: %s shows …%s…", who, path, body[max(0, at-200):min(len(body), at+100)])
		}
		return false
	}
	absent, same := p.ask(t, who, strings.ReplaceAll(path, hiddenMark, absentMark))
	if same = strings.ReplaceAll(same, absentMark, hiddenMark); status != absent || body != same {
		at := 0
		for at < min(len(body), len(same)) && body[at] == same[at] {
			at++
		}
		t.Errorf("%s: %s: %d …%s…\nand what does not exist: %d …%s…", who, path, status, body[max(0, at-100):min(len(body), at+200)], absent, same[max(0, at-100):min(len(same), at+200)])
	}
	return false
}
