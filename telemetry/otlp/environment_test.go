package otlp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
)

const somewhere = "http://localhost:4318"

func TestOffUnlessAskedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		env map[string]string
		on  bool
	}{
		"nothing is set":              {nil, false},
		"an endpoint":                 {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere}, true},
		"an endpoint for traces":      {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": somewhere}, true},
		"an endpoint for metrics":     {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": somewhere}, false},
		"an empty endpoint":           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, false},
		"the SDK is disabled":         {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere, "OTEL_SDK_DISABLED": "TRUE"}, false},
		"the SDK is not disabled":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere, "OTEL_SDK_DISABLED": "false"}, true},
		"no exporter":                 {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere, "OTEL_TRACES_EXPORTER": "none"}, false},
		"the exporter":                {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere, "OTEL_TRACES_EXPORTER": "otlp"}, true},
		"the exporter, nowhere to go": {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, false},
		"a bad value, but off":        {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			only(t, tt.env)
			e, err := New(t.Context(), Options{Journal: telemetry.NewJournal(telemetry.JournalOptions{})})
			if err != nil || (e != nil) != tt.on {
				t.Errorf("exporter %v, %v; want one: %v", e, err, tt.on)
			}
		})
	}
}

// A wrong value is told by the name of its variable, before anything starts. The
// SDK would go on with a default.
func TestBadValues(t *testing.T) {
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(noPEM, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, value, want string }{
		{"OTEL_SDK_DISABLED", "yes", "true or false"},
		{"OTEL_TRACES_EXPORTER", "zipkin", "otlp or none"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "http/protobuf or grpc"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "carrier pigeon", "http/protobuf or grpc"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317", "http://localhost:4318"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://", "http://localhost:4318"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://[::1", "http://localhost:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://localhost", "http://localhost:4318"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=b,secret", "part 2 is not a header"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a b=c", "part 1 is not a header"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=%zz", "part 1 is not a header"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=b%0d%0ac", "part 1 is not a header"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "at least 0"},
		{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "-1", "at least 0"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "none or gzip"},
		{"OTEL_EXPORTER_OTLP_INSECURE", "1", "true or false"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/does/not/exist", "no such file"},
		{"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", noPEM, "no certificate in PEM form"},
		{"OTEL_EXPORTER_OTLP_CLIENT_KEY", noPEM, "give both or neither"},
		{"OTEL_BSP_SCHEDULE_DELAY", "0", "at least 1"},
		{"OTEL_BSP_EXPORT_TIMEOUT", "soon", "at least 0"},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "-5", "at least 1"},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "0", "at least 1"},
		{"OTEL_SPAN_EVENT_COUNT_LIMIT", "many", "at least -1"},
		{"OTEL_TRACES_SAMPLER", "jaeger_remote", "always_on"},
		{"OTEL_RESOURCE_ATTRIBUTES", "team", "key=value"},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			only(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere})
			t.Setenv(tt.name, tt.value)
			_, err := New(t.Context(), Options{Journal: telemetry.NewJournal(telemetry.JournalOptions{})})
			if err == nil || !strings.Contains(err.Error(), tt.name) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with the variable and %q", err, tt.want)
			}
			if is := fmt.Sprintf("opentelemetry: %s is %q: give ", tt.name, tt.value); err != nil && strings.Contains(err.Error(), `": give `) && !strings.HasPrefix(err.Error(), is) {
				t.Errorf("error %v, want it to begin with %s", err, is)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells the value of a header: %v", err)
			}
		})
	}
	for _, share := range []string{"NaN", "half", "-0.1", "1.1"} {
		only(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere, "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": share})
		want := fmt.Sprintf("opentelemetry: OTEL_TRACES_SAMPLER_ARG is %q: give a number from 0 to 1", share)
		if _, err := environment(); err == nil || err.Error() != want {
			t.Errorf("a sampler's share: %v", err)
		}
	}
	for _, c := range [][3]string{
		{"/none/cert", "", "give both or neither"}, {"", "/none/key", "give both or neither"}, {"/none/cert", "/none/key", "open /none/cert"}, {noPEM, noPEM, "PEM"},
	} {
		only(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": c[0], "OTEL_EXPORTER_OTLP_CLIENT_KEY": c[1]})
		const names = "opentelemetry: OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: "
		if _, err := environment(); err == nil || !strings.HasPrefix(err.Error(), names) || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("a certificate %q with the key %q: %v, want %q", c[0], c[1], err, c[2])
		}
	}
}

// TestGoodValues: the bounds are allowed.
func TestGoodValues(t *testing.T) {
	for _, c := range [][2]string{
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://localhost:4318"}, {"OTEL_EXPORTER_OTLP_TIMEOUT", "0"}, {"OTEL_EXPORTER_OTLP_COMPRESSION", "none"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, {"OTEL_EXPORTER_OTLP_INSECURE", "True"}, {"OTEL_BSP_SCHEDULE_DELAY", "1"},
		{"OTEL_BSP_EXPORT_TIMEOUT", "0"}, {"OTEL_SPAN_EVENT_COUNT_LIMIT", "-1"}, {"OTEL_TRACES_SAMPLER", "ALWAYS_OFF"}, {"OTEL_TRACES_SAMPLER", "traceidratio"},
		{"OTEL_TRACES_SAMPLER_ARG", "0"}, {"OTEL_TRACES_SAMPLER_ARG", "1"}, {"OTEL_TRACES_SAMPLER_ARG", "0.5"},
	} {
		only(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere, "OTEL_TRACES_SAMPLER": "traceidratio", c[0]: c[1]})
		if _, err := environment(); err != nil {
			t.Errorf("%s=%s: %v", c[0], c[1], err)
		}
	}
}

// only is the environment without any variable of OpenTelemetry but these.
func only(t *testing.T, env map[string]string) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
}

// FuzzHeaders proves that net/http would send what passes the check, and that a
// value is not told where it does not.
func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"a=b", "authorization=Basic%20c2VjcmV0,x-tenant=7", "a", "=b", "a=%zz", "a=b%0ac", "ü=1", "a=%C3%BC", ",", "a=b,"} {
		f.Add(s)
	}
	dialled := errors.New("dialled")
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, dialled }}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			return // No environment holds it.
		}
		const name = "OTEL_EXPORTER_OTLP_HEADERS"
		t.Setenv(name, text)
		if err := headers(name); err != nil {
			if !strings.HasPrefix(err.Error(), "opentelemetry: "+name+": part ") || len(err.Error()) > 150 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if strings.TrimSpace(text) == "" {
			return
		}
		request := httptest.NewRequest(http.MethodPost, somewhere, http.NoBody)
		for pair := range strings.SplitSeq(strings.TrimSpace(text), ",") {
			key, value, _ := strings.Cut(pair, "=")
			value, err := url.PathUnescape(value)
			if err != nil {
				t.Fatalf("%q passes the check: %v", text, err)
			}
			request.Header.Set(strings.TrimSpace(key), strings.TrimSpace(value))
		}
		if _, err := transport.RoundTrip(request); !errors.Is(err, dialled) {
			t.Errorf("%q passes the check, and net/http says: %v", text, err)
		}
	})
}
