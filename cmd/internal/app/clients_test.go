package app

import (
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
