package app

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/telemetry/metrics"
)

// TestSurroundings: whoever watches one namespace alone asks for nothing outside of it.
func TestSurroundings(t *testing.T) {
	m, err := metrics.New(prometheus.NewRegistry(), metrics.Options{Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		watch     bool
		namespace string
		asks      bool
	}{{false, "", true}, {false, "shop", true}, {true, "", true}, {true, "shop", false}} {
		got, err := surroundings(Options{Config: &rest.Config{Host: "https://127.0.0.1:1"}, Watch: c.watch, Namespace: c.namespace}.withDefaults(), m)
		if err != nil || (got != nil) != c.asks {
			t.Errorf("watch %v, namespace %q: it asks = %v, %v", c.watch, c.namespace, got != nil, err)
		}
	}
}
