package app

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/metrics"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWatchingRefusesWrites: no client of a process that watches sends anything
// but reads, whatever it is asked for.
func TestWatchingRefusesWrites(t *testing.T) {
	for method, passes := range map[string]bool{http.MethodGet: true, http.MethodHead: true, http.MethodPost: false, http.MethodPut: false, http.MethodPatch: false, http.MethodDelete: false} {
		request, err := http.NewRequestWithContext(t.Context(), method, "https://cluster/apis/apps/v1/deployments", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		next := &refusals{}
		response, err := readOnly{next}.RoundTrip(request)
		if response != nil {
			_ = response.Body.Close()
		}
		if (err == nil) != passes || (next.asked == 1) != passes {
			t.Errorf("%s: %v, sent %d times", method, err, next.asked)
		}
	}
	m, err := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Config: &rest.Config{Host: "https://127.0.0.1:1"}, Watch: true}.withDefaults()
	c, err := client(opts, m, "deployment-controller")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AppsV1().ReplicaSets("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "only watches") {
		t.Errorf("a client that watches deletes: %v", err)
	}
	cluster, err := newCluster(opts, m, telemetry.NewJournal(telemetry.JournalOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range cluster.states() {
		if l.Mode != "watch" {
			t.Errorf("the %s loop has the mode %q", l.Name, l.Mode)
		}
	}
}
