package app

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/telemetry/metrics"
)

// The API server signs every write with what the user agent begins with, and that is what
// our own writes are known by: a client that calls itself otherwise would be somebody else.
func TestClientsSignTheirRequests(t *testing.T) {
	m, err := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	given := &rest.Config{Host: "http://127.0.0.1:1", UserAgent: "somebody", QPS: 1, Burst: 1}
	for _, part := range []string{"informers", "probe", "console", "unblock", "deployment-controller", "replicaset-controller", "replication-controller"} {
		config := configOf(Options{Config: given, Version: "v1.2.3", QPS: 7, Burst: 9}.withDefaults(), m, part)
		if want := "loopscope/v1.2.3 " + part; config.UserAgent != want || strings.SplitN(config.UserAgent, "/", 2)[0] != program {
			t.Errorf("%s calls itself %q, want %q", part, config.UserAgent, want)
		}
		if config.ContentType != runtime.ContentTypeProtobuf || config.AcceptContentTypes != runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON {
			t.Errorf("%s speaks %s and takes %s", part, config.ContentType, config.AcceptContentTypes)
		}
		if !config.DisableCompression {
			t.Errorf("%s has its answers packed", part)
		}
		if got := config.RateLimiter.QPS(); got != 7 {
			t.Errorf("%s may send %v requests a second, want 7", part, got)
		}
	}
	if given.UserAgent != "somebody" || given.RateLimiter != nil {
		t.Error("the config that was given is changed")
	}
	json := configOf(Options{Config: given, ContentType: runtime.ContentTypeJSON}.withDefaults(), m, "informers")
	if json.ContentType != runtime.ContentTypeJSON || json.AcceptContentTypes != runtime.ContentTypeJSON {
		t.Errorf("one that is to speak JSON speaks %s and takes %s", json.ContentType, json.AcceptContentTypes)
	}
}

// The metrics of requests and of their rate limiter have the same host, so that they can be joined.
func TestMetricsNameOneHost(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	want := strings.TrimPrefix(server.URL, "http://")
	for _, given := range []string{server.URL, want, server.URL + "/behind/a/proxy"} {
		registry := prometheus.NewRegistry()
		m, err := metrics.New(registry, metrics.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := client(Options{Config: &rest.Config{Host: given}}.withDefaults(), m, "probe")
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Discovery().RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() // Any answer will do.
		for _, name := range []string{"rest_client_requests_total", "rest_client_rate_limiter_duration_seconds"} {
			if got := hostsOf(t, registry, name); !slices.Equal(got, []string{want}) {
				t.Errorf("of %s, %s has the hosts %q, want %q", given, name, got, want)
			}
		}
	}
	if got := hostOf(&rest.Config{Host: "https://a b"}); got != "https://a b" {
		t.Errorf("of what is no address the host is %q", got)
	}
}

// hostsOf are the hosts that a metric has a label for.
func hostsOf(t *testing.T, from prometheus.Gatherer, name string) (hosts []string) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "host" {
					hosts = append(hosts, label.GetValue())
				}
			}
		}
	}
	return hosts
}

// Each process draws its own resync period, from the least one to its double ([M-7]).
func TestResync(t *testing.T) {
	drawn := map[time.Duration]bool{}
	for range 100 {
		d := resyncPeriod(DefaultMinResync)
		if drawn[d] = true; d < 12*time.Hour || d >= 24*time.Hour {
			t.Errorf("drawn: %s", d)
		}
	}
	if len(drawn) < 50 {
		t.Errorf("of a hundred periods %d differ", len(drawn))
	}
}
