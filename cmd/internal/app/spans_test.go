package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/loopscope/loopscope/telemetry"
)

// A sync that ended before Stop is sent before Stop returns, and counted.
func TestSpansAreSent(t *testing.T) {
	paths := make(chan string, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths <- r.URL.Path }))
	defer receiver.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.journal.Record(&telemetry.Trace{Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, Started: time.Now(), Ended: time.Now()})
	stop(t, a)
	if len(paths) != 1 || <-paths != "/v1/traces" {
		t.Errorf("the receiver was asked %d more times", len(paths))
	}
	if err := testutil.GatherAndCompare(a.registry, strings.NewReader(`
# HELP loopscope_otlp_spans_exported_total Spans that the OpenTelemetry receiver took.
# TYPE loopscope_otlp_spans_exported_total counter
loopscope_otlp_spans_exported_total 1
`), "loopscope_otlp_spans_exported_total"); err != nil {
		t.Error(err)
	}
}

// A receiver that is not there does not make the program fail.
func TestSpansToNobody(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", nowhere().Host)
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop(t, a)
}

func TestNewRefusesABadEnvironment(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")
	if _, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_ENDPOINT") {
		t.Errorf("error = %v, want one that names the variable", err)
	}
}
