package web

import (
	"strings"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/words"
)

// What a cluster can put where a page shows it: whoever writes an image, a
// message of a pod or a field manager chooses every character of it.
const (
	markup  = `"'><img src=x onerror="window.hostile=1"><script>window.hostile=2</script><svg onload="window.hostile=3"><a href="javascript:window.hostile=4">click</a>`
	control = "bell\a back\b null\x00 escape\x1b[31m bom\ufeff zero\u200bwidth"
	turned1 = "\u202egpj.exe\u202c \u2067mirrored\u2069"
	scheme  = "javascript:window.hostile=5"
)

// hostileRollout is a stuck rollout, decided by the loop itself, in which
// everything that a cluster may choose is hostile.
func hostileRollout(w *world) *rollout {
	r := w.rollout("hostile")
	r.begin()
	w.now = storyNow.Add(-16 * time.Minute)
	r.roll("registry.example/"+markup+turned1, 3)
	return r
}

// hostileTraces are syncs of objects with names as long as can be, of which all
// texts are hostile.
func hostileTraces(w *world) []*telemetry.Trace {
	long := strings.Repeat("very-long-name.", 16) + strings.Repeat("x", 13)
	count := 2_000 // Still 300 KB, where what is recorded of a message has 2. A page with five times as much takes Chromium 8 s.
	if everyLook() {
		count = 10_000
	}
	lines := strings.Repeat("a line of a message "+markup+"\n", count)
	var list []*telemetry.Trace
	for i, text := range []string{markup, control, turned1, scheme, lines, long} {
		name := long
		if i > 0 {
			name = "hostile-" + words.Digits(i)
		}
		x := plain("shop", name)
		x.Sentence.Tone, x.Sentence.State = decision.ToneWaiting, "waiting"
		x.Causes = []telemetry.Cause{{Kind: telemetry.CauseModified, Object: "Pod " + text, Manager: text, Fields: []decision.Change{{Field: "metadata.annotations." + text, From: scheme, To: text}}}}
		x.Failure = &decision.Failure{Reason: "Invalid", Message: text}
		x.Sentence.Lead = decision.Words{}.Say("it says ").Quote(text).Name(long)
		x.Sentence.Then = decision.Words{}.Quote(text)
		x.Rounds = []decision.Round{{Verdict: decision.Verdict{Path: decision.Path{{Question: "RR-3", Answer: text, Facts: []decision.Fact{decision.Text("image", text)}}},
			Held: []decision.Held{{Code: "readiness", Question: "RR-3", Target: decision.Ref{Kind: "ReplicaSet", Name: long},
				Blockers: []decision.Blocker{{Kind: "Pod", Name: long, Reason: text, Message: text}}}}}}}
		w.journal.Record(x)
		list = append(list, x)
	}
	return list
}

// hostileQueues gives every key and object the longest name there can be.
func hostileQueues(loops []telemetry.LoopState) []telemetry.LoopState {
	long := strings.Repeat("very-long-name.", 16) + strings.Repeat("x", 13)
	for _, l := range loops {
		for i := range l.Queue.Keys {
			k := &l.Queue.Keys[i]
			k.Key = "shop/" + long
			for j := range k.Causes {
				k.Causes[j].Object, k.Causes[j].Manager = "ReplicaSet "+long, markup
			}
		}
		for i := range l.Echoes {
			l.Echoes[i].Object = "Deployment shop/" + long
		}
		for i := range l.Expectations {
			l.Expectations[i].Key = "shop/" + long
		}
	}
	return loops
}

// TestBrowserHostile shows hostile data in Chromium: nothing of it runs or
// becomes an element, all of it can be read, and the layout holds on a phone.
func TestBrowserHostile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	hostileRollout(w)
	traces := hostileTraces(w)
	w.pump()
	_, h := w.serve(func(o *Options) { o.Loops = func() []telemetry.LoopState { return hostileQueues(w.loops()) } })
	ctx := browser(t)
	c := listen(t, ctx)
	dialogs := 0
	if err := chromedp.Listen(ctx, func(ev any) {
		if _, is := ev.(*cdppage.EventJavascriptDialogOpening); is {
			dialogs++
		}
	}); err != nil {
		t.Fatal(err)
	}
	set := w.journal.Board().Children("replicaset", "shop", "hostile")[0]
	stuck, _ := w.journal.Board().Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "hostile"})
	paths := map[string]string{"/deployments": "hostile", "/queues": "", "/decisions/deployment": "", "/history?q=ns:shop": "hostile",
		address.Of(stuck.Object): "onerror=", address.Sync(stuck): "onerror=", address.Of(stuck.Object) + "/story": "registry.example/", address.Sync(stuck) + "/chain": "",
		address.Of(stuck.Object) + "/what-if": "hostile", address.Of(set.Object): "onerror=", address.Sync(set): "onerror=",
		"/deployments?q=" + "%3Cimg%20src=x%20onerror=%22window.hostile=1%22%3E": "onerror="}
	for _, x := range traces {
		paths[address.Of(x.Object)], paths[address.Sync(x)] = "it says", "it says"
	}
	for path, says := range paths {
		do(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(h.URL+path+mark(path)+"still"))
		for _, bad := range run(t, ctx, chromedp.Evaluate[[]string](injectedScript)) {
			t.Errorf("%s: %s", prose.Clip(path, 80), bad)
		}
		if !strings.Contains(strings.ToLower(run(t, ctx, chromedp.Evaluate[string](`document.querySelector('main').textContent`))), says) {
			t.Errorf("%s does not show %q", prose.Clip(path, 80), says)
		}
		for _, width := range []int64{1440, 400} {
			do(t, ctx, chromedp.EmulateViewport(width, 900))
			for _, bad := range run(t, ctx, chromedp.Evaluate[[]string](cutScript)) {
				t.Errorf("%s at %d: %s", prose.Clip(path, 80), width, prose.Clip(bad, 200))
			}
		}
	}
	if dialogs > 0 {
		t.Errorf("%d dialogs opened", dialogs)
	}
	c.none(t)
}

// mark goes before another argument of an address.
func mark(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// injectedScript names what only hostile data could have made.
const injectedScript = `(() => {
	const bad = []
	if (window.hostile) bad.push('script ran: ' + window.hostile)
	for (const e of document.querySelectorAll('img,iframe,object,embed,[onerror],[onload],[onclick],script:not([src])')) bad.push('injected: ' + e.outerHTML.slice(0, 80))
	for (const e of document.querySelectorAll('[href],[src],[action]')) {
		const to = e.getAttribute('href') || e.getAttribute('src') || e.getAttribute('action')
		if (new URL(to, location).origin !== location.origin) bad.push('leads away: ' + to.slice(0, 80))
		if (e.src && !new URL(e.src).pathname.startsWith('/static/')) bad.push('loaded: ' + e.src)
	}
	return bad
})()`
