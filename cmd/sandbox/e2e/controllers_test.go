package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestControllersInTwoProcesses: each loop can run in a process of its own, as --controllers
// says. Rollouts end as ever, and each console says what does not run there.
func TestControllersInTwoProcesses(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none"})
	deployments := startManager(t, plane.LoopscopeKubeconfig, "--history=off", "--controllers=deployment-controller", "--leader-elect-resource-name=loopscope-deployments")
	others := startManager(t, plane.LoopscopeKubeconfig, "--history=off", "--controllers=*,-deployment", "--concurrent_replicaset_syncs=2")
	plane.Kubectl(t, "create", "deployment", "web", "--image=nginx:1", "--replicas=3")
	plane.Kubectl(t, "rollout", "status", "deployment/web", "--timeout=60s")
	plane.Kubectl(t, "set", "image", "deployment/web", "nginx=nginx:2")
	plane.Kubectl(t, "rollout", "status", "deployment/web", "--timeout=60s")
	for url, want := range map[string]string{
		deployments.Dashboard + "/deployments":                  "The only Deployment needs no action.",
		deployments.Dashboard + "/debug/controllers/replicaset": `"mode": "off"`,
		others.Dashboard + "/deployments":                       "The Deployment loop does not run here.",
		others.Dashboard + "/about":                             "leaves it out",
		others.Dashboard + "/debug/controllers/replicaset":      `"workers": 2`,
	} {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, %v, no %q in\n%s", url, res.Status, err, want, body)
		}
	}
}
