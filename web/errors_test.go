package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/words"
)

// TestErrors asks for everything that is not there.
func TestErrors(t *testing.T) {
	w, base := told(t)
	last := words.Digits(w.journal.Last())
	other := address.Sync(w.journal.Board().Rows("replicaset")[0].Trace)
	_, otherSeq, _ := strings.Cut(other, "/syncs/7c41/")
	cases := []struct {
		path   string
		status int
		code   string
		says   []string
	}{
		{"/nowhere", 404, "not-found", []string{"no such page", "All Deployments"}},
		{"/nothings/shop/web", 404, "not-found", []string{"no such page", "All Deployments", ">ReplicationControllers</a>"}},
		{"/nothing/shop/web", 404, "not-found", []string{"no such page", "All Deployments"}},
		{"/nothing/shop/web/story", 404, "not-found", []string{"no such page"}},
		{"/deployment/shop/web", 404, "not-found", []string{`href="/deployments/shop/web"`}},
		{"/deploy/shop/web/story", 404, "not-found", []string{`href="/deployments/shop/web/story"`}},
		{"/Deploy/shop/web/what-if", 404, "not-found", []string{`href="/deployments/shop/web/what-if"`}},
		{"/rs/shop/web-1", 404, "not-found", []string{`href="/replicasets/shop/web-1"`}},
		{"/deployment", 404, "not-found", []string{`>/deployments</a>`}},
		{"/deployments/shop/wbe", 404, "unknown-object", []string{"shop/wbe", "shop/web"}},
		{"/replicasets/shop/none", 404, "unknown-object", []string{"ReplicaSet shop/none"}},
		{"/deployments/shop/web?sync=0", 400, "bad-sync", []string{"numbered from 1"}},
		{"/deployments/shop/web?sync=-4", 400, "bad-sync", []string{"-4"}},
		{"/deployments/shop/web?sync=99999999999999999999999", 400, "bad-sync", []string{"not the number"}},
		{"/deployments/shop/web?sync=999999", 404, "no-such-sync", []string{"newest of this run is " + last}},
		{"/deployments/shop/web?sync=3&epoch=dead", 410, "other-epoch", []string{"dead", "7c41"}},
		{"/deployments/shop/web?sync=" + otherSeq, 404, "other-object", []string{"belongs to"}},
		{"/deployments/shop/web/syncs/dead/3", 410, "other-epoch", []string{"dead"}},
		{"/deployments/shop/web/syncs/7c41/x", 400, "bad-sync", []string{"not the number"}},
		{"/deployments/shop/web/syncs/7c41/999999", 404, "no-such-sync", nil},
		{"/deployments/shop/web/syncs/7c41/" + otherSeq, 404, "other-object", nil},
		{"/deployments?after=shop/none", 404, "no-such-row", []string{"The first page", `href="/deployments"`}},
		{"/deployments?q=ns:shop&after=waiting~today~shop/web", 404, "no-such-row", []string{"waiting~today~shop/web", `href="/deployments?q=ns%3Ashop"`}},
		{"/deployments?q=" + strings.Repeat("x", 2000), 414, "query-too-long", nil},
		{"/debug/controllers/nothing", 404, "unknown-loop", nil},
		{"/debug/controllers/deployment/shop/none", 404, "unknown-object", nil},
		{"/static/console.js", 404, "not-found", nil},
	}
	for _, c := range cases {
		res, body := get(t, base, c.path)
		if res.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", c.path, res.Status, c.status)
		}
		for _, want := range c.says {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q", c.path, want)
			}
		}
		if !strings.HasPrefix(c.path, "/debug/") {
			parse(t, body).sound()
		}
		res, body = get(t, base, c.path, "Accept", "application/json")
		var got struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || res.StatusCode != c.status || got.Error.Code != c.code || got.Error.Message == "" {
			t.Errorf("%s as JSON: %s, %v %+v, want code %s", c.path, res.Status, err, got, c.code)
		}
	}
}

// TestTooOld names the nearest kept sync for one that is kept no longer.
func TestTooOld(t *testing.T) {
	w := newWorld(t, storyNow)
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 4})
	for range 12 {
		w.journal.Record(plain("shop", "web"))
	}
	_, h := w.serve(nil)
	res, body := get(t, h.URL, "/deployments/shop/web/syncs/7c41/2")
	if res.StatusCode != http.StatusGone || !strings.Contains(body, "no longer kept") || !strings.Contains(body, "/deployments/shop/web/syncs/7c41/9") {
		t.Errorf("%s, without the nearest kept sync 9:\n%s", res.Status, parse(t, body).one("main"))
	}
}

// TestHostileNames puts markup, directions and long names everywhere a cluster
// can put them.
func TestHostileNames(t *testing.T) {
	evil := `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	rtl := "\u202egpj.exe\u202c"
	long := strings.Repeat("very-long-name.", 16) + strings.Repeat("x", 13)
	w := newWorld(t, storyNow)
	for _, name := range []string{evil, rtl, long, "web.json"} {
		x := plain("shop", name)
		x.Causes = []telemetry.Cause{{Kind: telemetry.CauseKind(evil), Object: "Pod " + evil, Manager: evil, Fields: []decision.Change{{Field: evil, From: rtl, To: evil}}}}
		x.Failure = &decision.Failure{Reason: evil, Message: evil + rtl + long}
		x.Sentence.Lead = decision.Words{}.Say("it says ").Quote(evil).Name(rtl)
		x.Sentence.Then = decision.Words{}.Quote(long)
		x.Rounds = []decision.Round{{Verdict: decision.Verdict{Path: decision.Path{{Question: evil, Answer: evil, Facts: []decision.Fact{decision.Text(evil, evil)}}},
			Held: []decision.Held{{Code: evil, Question: evil, Target: decision.Ref{Kind: evil, Name: evil}, Blockers: []decision.Blocker{{Kind: evil, Name: evil, Reason: evil, Message: evil}}}}}}}
		w.journal.Record(x)
	}
	_, h := w.serve(func(o *Options) {
		o.Cluster = evil
		o.Leadership = func() telemetry.Leadership {
			return telemetry.Leadership{Lease: evil, Leader: evil, Error: evil, StandsBy: true}
		}
		o.Server = func() telemetry.ServerState { return telemetry.ServerState{Error: evil, Since: storyNow} }
		o.Checks = func() []telemetry.Check { return []telemetry.Check{{Name: "loops", Err: errors.New(evil)}} }
	})
	paths := []string{"/deployments", "/queues", "/deployments?q=" + "%3Cscript%3Ealert(1)%3C/script%3E", "/deployments/shop/%3Cscript%3E?sync=%3Cscript%3E"}
	for _, row := range w.journal.Board().Rows("deployment") {
		paths = append(paths, address.Of(row.Trace.Object), address.Sync(row.Trace))
	}
	for _, path := range paths {
		res, body := get(t, h.URL, path)
		if res.StatusCode == http.StatusInternalServerError {
			t.Errorf("%s: %s", path, res.Status)
		}
		d := parse(t, body)
		d.sound()
		if len(d.all("img")) > 0 || len(d.all("script")) > 2 {
			t.Errorf("%s: markup of the cluster came through", path)
		}
	}
	if res, body := get(t, h.URL, "/deployments/shop/web.json"); res.StatusCode != 200 || !strings.HasPrefix(body, "<!doctype") && !strings.HasPrefix(body, "<!DOCTYPE") {
		t.Errorf("a Deployment called web.json has no page: %s", res.Status)
	}
}

// Who has not been answered yet is not ready.
func TestServerAwaited(t *testing.T) {
	w := newWorld(t, storyNow)
	_, h := w.serve(func(o *Options) {
		o.Server = func() telemetry.ServerState {
			return telemetry.ServerState{Reachable: true, Awaited: true, Since: storyNow}
		}
	})
	if res, body := get(t, h.URL, "/readyz"); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "[-]api-server failed: it has not answered yet\n") {
		t.Errorf("/readyz: %s\n%s", res.Status, body)
	}
}

// TestServerGone says so on every page and in /readyz.
func TestServerGone(t *testing.T) {
	w := newWorld(t, storyNow)
	_, h := w.serve(func(o *Options) {
		o.Server = func() telemetry.ServerState {
			return telemetry.ServerState{Since: storyNow.Add(-12 * time.Second), Error: "connection refused"}
		}
		o.Checks = func() []telemetry.Check {
			return []telemetry.Check{{Name: "loops", Err: errors.Join(errors.New("a"), errors.New("[+]forged ok\x1b[2J"))}}
		}
	})
	for _, path := range []string{"/deployments", "/queues", "/nowhere"} {
		_, body := get(t, h.URL, path)
		if got := parse(t, body).one("#f-notice"); !strings.Contains(got, "The API server does not answer") || !strings.Contains(got, "for 12s") || !strings.Contains(got, "connection refused") {
			t.Errorf("%s: notice %q", path, got)
		}
	}
	if res, body := get(t, h.URL, "/readyz"); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "[-]api-server failed") || !strings.Contains(body, "[-]loops failed: a; [+]forged ok [2J\n") {
		t.Errorf("/readyz: %s\n%s", res.Status, body)
	}
	if res, body := get(t, h.URL, "/healthz?verbose"); res.StatusCode != http.StatusOK || !strings.Contains(body, "[+]ping ok\nhealthz check passed") {
		t.Errorf("/healthz: %s\n%s", res.Status, body)
	}
	if res, body := get(t, h.URL, "/readyz?exclude=loops&exclude=api-server&exclude=nothing&verbose"); res.StatusCode != http.StatusOK || body != "[+]ping ok\n[+]api-server excluded: ok\n[+]loops excluded: ok\nwarn: nothing is called [\"nothing\"], so that it cannot be excluded\nreadyz check passed\n" {
		t.Errorf("/readyz with exclusions: %s\n%s", res.Status, body)
	}
	if _, body := get(t, h.URL, "/livez"); body != "ok" {
		t.Errorf("/livez: %q", body)
	}
}

// TestPanicIsAPage keeps a defect of one page from being more than that.
func TestPanicIsAPage(t *testing.T) {
	w := newWorld(t, storyNow)
	_, h := w.serve(func(o *Options) { o.Loops = func() []telemetry.LoopState { panic("a defect") } })
	res, body := get(t, h.URL, "/queues")
	if res.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "could not be rendered") || strings.Contains(body, "a defect") {
		t.Errorf("%s\n%s", res.Status, body)
	}
	parse(t, body).sound()
}

func TestEmptyConsole(t *testing.T) {
	_, h := newWorld(t, storyNow).serve(func(o *Options) { o.Loops = nil })
	_, body := get(t, h.URL, "/deployments")
	if got := parse(t, body).one("main"); !strings.Contains(got, "watch the loop decide") || !strings.Contains(got, "kubectl create deployment") {
		t.Errorf("the first page does not say what to do: %s", got)
	}
	for _, path := range []string{"/queues", "/debug/controllers"} {
		_, body := get(t, h.URL, path)
		parse(t, body).sound()
	}
}

func TestDebug(t *testing.T) {
	_, base := told(t)
	for path, want := range map[string]string{"/debug/controllers": "/debug/controllers/deployment", "/debug/controllers/deployment": `"verdicts"`,
		"/debug/controllers/replicaset": `"state"`, "/debug/controllers/deployment/shop/web": `"newest"`} {
		res, body := get(t, base, path)
		if res.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %s, lacks %s", path, res.Status, want)
		}
	}
	if _, body := get(t, base, "/debug/controllers", "Accept", "application/json"); !json.Valid([]byte(body)) {
		t.Errorf("the index as JSON is not: %s", body)
	}
}

// TestAnswerToNobody: where the reader of a page has left, or seems to, there is no page, and what
// is sent does not look like an empty one.
func TestAnswerToNobody(t *testing.T) {
	h := newWorld(t, storyNow).server(nil).Handler()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for _, path := range []string{"/deployments/none/none", "/deployments/none/none.json"} {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		r.Host = "127.0.0.1"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s is answered %d %q", path, w.Code, w.Body)
		}
	}
}

// anyLoop is a history that takes no loop for every one.
type anyLoop struct {
	telemetry.Archive
	kept *telemetry.Trace
}

func (a anyLoop) AsOf(context.Context, telemetry.Object, time.Time) (*telemetry.Trace, error) {
	return a.kept, nil
}

// An address of no loop has no page, whatever the history would find for it.
func TestNoLoopNoPage(t *testing.T) {
	_, h := newWorld(t, storyNow).serve(func(o *Options) { o.Archive = anyLoop{o.Journal.Archive(), plain("shop", "web")} })
	for _, path := range []string{"/deployment/shop/web", "/nothing/shop/web", "/nothing/shop/web/story"} {
		if res, _ := get(t, h.URL, path); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}
