package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/object"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

func parsedURL(t testing.TB, path string) *url.URL {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// subjectOf is what a page of that address is about.
func subjectOf(t testing.TB, s *Server, path string) *subject.Subject {
	t.Helper()
	u := parsedURL(t, path)
	parts := strings.Split(u.Path, "/")
	x, err := s.objects.Find(&page.Query{Ctx: t.Context(), URL: u, Args: u.Query(), Object: telemetry.Object{Loop: address.LoopAt(u.Path), Namespace: parts[2], Name: parts[3]}, Now: s.src.Opts.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestSideColumn reads what stands beside the path of the stuck rollout.
func TestSideColumn(t *testing.T) {
	w, base := told(t)
	_, body := get(t, base, "/deployments/shop/web")
	side := parse(t, body).one("#f-side")
	for _, want := range []string{
		"rollout status waits: 1 old pod is not gone yet", "last event ScalingReplicaSet", "How it got here", ", this sync",
		"The last size was written in sync", "The whole chain",
	} {
		if !strings.Contains(side, want) {
			t.Errorf("the side column does not say %q: %s", want, side)
		}
	}
	s := w.server(nil)
	came := s.objects.CausesOf(subjectOf(t, s, "/deployments/shop/web").Cursor)
	const steps = 9 // and the sync itself
	if len(came.Steps) != steps+1 || !came.Steps[steps].This {
		t.Fatalf("%d steps led to it", len(came.Steps))
	}
	wrote, loops := 0, map[string]bool{}
	for i, x := range came.Steps {
		if i > 0 && x.At.Before(came.Steps[i-1].At) {
			t.Errorf("step %d is before the one before it", i)
		}
		if x.Wrote {
			wrote++
			if !strings.HasPrefix(x.RV, "rv ") && !strings.Contains(x.Text.String(), "Pod") {
				t.Errorf("a write without its version: %s", x.Text)
			}
		}
		loop, _, _ := strings.Cut(x.Text.String(), " ")
		loops[loop] = true
	}
	if wrote < 3 || !loops["Deployment"] {
		t.Errorf("%d of them wrote, in the loops %v", wrote, loops)
	}
}

// TestChainHasEverySyncOnce: a chain that comes together again names a sync once,
// and leaves out timers that were taken before their time.
func TestChainHasEverySyncOnce(t *testing.T) {
	w, _ := told(t)
	s := w.server(nil)
	for _, kept := range w.journal.Of(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, source.HistoryRows) {
		seen := map[string]bool{}
		x := subjectOf(t, s, "/deployments/shop/web?sync="+words.Digits(kept.Seq))
		for _, step := range s.objects.CausesOf(x.Cursor).Steps {
			if id := step.At.String() + step.Text.String(); seen[id] {
				t.Fatalf("sync %d: %s stands there twice", kept.Seq, step.Text)
			} else {
				seen[id] = true
			}
			if step.At.After(x.Cursor.Started) {
				t.Errorf("sync %d came of something after it: %s", kept.Seq, step.Text)
			}
		}
	}
}

// TestRevisions shows what each revision changed, and no value that is masked.
func TestRevisions(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	r := w.rollout("web")
	r.begin()
	r.roll("registry.example/shop/web:3.4.0", 0)
	r.roll("registry.example/shop/web:3.5.0", 2)
	_, h := w.serve(nil)
	_, body := get(t, h.URL, "/deployments/shop/web")
	d := parse(t, body)
	sets := d.one("#f-sets")
	for _, want := range []string{"What 2 → 3 changed by kubectl at", "What 1 → 2 changed", "containers[web].image", "registry.example/shop/web:3.4.0", "registry.example/shop/web:3.5.0", "250m", "500m",
		"containers[web].env[CACHE_URL] changed, its value is not recorded"} {
		if !strings.Contains(sets, want) {
			t.Errorf("the revisions do not say %q: %s", want, sets)
		}
	}
	open := 0
	for _, n := range d.all("details.diff") {
		for _, a := range n.Attr {
			if a.Key == "open" {
				open++
			}
		}
	}
	if open != 1 {
		t.Errorf("%d of the changes are open, want the newest", open)
	}
}

// TestEverySyncIsListed counts the syncs of the bursts: none is lost between them.
func TestEverySyncIsListed(t *testing.T) {
	w, base := told(t)
	object := telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}
	kept := w.journal.Of(object, source.HistoryRows)
	_, twin := get(t, base, "/deployments/shop/web.json?all")
	var read struct {
		Page struct {
			Syncs    []struct{ Syncs int }
			SyncsAll *views.Link
		}
	}
	if err := json.Unmarshal([]byte(twin), &read); err != nil {
		t.Fatal(err)
	}
	all := read.Page
	n := 0
	for _, row := range all.Syncs {
		n += row.Syncs
	}
	if n != len(kept) || all.SyncsAll != nil {
		t.Errorf("%d of %d syncs are listed", n, len(kept))
	}
	_, body := get(t, base, "/deployments/shop/web")
	d := parse(t, body)
	if got := d.one("#f-syncs"); !strings.Contains(got, "Syncs of this rollout") || !strings.Contains(got, "earlier sync") {
		t.Errorf("the page of the rollout does not say what it leaves out: %.300s", got)
	}
}

// TestStepsKeepWhatIsShown: a step, or another window, neither folds the list of syncs up nor
// takes the lane of a pod away.
func TestStepsKeepWhatIsShown(t *testing.T) {
	_, base := told(t)
	const pod = "web-5f4bd6c97d-x&sync=1#a"
	_, body := get(t, base, "/deployments/shop/web?all=&window=6h&pod="+url.QueryEscape(pod))
	steps, windows := 0, 0
	for _, a := range parse(t, body).all("a") {
		u, err := url.Parse(attr(a, "href"))
		if err != nil || u.Path != "/deployments/shop/web" {
			continue
		}
		args := u.Query()
		switch {
		case args.Has("sync"):
			steps++
		case args.Has("window"), text(a) == "automatic":
			windows++
		default:
			continue
		}
		if !args.Has("all") || args.Get("pod") != pod || len(args["sync"]) > 1 {
			t.Errorf("%s leads to %s", text(a), u)
		}
	}
	if steps < 10 || windows < 3 {
		t.Errorf("%d links to syncs, %d to other windows", steps, windows)
	}
	_, body = get(t, base, "/deployments/shop/web")
	if strings.Contains(body, "?all=&amp;epoch") || strings.Contains(body, "pod=") {
		t.Error("links ask for what the page does not show")
	}
}

// TestEveryQuestionIsExplained follows the link of every question of a path,
// which works without script.
func TestEveryQuestionIsExplained(t *testing.T) {
	_, base := told(t)
	_, body := get(t, base, "/deployments/shop/web")
	explained := map[string]bool{}
	_, diagram := get(t, base, "/decisions/deployment")
	for _, n := range parse(t, diagram).all("li") {
		explained[attr(n, "id")] = true
	}
	links := 0
	for _, a := range parse(t, body).all("a") {
		page, id, ok := strings.Cut(attr(a, "href"), "#")
		if !ok || !strings.HasPrefix(page, "/decisions/") {
			continue
		}
		links++
		if page != "/decisions/deployment" || !explained[id] {
			t.Errorf("%s#%s explains nothing", page, id)
		}
	}
	if links < 30 {
		t.Errorf("only %d questions lead to their explanation", links)
	}
}

// TestForecastIsOnThePage: which pod dies next, and why, without a scale-down.
func TestForecastIsOnThePage(t *testing.T) {
	w, base := told(t)
	for _, set := range w.journal.Board().Children("replicaset", "shop", "web") {
		snap, err := facts.ReplicaSet(testLoops, set)
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Pods) < 2 {
			continue
		}
		f := object.Forecast(set, snap, storyNow)
		_, body := get(t, base, address.Of(set.Object))
		next := parse(t, body).one("#next")
		for _, x := range f.Pods[:2] {
			if !strings.Contains(next, x.Own) || !strings.Contains(next, x.Why.At(storyNow)) || len(x.Facts) < 8 {
				t.Errorf("%s goes because it %s, and the page says: %s", x.Own, x.Why, next)
			}
		}
		return
	}
	t.Fatal("no ReplicaSet of the story has two pods")
}

// TestReplayLine is a command of this program that names this sync alone.
func TestReplayLine(t *testing.T) {
	w, base := told(t)
	newest, _ := w.journal.Board().Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"})
	_, body := get(t, base, address.Sync(newest))
	for _, want := range []string{"loopscope export --loop deployment --namespace shop --name web --since " + newest.Started.UTC().Format(time.RFC3339Nano), "loopscope replay sync-"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestPastSyncsSayWhatTheySaid: the sentence at the top is of now, that of the
// sync under the cursor stands beside it.
func TestPastSyncsSayWhatTheySaid(t *testing.T) {
	w, base := told(t)
	kept := w.journal.Of(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, source.HistoryRows)
	for i, x := range []*telemetry.Trace{kept[0], kept[len(kept)-1]} {
		_, body := get(t, base, "/deployments/shop/web?sync="+words.Digits(x.Seq))
		said := "Sentence at the time: " + x.Sentence.At(x.Ended)
		if step := parse(t, body).one("#f-step"); strings.Contains(step, said) != (i == 0) {
			t.Errorf("sync %d: the stepper says\n%s\nand %q is there: %v", x.Seq, step, said, i != 0)
		}
	}
}

// TestTimerLeftOver: of a Deployment for which no deadline runs any more nobody announces one, and of one
// that is gone there are neither numbers nor timers.
func TestTimerLeftOver(t *testing.T) {
	w := newWorld(t, storyNow.Add(-9*time.Minute))
	r := w.rollout("web")
	r.begin()
	_, h := w.serve(nil)
	numbers := func() (list []string) {
		var twin struct {
			Page struct {
				Head struct{ Numbers []struct{ Label string } }
			}
		}
		_, raw := get(t, h.URL, "/deployments/shop/web.json")
		if err := json.Unmarshal([]byte(raw), &twin); err != nil {
			t.Fatal(err)
		}
		for _, n := range twin.Page.Head.Numbers {
			list = append(list, n.Label)
		}
		return list
	}
	_, raw := get(t, h.URL, "/deployments/shop/web")
	last := parse(t, raw).one("#last")
	if !strings.Contains(last, "The next change triggers a sync. Otherwise one at 03:1") || !strings.Contains(last, "left over from sync ") || strings.Contains(last, "deadline") {
		t.Errorf("settled, it says %q", last)
	}
	if got := numbers(); len(got) == 0 || slices.Contains(got, "next sync") {
		t.Errorf("settled, it has the numbers %q", got)
	}
	s := r.snapshot()
	w.journal.Record(w.decideDeployment(&deployment.Snapshot{Version: s.Version, Now: w.now, Namespace: s.Namespace, Name: s.Name}, script{}))
	_, raw = get(t, h.URL, "/deployments/shop/web")
	if last := parse(t, raw).one("#last"); !strings.HasSuffix(last, "nothing to write. It is synced again when one of that name is created.") {
		t.Errorf("gone, it says %q", last)
	}
	if got := numbers(); len(got) > 0 {
		t.Errorf("gone, it has the numbers %q", got)
	}
}

// TestBrokenBound: more pods than there may be are shown as that.
func TestBrokenBound(t *testing.T) {
	w := newWorld(t, storyNow)
	s := largeDeployment(w.now, "own", 6)
	s.Want = 4
	w.journal.Record(w.decideDeployment(s, script{}))
	_, h := w.serve(nil)
	_, raw := get(t, h.URL, "/deployments/shop/own")
	d := parse(t, raw)
	if got := d.one("dd.wait"); got != "6 > 5" {
		t.Errorf("the number in colour is %q", got)
	}
	if legend := d.one("#f-scope"); !strings.Contains(legend, "6 > 5") || strings.Contains(legend, "6 ≤ 5") {
		t.Errorf("beside the picture it says %.600s", legend)
	}
}

// TestFrontKeepsItsQuery: the first list is asked for what the front was.
func TestFrontKeepsItsQuery(t *testing.T) {
	_, h := newWorld(t, storyNow).serve(nil)
	for path, want := range map[string]string{"/": "deployments", "/?theme=dark": "deployments?theme=dark", "/?q=web+is:failed": "deployments?q=web+is:failed"} {
		res, _ := get(t, h.URL, path)
		if got := res.Header.Get("Location"); res.StatusCode != http.StatusFound || strings.TrimPrefix(got, "/") != want {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
}

// TestDeploymentTellsWhatItsReplicaSetWasRefused: a ReplicaSet that may write neither pods nor its status is known to be
// refused from its own syncs alone, which the page of its Deployment tells.
func TestDeploymentTellsWhatItsReplicaSetWasRefused(t *testing.T) {
	const message = `pods is forbidden: User "loopscope" cannot create resource "pods" in API group "" in the namespace "shop"`
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	own := readScript(t, "../controllers/replicaset/testdata/golden/create.txtar")
	rs, err := replicaset.Decode(own.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	rs.UID, rs.Want, rs.Owner = "n", 4, "waiting-unreported"
	own.rounds[0].Outcomes = []decision.Outcome{{State: decision.Refused, Failed: 4, Failure: &decision.Failure{Code: 403, Reason: "Forbidden", Message: message}}}
	w.golden("deployment", "../controllers/deployment/testdata/golden/waiting-unreported.txtar", "shop")
	_, h := w.serve(nil)
	read := func() string {
		_, body := get(t, h.URL, "/deployments/shop/waiting-unreported")
		return parse(t, body).one("#f-findings")
	}
	const refused = "cannot be created: loopscope has no permission to create pods here"
	if got := read(); strings.Contains(got, refused) || !strings.Contains(got, "no controller has reported on ReplicaSet web-7d4b9c6f5x") {
		t.Errorf("before its ReplicaSet was synced: %s", got)
	}
	w.journal.Record(w.decideReplicaSet(rs, own))
	if got := read(); !strings.Contains(got, "4 pods "+refused) || !strings.Contains(got, "auth can-i create pods") {
		t.Errorf("its ReplicaSet was refused, and it says %s", got)
	}
	rs.UID = "another"
	w.journal.Record(w.decideReplicaSet(rs, own))
	if got := read(); strings.Contains(got, refused) {
		t.Errorf("another ReplicaSet of that name was refused, and it says %s", got)
	}
}
