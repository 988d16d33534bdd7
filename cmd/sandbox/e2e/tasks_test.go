package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/telemetry"
)

// onScreen is the text of main that a reader sees without scrolling.
const onScreen = `(() => {
	const seen = [], walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const r = document.createRange()
		r.selectNodeContents(n)
		const b = r.getBoundingClientRect()
		if (b.width && b.top >= 0 && b.bottom <= innerHeight && n.parentElement.checkVisibility()) seen.push(n.data)
	}
	return seen.join(' ').replace(/\s+/g, ' ')
})()`

// TestSixTasks opens one page of the running sandbox for each question that
// people come with, and finds the answer on its first screen at 1440 by 900. It
// says how long each took, from asking for the page to reading the answer.
func TestSixTasks(t *testing.T) {
	plane := ownPlane(t)
	client := clientOf(t, plane.Plane)
	waitFor(t, client, "demo", "stuck", "stuck rollout", updated(1))
	testplane.Until(t, time.Minute, "an explanation of the stuck image", func() error { return explains(t, plane.Kubeconfig) })
	stuck := plane.Dashboard + "/deployments/demo/stuck"
	wrote := wroteSize(t, plane.Dashboard)
	set := plane.Dashboard + "/replicasets/demo/" + healthySet(t, plane.Dashboard)
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1440, 900)); err != nil {
		t.Fatal(err)
	}
	for _, task := range []struct {
		asks, page string
		says       []string // any of several words, with | between
	}{
		{"why is it stuck", stuck, []string{"cannot pull nginx:404", "Held back"}},
		{"which event triggered the last sync", stuck, []string{"triggered by", "rv "}},
		{"when is the next retry", stuck, []string{"Looks again at"}},
		{"what did it do at " + wrote.Started.UTC().Format("15:04:05"), stuck + "?at=" + url.QueryEscape(wrote.Started.Add(time.Millisecond).UTC().Format(time.RFC3339Nano)),
			[]string{fmt.Sprintf("Sync %d", wrote.Seq), "written"}},
		{"what would maxUnavailable 50 % change", stuck + "/what-if?maxUnavailable=50%25", []string{"With maxUnavailable 50%", "stay available instead of 3"}},
		// They are alike, but for the second in which they were created or got ready.
		{"which pod dies next on scale-down, and why", set, []string{"Next to be deleted", "so the UIDs decide|has been ready for a shorter time|is younger"}},
	} {
		began := time.Now()
		if err := chromedp.Do(ctx, chromedp.Navigate(task.page)); err != nil {
			t.Fatalf("open %s: %v", task.page, err)
		}
		seen := evaluate[string](t, ctx, onScreen)
		took := time.Since(began)
		for _, want := range task.says {
			if !slices.ContainsFunc(strings.Split(want, "|"), func(words string) bool { return strings.Contains(seen, words) }) {
				t.Errorf("%s: the first screen of %s does not say %q: %s", task.asks, task.page, want, seen)
			}
		}
		t.Logf("%s: read after %s", task.asks, took.Round(time.Millisecond))
	}
}

// exported reads the syncs of an object that the console keeps.
func exported(t *testing.T, base, query string) []*telemetry.Trace {
	t.Helper()
	res, err := http.Get(base + "/export.jsonl?" + query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var list []*telemetry.Trace
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var x telemetry.Trace
		if json.Unmarshal(lines.Bytes(), &x) == nil && x.Seq > 0 {
			list = append(list, &x)
		}
	}
	return list
}

// wroteSize is the newest sync of the stuck Deployment that wrote a ReplicaSet.
func wroteSize(t *testing.T, base string) *telemetry.Trace {
	t.Helper()
	list := exported(t, base, "loop=deployment&namespace=demo&name=stuck")
	for i := len(list) - 1; i >= 0; i-- {
		if wroteReplicaSet(list[i]) {
			return list[i]
		}
	}
	t.Fatalf("of %d syncs of demo/stuck none wrote a ReplicaSet", len(list))
	return nil
}

// healthySet is the ReplicaSet of the demo's healthy Deployment, which has three pods.
func healthySet(t *testing.T, base string) string {
	t.Helper()
	name := ""
	for _, x := range exported(t, base, "loop=replicaset&namespace=demo") {
		if strings.HasPrefix(x.Name, "healthy-") {
			name = x.Name
		}
	}
	if name == "" {
		t.Fatal("the healthy Deployment has no ReplicaSet that was looked at")
	}
	return name
}
