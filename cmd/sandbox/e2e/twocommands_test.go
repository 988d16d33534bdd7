package e2e_test

import (
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// opens is the second of two commands: the first one installed the console, and `kubectl loopscope`
// shows by it what the cluster has, through the API server and the pod. What a kubelet would pull is
// here already, and the program started when the manifests were taken.
func (in *installed) opens(t *testing.T, ports kubelet) {
	t.Helper()
	at, err := url.Parse(in.base)
	if err != nil {
		t.Fatal(err)
	}
	ports[10257] = at.Host
	command := time.Now()
	here := startConsole(t, exec.Command(pluginIn(t, t.TempDir()), "--no-browser", "--listen=127.0.0.1:0"), "KUBECONFIG="+in.plane.Kubeconfig, "XDG_STATE_HOME="+t.TempDir())
	if said := here.said(); !strings.Contains(said, "The console of namespace "+in.namespace) {
		t.Fatalf("it says\n%s", said)
	}
	base, token, _ := strings.Cut(here.Dashboard, "/?token=")
	testplane.Until(t, settleLimit, "the console's own Deployment in the overview", func() error {
		return statusOf(base+"/deployments/"+in.namespace+"/loopscope.json?token="+token, http.StatusOK)
	})
	t.Logf("from `kubectl apply` to the overview: %.1f s, %.1f s of them since `kubectl loopscope`", time.Since(in.since).Seconds(), time.Since(command).Seconds())
	if err := here.stop(20 * time.Second); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
