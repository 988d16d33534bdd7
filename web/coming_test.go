package web

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/live"
)

// workQueue is a queue of one loop with one key in it, as it stands in a test.
type workQueue struct {
	loop string
	now  atomic.Pointer[time.Time]
	key  atomic.Pointer[telemetry.KeyState]
}

func (q *workQueue) at(now time.Time) { q.now.Store(&now) }

func (q *workQueue) tells(o *Options) {
	o.Now = func() time.Time { return *q.now.Load() }
	o.Loops = func() []telemetry.LoopState {
		l := telemetry.LoopState{Name: q.loop, Mode: "act", Running: true}
		if k := q.key.Load(); k != nil {
			l.Queue.Keys = []telemetry.KeyState{*k}
		}
		return []telemetry.LoopState{l}
	}
}

// textOf is the text of a page without its markup.
func textOf(body string) string {
	text := strings.Join(strings.Fields(anyTag.ReplaceAllString(body, " ")), " ")
	return strings.NewReplacer(" .", ".", " ;", ";", " :", ":", " ,", ",").Replace(text)
}

// pageSays reads a page, which must say some things and not others.
func pageSays(t *testing.T, base, path string, status int, has, lacks []string) {
	t.Helper()
	res, body := get(t, base, path)
	text := textOf(body)
	if res.StatusCode != status {
		t.Errorf("%s: %s", path, res.Status)
	}
	for _, want := range has {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", path, want, text)
		}
	}
	for _, no := range lacks {
		if strings.Contains(text, no) {
			t.Errorf("%s says %q", path, no)
		}
	}
}

// An object whose first sync has not ended is not taken for one that does not exist: its page says where its
// key is, and a list that lacks it names it.
func TestFirstSyncHasNotEnded(t *testing.T) {
	w := newWorld(t, storyNow)
	other := plain("shop", "five")
	other.Loop = "replicationcontroller"
	w.journal.Record(other)
	q := &workQueue{loop: "replicationcontroller"}
	q.at(storyNow)
	_, h := w.serve(q.tells)
	const path = "/replicationcontrollers/default/four"
	pageSays(t, h.URL, path, http.StatusNotFound, []string{"Check the namespace and the spelling"}, nil)

	q.at(storyNow.Add(time.Minute))
	q.key.Store(&telemetry.KeyState{Key: "default/four", Phase: telemetry.KeyDirty, Since: storyNow.Add(50 * time.Second), Taken: storyNow.Add(48 * time.Second)})
	first := "The first sync of ReplicationController default/four has not ended yet."
	pageSays(t, h.URL, path, http.StatusNotFound, []string{first, "It has been processing for 12s."}, []string{"spelling", "No sync of"})
	if _, body := get(t, h.URL, path+".json"); !strings.Contains(body, `"first-sync"`) || !strings.Contains(body, "It has been processing for") {
		t.Errorf("as JSON: %s", body)
	}
	listed := "The first sync of default/four has not ended yet: it is listed then."
	pageSays(t, h.URL, "/replicationcontrollers?q=four", http.StatusOK, []string{"Nothing matches four.", listed}, nil)
	pageSays(t, h.URL, "/replicationcontrollers?q=six", http.StatusOK, []string{"Nothing matches six."}, []string{"default/four"})

	q.key.Store(&telemetry.KeyState{Key: "default/four", Phase: telemetry.KeyReady, Since: storyNow.Add(57 * time.Second)})
	pageSays(t, h.URL, path, http.StatusNotFound, []string{first, "It has been ready for 3s and waits for a free worker."}, []string{"spelling"})
}

// A list that is empty while first syncs are under way names one of them, and gives no first steps.
func TestListBeforeTheFirstSync(t *testing.T) {
	w := newWorld(t, storyNow)
	q := &workQueue{loop: "deployment"}
	q.at(storyNow)
	q.key.Store(&telemetry.KeyState{Key: "default/four", Phase: telemetry.KeyProcessing, Since: storyNow})
	_, h := w.serve(q.tells)
	pageSays(t, h.URL, "/deployments", http.StatusOK, []string{"No Deployment is listed yet.", "The first sync of default/four has not ended yet: it is listed then."},
		[]string{"has been synced since"})
}

// The page of a first sync follows its key, and the object once there is one.
func TestFirstSyncIsFollowed(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	q := &workQueue{loop: "deployment"}
	q.at(storyNow)
	q.key.Store(&telemetry.KeyState{Key: "shop/web", Phase: telemetry.KeyReady, Since: storyNow.Add(-time.Second)})
	_, h := w.serve(q.tells)
	conn := look(t, h.URL, "/deployments/shop/web")
	if first := ids(receive[live.Update](t, conn))["f-first"]; !strings.Contains(first, "waits for a free worker") {
		t.Fatalf("got %s", first)
	}
	q.at(storyNow.Add(time.Second))
	q.key.Store(&telemetry.KeyState{Key: "shop/web", Phase: telemetry.KeyProcessing, Since: storyNow, Taken: storyNow})
	for first := ""; !strings.Contains(first, "It has been processing for"); {
		first = ids(receive[live.Update](t, conn))["f-first"]
	}
	w.journal.Record(plain("shop", "web"))
	for head := ""; !strings.Contains(head, "settled"); {
		head = ids(receive[live.Update](t, conn))["f-head"]
	}
}

// TestBrowserFirstSync leaves the page of a first sync open until that has ended: it becomes that of the object.
func TestBrowserFirstSync(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow)
	w.pump()
	q := &workQueue{loop: "deployment"}
	q.at(storyNow)
	q.key.Store(&telemetry.KeyState{Key: "shop/web", Phase: telemetry.KeyProcessing, Since: storyNow, Taken: storyNow})
	_, h := w.serve(q.tells)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments/shop/web"))
	until(t, ctx, isLive)
	until(t, ctx, `document.querySelector('h1').innerText.includes('has not ended yet')`)
	w.journal.Record(plain("shop", "web"))
	until(t, ctx, `document.querySelector('#f-step') && document.querySelector('h1').innerText.includes('settled')`)
}

// While a sync is under way that takes long, what its object's page says is from before it: nothing on it
// passes for the present, and it changes when the key does.
func TestLongSync(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.pump()
	x := w.golden("replicaset", "../controllers/replicaset/testdata/golden/settled.txtar", "shop")
	taken := x.Ended.Add(time.Second)
	q := &workQueue{loop: "replicaset"}
	q.at(taken)
	_, h := w.serve(q.tells)
	path := address.Of(x.Object)
	idle := []string{"No timer is set: the next change triggers a sync.", "None: the cache shows every pod that it created or deleted.", "Its caches show every write that it made."}
	before := []string{"what is said here is from before that sync"}
	pageSays(t, h.URL, path, http.StatusOK, idle, before)
	conn := look(t, h.URL, path)
	receive[live.Update](t, conn)

	q.at(taken.Add(12 * time.Second))
	q.key.Store(&telemetry.KeyState{Key: x.Key(), Phase: telemetry.KeyDirty, Since: taken.Add(time.Second), Taken: taken})
	got := map[string]string{}
	for !strings.Contains(got["f-head"], before[0]) || !strings.Contains(got["f-expects"], "when it ends") {
		for id, html := range ids(receive[live.Update](t, conn)) {
			got[id] = html
		}
	}
	pageSays(t, h.URL, path, http.StatusOK, append(before, "It has been processing for 12s", "The sync that has not ended yet sets its own timers."), append(idle, "only a change triggers"))
	q.at(taken.Add(15 * time.Second))
	q.key.Store(&telemetry.KeyState{Key: x.Key(), Phase: telemetry.KeyReady, Since: taken.Add(12 * time.Second)})
	pageSays(t, h.URL, path, http.StatusOK, append(before, "It has been ready for 3s and waits for a free worker"), idle[:1])

	ended := *x // Its key is given back a moment later.
	ended.Started, ended.Ended = taken, taken.Add(14*time.Second)
	q.key.Store(&telemetry.KeyState{Key: x.Key(), Phase: telemetry.KeyProcessing, Since: taken, Taken: taken})
	q.at(taken.Add(17 * time.Second))
	w.journal.Record(&ended)
	pageSays(t, h.URL, path, http.StatusOK, idle, before)
}

// A key that is looked up only now and then may still be said to be ready when its sync has ended: that one
// does not come any more.
func TestSyncThatHasEndedDoesNotCome(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	x := w.golden("replicaset", "../controllers/replicaset/testdata/golden/settled.txtar", "shop")
	taken := x.Ended.Add(time.Minute)
	ended := *x
	ended.Started, ended.Ended = taken, taken.Add(50*time.Millisecond)
	w.journal.Record(&ended)
	q := &workQueue{loop: "replicaset"}
	q.at(taken.Add(100 * time.Millisecond))
	q.key.Store(&telemetry.KeyState{Key: x.Key(), Phase: telemetry.KeyReady, Since: taken.Add(-5 * time.Second)})
	_, h := w.serve(q.tells)
	pageSays(t, h.URL, address.Of(x.Object), http.StatusOK, []string{"No timer is set: the next change triggers a sync."}, []string{"It has been ready", "from before that sync"})
}

// A retry that is under way is not announced.
func TestLongRetry(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	x := w.golden("replicaset", "../controllers/replicaset/testdata/golden/create-webhook.txtar", "shop")
	q := &workQueue{loop: "replicaset"}
	q.at(x.Ended)
	_, h := w.serve(q.tells)
	pageSays(t, h.URL, address.Of(x.Object), http.StatusOK, []string{"has failed", "again in"}, nil)

	q.at(x.Ended.Add(time.Hour))
	q.key.Store(&telemetry.KeyState{Key: x.Key(), Phase: telemetry.KeyProcessing, Since: x.Ended.Add(time.Hour - 20*time.Second), Attempts: 9})
	pageSays(t, h.URL, address.Of(x.Object), http.StatusOK, []string{"had failed", "It has been processing for 20s: what is said here is from before that sync."}, []string{"again in", "in 0s", "Looks again"})
}

// The time of a sync that is under way goes on while the API server serves nobody.
func TestLongSyncInAnOutage(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	x := w.golden("replicaset", "../controllers/replicaset/testdata/golden/settled.txtar", "shop")
	q := &workQueue{loop: "replicaset"}
	q.at(x.Ended.Add(time.Minute))
	q.key.Store(&telemetry.KeyState{Key: x.Key(), Phase: telemetry.KeyProcessing, Since: x.Ended.Add(40 * time.Second)})
	_, h := w.serve(func(o *Options) {
		q.tells(o)
		o.Server = func() telemetry.ServerState { return telemetry.ServerState{Since: x.Ended.Add(30 * time.Second)} }
	})
	pageSays(t, h.URL, address.Of(x.Object), http.StatusOK, []string{"It has been processing for 20s"}, nil)
}
