package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
)

// ownSet is a sync of a ReplicaSet with that owner; "" for none.
func ownSet(name, owner string, tone decision.Tone) *telemetry.Trace {
	x := plain("shop", name)
	x.Loop, x.UID, x.Owner, x.Sentence.Tone = "replicaset", name, owner, tone
	return x
}

// unownedWorld has one Deployment that is settled with a ReplicaSet that waits, and these beside it.
func unownedWorld(t *testing.T, sets ...*telemetry.Trace) (*world, *Server, string) {
	w := newWorld(t, storyNow)
	w.journal.Record(plain("shop", "web"))
	for _, x := range append(sets, ownSet("web-1", "web", decision.ToneWaiting)) {
		w.journal.Record(x)
	}
	s, h := w.serve(nil)
	return w, s, h.URL
}

// heads is what the list says above its table, and links is where that leads.
func heads(t *testing.T, base, path string) (says, links string) {
	t.Helper()
	res, body := get(t, base, path)
	d := parse(t, body)
	d.sound()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, res.Status)
	}
	var to []string
	for _, p := range d.all("p.sub") {
		for _, a := range (doc{t, p}).all("a") {
			to = append(to, attr(a, "href"))
		}
	}
	return d.one("#f-head"), strings.Join(to, " ")
}

// namesAt are the names in a list.
func namesAt(t *testing.T, base, path string) string {
	t.Helper()
	_, body := get(t, base, path)
	var names []string
	for _, a := range parse(t, body).all("a.row") {
		names = append(names, attr(a, "href")[strings.LastIndexByte(attr(a, "href"), '/')+1:])
	}
	return strings.Join(names, " ")
}

// TestWhatHasNoOwnerIsListed: what no Deployment shows is told of in the list of Deployments, with those that
// need somebody, and has a list of its own.
func TestWhatHasNoOwnerIsListed(t *testing.T) {
	w, s, base := unownedWorld(t, ownSet("ok", "", decision.ToneOK), ownSet("big", "", decision.ToneWaiting), ownSet("bad", "", decision.ToneFailed))
	says, links := heads(t, base, "/deployments")
	if !strings.HasPrefix(says, "The only Deployment needs no action.") ||
		!strings.HasSuffix(says, "1 ReplicaSet without a Deployment failed and 1 is waiting: shop/bad, shop/big. The other one needs no action.") ||
		links != "/replicasets /replicasets/shop/bad /replicasets/shop/big" {
		t.Errorf("the list of Deployments says %q and leads to %s", says, links)
	}
	if says, links := heads(t, base, "/deployments?q=big"); !strings.HasSuffix(says, "1 matching ReplicaSet without a Deployment is waiting: shop/big.") || !strings.HasPrefix(links, "/replicasets?q=big ") {
		t.Errorf("a filtered one says %q and leads to %s", says, links)
	}
	if says, _ := heads(t, base, "/deployments?q=nothing"); strings.Contains(says, "ReplicaSet") {
		t.Errorf("of nothing that matches it says %q", says)
	}
	var twin struct {
		Page struct {
			Beside []struct {
				Loop            string
				Failed, Waiting int
			}
		}
	}
	if _, body := get(t, base, "/deployments.json"); json.Unmarshal([]byte(body), &twin) != nil || len(twin.Page.Beside) != 1 || twin.Page.Beside[0].Failed != 1 || twin.Page.Beside[0].Waiting != 1 || twin.Page.Beside[0].Loop != "replicaset" {
		t.Errorf("the twin has %+v", twin.Page.Beside)
	}
	if says, _ := heads(t, base, "/replicasets"); !strings.HasPrefix(says, "1 ReplicaSet without a Deployment failed and 1 is waiting. The other one needs no action.") || namesAt(t, base, "/replicasets") != "bad big ok" {
		t.Errorf("their own list says %q of %s", says, namesAt(t, base, "/replicasets"))
	}
	w.journal.Record(ownSet("big", "web", decision.ToneWaiting))
	w.journal.Record(ownSet("web-1", "", decision.ToneOK))
	if got := namesAt(t, base, "/replicasets"); got != "bad ok web-1" {
		t.Errorf("once one is adopted and another one orphaned, there are %s", got)
	}
	to, err := (site{s}).Find("/deployments")
	if err != nil {
		t.Fatal(err)
	}
	p, err := to.Build(t.Context())
	if err != nil || !p.Touches(ownSet("ok", "", "")) || p.Touches(ownSet("big", "web", "")) {
		t.Errorf("%v: the page follows other syncs than those of what it tells", err)
	}
}

// TestWaysToWhatHasNoOwner: its page is below its own list, and that of what has an owner is below that.
func TestWaysToWhatHasNoOwner(t *testing.T) {
	_, s, base := unownedWorld(t, ownSet("big", "", decision.ToneWaiting))
	for path, want := range map[string]string{"/replicasets/shop/big": "/replicasets", "/replicasets/shop/web-1": "/deployments"} {
		_, body := get(t, base, path)
		if got := attr(doc{t, parse(t, body).all(".crumbs")[0]}.all("a")[0], "href"); got != want {
			t.Errorf("the way to %s begins at %s", path, got)
		}
	}
	if got := s.pages.Under(telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "big"}, ""); got[0] != (views.Link{Text: "ReplicaSets without a Deployment", Href: "/replicasets"}) {
		t.Errorf("%+v", got)
	}
}

// TestFirstSyncMayHaveAnOwner: before its first sync ends nobody knows whether a ReplicaSet has a Deployment,
// and so whether it is listed then.
func TestFirstSyncMayHaveAnOwner(t *testing.T) {
	w, _, _ := unownedWorld(t, ownSet("big", "", decision.ToneWaiting))
	q := &workQueue{loop: "replicaset"}
	q.at(storyNow)
	q.key.Store(&telemetry.KeyState{Key: "shop/web-2", Phase: telemetry.KeyReady, Since: storyNow.Add(-time.Second)})
	_, h := w.serve(q.tells)
	pageSays(t, h.URL, "/replicasets?q=web-2", http.StatusOK, []string{"Nothing matches web-2."}, []string{"listed then"})
	pageSays(t, h.URL, "/replicasets/shop/web-2", http.StatusNotFound, []string{"has not ended yet", "Deployments"}, []string{"without a Deployment"})
}

// TestNothingWithoutAnOwner says where those are that have one.
func TestNothingWithoutAnOwner(t *testing.T) {
	w, _, _ := unownedWorld(t)
	_, h := w.serve(func(o *Options) { o.Loops = nil })
	base := h.URL
	if says, _ := heads(t, base, "/deployments"); strings.Contains(says, "ReplicaSet") {
		t.Errorf("the list of Deployments says %q", says)
	}
	_, body := get(t, base, "/replicasets")
	if main := parse(t, body).one("main"); !strings.Contains(main, "The page of a Deployment shows its ReplicaSets. One that no Deployment controls appears here.") {
		t.Errorf("the list says %q", main)
	}
}
