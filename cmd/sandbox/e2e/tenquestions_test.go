package e2e_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestTenQuestions asks a process that only watches, beside the loops of Kubernetes, what people ask at
// three in the morning. Each answer stands on one page, where a browser shows it.
func TestTenQuestions(t *testing.T) {
	t.Parallel()
	plane := upstreamPlane(t)
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "three")
	m := startManager(t, plane.LoopscopeKubeconfig, "--watch", "--history=off")
	kubectl := func(args ...string) { t.Helper(); plane.Kubectl(t, append([]string{"-n", namespace}, args...)...) }
	kubectl("create", "deployment", "web", "--image=web:v1", "--replicas=4")
	kubectl("create", "deployment", "big", "--image=big:v1", "--replicas=2")
	kubectl("create", "deployment", "held", "--image=held:v1")
	for _, name := range []string{"web", "big", "held"} {
		waitSettled(t, client, namespace, name)
	}
	kubectl("rollout", "pause", "deployment/held")
	kubectl("set", "image", "deployment/held", "held=held:v2")
	kubectl("scale", "deployment/big", "--replicas=3")
	waitSettled(t, client, namespace, "big")
	kubectl("create", "quota", "few", "--hard=pods=12")
	kubectl("set", "image", "deployment/web", "web=nginx:404")
	page := func(name string) string { return m.Dashboard + "/deployments/" + namespace + "/" + name }
	stuck := func(address, want string) {
		t.Helper()
		testplane.Until(t, settleLimit, want, func() error {
			_, body := fetch(t, address+".json")
			if !strings.Contains(body, want) {
				return fmt.Errorf("%.500s", body)
			}
			return nil
		})
	}
	stuck(page("web"), "cannot pull")
	kubectl("scale", "deployment/big", "--replicas=12")
	stuck(page("big"), "quota")
	stuck(page("held"), "paused")
	set := strings.TrimSpace(plane.Kubectl(t, "-n", namespace, "get", "rs", "-l", "app=big", "-o", "jsonpath={.items[0].metadata.name}"))
	ctx := browser(t)
	for _, q := range []struct {
		asks, at string
		says     []string // regular expressions
	}{
		{"why is it stuck, and what unblocks it", page("web"), []string{"cannot pull nginx:404", "Held back", "unblocks when that image exists or the template changes"}},
		{"is anybody harmed: how many are available, of how many that must be", page("web"), []string{"available", "3 ≥ 3"}},
		{"does it go back by itself", page("web"), []string{"the progress deadline, which is only reported"}},
		{"who changed it, and what", page("web") + "/story", []string{"kubectl", "web:v1 → nginx:404"}},
		{"who does the work, and by which rule", page("big"), []string{"Who writes", "was changed by kube-controller-manager: spec.replicas 3 → 12", "here had decided the same|was written before a sync here could decide it"}},
		{"why are there no new pods", page("big"), []string{"quota few refuses", "when the quota leaves room"}},
		{"why does my change not roll out", page("held"), []string{"paused with a change pending"}},
		{"what would another maxUnavailable do", page("web") + "/what-if?maxUnavailable=" + url.QueryEscape("50%"), []string{"With maxUnavailable 50%"}},
		{"which pod goes next if I scale down", m.Dashboard + "/replicasets/" + namespace + "/" + set, []string{"Next to be deleted"}},
		{"does the controller of the cluster do what the rules say", m.Dashboard + "/shadow", []string{"agree"}},
	} {
		began := time.Now()
		if err := chromedp.Do(ctx, chromedp.Navigate(q.at)); err != nil {
			t.Fatalf("open %s: %v", q.at, err)
		}
		for _, want := range q.says {
			holds(t, ctx, time.Minute, fmt.Sprintf("document.querySelector('main')?.innerText.replace(/\\s+/g, ' ').match(%q)", want))
		}
		t.Logf("%s: %s", q.asks, time.Since(began).Round(time.Millisecond))
	}
}
