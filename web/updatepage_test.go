package web

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/words"
)

// updateWorld is a golden of a rolling update with its two ReplicationControllers, which have
// pods as the update says: the new one one that is not ready.
func updateWorld(t testing.TB, golden string) (w *world, namespace string) {
	w = newWorld(t, time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC))
	update := w.goldenUpdate(filepath.Join("../controllers/rollingupdate/testdata/golden", golden+".txtar"))
	for name, ready := range map[string]bool{"web": true, "web-6d5": false} {
		at := update.Started.Add(-time.Second)
		pod := replicaset.Pod{Name: name + "-x7k9f", UID: name, RV: "7", Mine: true, Matches: true, FullLabels: true, Phase: "Running", Node: "node-1", Created: at.Add(-time.Minute), Ready: ready}
		if ready {
			pod.ReadySince = at.Add(-30 * time.Second)
		} else {
			pod.Reason, pod.Since = "ContainersNotReady", pod.Created
		}
		x := w.decideReplicaSet(&replicaset.Snapshot{Version: replicaset.SnapshotVersion, Now: at, Kind: "ReplicationController", Found: true, Namespace: update.Namespace, Name: name,
			UID: "u-" + name, RV: "20", Selector: "app=" + name, Want: 1, Images: []string{"web:1"}, Burst: 500, Pods: []replicaset.Pod{pod}}, script{})
		x.Loop = "replicationcontroller"
		x.Causes = []telemetry.Cause{{Kind: telemetry.CauseModified, At: at, Object: "ReplicationController " + name, OldRV: "19", NewRV: "20"}}
		w.journal.Record(x)
	}
	w.pump()
	return w, update.Namespace
}

// TestUpdatePage: the page of a rolling update shows both ReplicationControllers and the pods
// that it waits for, and theirs lead to it.
func TestUpdatePage(t *testing.T) {
	w, namespace := updateWorld(t, "floor")
	_, h := w.serve(nil)
	page := func(path string) doc {
		res, body := get(t, h.URL, path)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, res.Status)
		}
		d := parse(t, body)
		d.sound()
		return d
	}
	update := "/rollingupdates/" + namespace + "/web"
	d := page(update)
	of := "/replicationcontrollers/" + namespace + "/"
	if got := strings.Join(linksIn(d, "#f-sets"), " "); got != of+"web-6d5 "+of+"web" {
		t.Errorf("it leads to %q", got)
	}
	if got := d.one("#f-pods"); !strings.Contains(got, "Pods of web-6d5") || !strings.Contains(got, "ContainersNotReady") || strings.Contains(got, "web-x7k9f") {
		t.Errorf("its pods are %q", got)
	}
	if got := d.one("#f-scope"); !strings.Contains(got, "ReplicationController syncs") || !strings.Contains(got, "web-6d5-x7k9f") || !strings.Contains(got, "1 old") {
		t.Errorf("its picture has %q", got)
	}
	if got := linksIn(d, "#f-about"); !slices.Contains(got, update+"/what-if") || !slices.Contains(got, update+"/story") {
		t.Errorf("about it there are links to %q", got)
	}
	for name, want := range map[string]string{"web": "Being replaced by web-6d5: rolling update web is waiting", "web-6d5": "Replacing web: rolling update web is waiting"} {
		d := page(of + name)
		if got := d.one("#part"); !strings.HasPrefix(got, want) {
			t.Errorf("%s says %q, want %q", name, got, want)
		}
		if got := strings.Join(linksIn(d, "#part"), " "); got != update {
			t.Errorf("%s leads to %s", name, got)
		}
	}
	if res, list := get(t, h.URL, "/replicationcontrollers"); res.StatusCode != http.StatusOK || !strings.Contains(parse(t, list).one("h1"), "1 ReplicationController is waiting") {
		t.Errorf("the list says %q", parse(t, list).one("h1"))
	}
}

// TestUpdateThen: the page of a rolling update as of a moment has the ReplicationControllers of then, and
// the pods that it waited for.
func TestUpdateThen(t *testing.T) {
	w, namespace := updateWorld(t, "floor")
	w.goldenUpdateOf("../controllers/rollingupdate/testdata/golden/complete.txtar", namespace, 20*time.Minute)
	_, h := w.serve(nil)
	page := func(args string) doc {
		_, body := get(t, h.URL, "/rollingupdates/"+namespace+"/web"+args)
		d := parse(t, body)
		d.sound()
		return d
	}
	of := "/replicationcontrollers/" + namespace + "/"
	d := page("?at=2026-03-01T12:01:00Z")
	if got := strings.Join(linksIn(d, "#f-sets"), " "); got != of+"web-6d5 "+of+"web" {
		t.Errorf("as of then it leads to %q", got)
	}
	if got := d.one("#f-pods"); !strings.Contains(got, "Pods of web-6d5 1 pod, as of 2026-03-01 12:01:00 UTC") || !strings.Contains(got, "web-6d5-x7k9f") || d.running("#f-pods") > 0 {
		t.Errorf("its pods of then are %q", got)
	}
	if got := strings.Join(linksIn(page(""), "#f-sets"), " "); got != of+"web" {
		t.Errorf("as of now it leads to %q", got)
	}
}

// linksIn are the addresses to which the links of a part lead.
func linksIn(d doc, part string) (hrefs []string) {
	for _, within := range d.all(part) {
		for _, a := range (doc{d.t, within}).all("a") {
			hrefs = append(hrefs, attr(a, "href"))
		}
	}
	return hrefs
}

// The pods that an old name has taken over are the new ones.
func TestUpdateThatTookOver(t *testing.T) {
	w, namespace := updateWorld(t, "complete")
	_, h := w.serve(nil)
	_, body := get(t, h.URL, "/rollingupdates/"+namespace+"/web")
	got := parse(t, body).one("#f-scope")
	for _, want := range []string{"new33 available", "old0", "1 new"} {
		if !strings.Contains(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(want, " ", "")) {
			t.Errorf("its picture lacks %q: %q", want, got)
		}
	}
	if got := parse(t, body).one("#f-sets"); !strings.Contains(got, "3 3") {
		t.Errorf("of the ReplicationController is said %q", got)
	}
}

// "On hold" stands for many things, so a row of the list says which of them was chosen.
func TestRowSaysWhatWasChosen(t *testing.T) {
	w, namespace := updateWorld(t, "paused")
	_, h := w.serve(nil)
	_, body := get(t, h.URL, "/rollingupdates?ns="+namespace)
	if got, want := parse(t, body).one("main"), "Paused: web-6d5 has 2 of 3 pods, and web still has 2."; !strings.Contains(got, want) {
		t.Errorf("the list says %q, want %q", got, want)
	}
}

// TestUpdateThatWasTakenBack: once nobody asks for an update any more, its picture goes on without bounds.
func TestUpdateThatWasTakenBack(t *testing.T) {
	w, namespace := updateWorld(t, "floor")
	w.goldenUpdateOf("../controllers/rollingupdate/testdata/golden/aborted.txtar", namespace, time.Minute)
	_, h := w.serve(nil)
	_, body := get(t, h.URL, "/rollingupdates/"+namespace+"/web")
	d := parse(t, body)
	if got := d.one("#f-scope"); strings.ContainsAny(got, "≤≥") || !strings.Contains(got, "2, of which") {
		t.Errorf("its picture has %q", got)
	}
	said := ""
	for _, svg := range (doc{t, d.all("#f-scope")[0]}).all("svg") {
		said += attr(svg, "aria-label")
	}
	for _, want := range []string{"was taken back 264d ago.", "0 new, 3 old, 3 available."} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
}

// An update that nobody asks to finish has sizes to draw, and no bounds.
func TestUpdateWithoutBounds(t *testing.T) {
	w, namespace := updateWorld(t, "left")
	_, h := w.serve(nil)
	_, body := get(t, h.URL, "/rollingupdates/"+namespace+"/web")
	if got := parse(t, body).one("#f-scope"); !strings.Contains(got, "total") || strings.Contains(got, "ceiling") || strings.Contains(got, "≤") {
		t.Errorf("its picture has %q", got)
	}
}

// TestWhatIfWithoutARequest: where only the names are left to change hands, a plan says that it has
// nothing to change.
func TestWhatIfWithoutARequest(t *testing.T) {
	for _, golden := range []string{"unseal-fewer", "counting-long"} {
		w, namespace := updateWorld(t, golden)
		_, h := w.serve(nil)
		res, body := get(t, h.URL, "/rollingupdates/"+namespace+"/web/what-if")
		if got, want := parse(t, body).one("main"), "only takes over its new pods"; res.StatusCode != http.StatusNotFound || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %q, want %q", golden, res.Status, got, want)
		}
	}
}

// TestOwnNames: only names that a controller made up are cut.
func TestOwnNames(t *testing.T) {
	for of, want := range map[[2]string]string{
		{"Pod", "web-7d4b9c6f5x-jtzz9"}: "jtzz9", {"ReplicaSet", "web-7d4b9c6f5x"}: "7d4b9c6f5x",
		{"ReplicationController", "web-2"}: "web-2", {"Deployment", "my-app"}: "my-app",
	} {
		if got := words.Own(of[0], of[1]); got != want {
			t.Errorf("%s is %q, want %q", of, got, want)
		}
	}
}
