package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// wantedSeries are queries that must each find something after one scrape.
var wantedSeries = []string{
	`workqueue_depth{name="deployment"}`,
	`workqueue_adds_total{name="deployment"} > 0`,
	`workqueue_adds_total{name="replicaset"} > 0`,
	`workqueue_queue_duration_seconds_count{name="deployment"} > 0`,
	`workqueue_work_duration_seconds_count{name="deployment"} > 0`,
	`workqueue_retries_total`,
	`workqueue_unfinished_work_seconds`,
	`workqueue_longest_running_processor_seconds`,
	`rest_client_requests_total{code="200"} > 0`,
	`rest_client_requests_total{code="201",method="POST"} > 0`,
	`rest_client_request_duration_seconds_count > 0`,
	`rest_client_rate_limiter_duration_seconds_count > 0`,
	`loopscope_syncs_total{controller="deployment",outcome="wrote"} > 0`,
	`loopscope_syncs_total{controller="replicaset",outcome="wrote"} > 0`,
	`loopscope_sync_phase_duration_seconds_count{phase="observe"} > 0`,
	`loopscope_sync_phase_duration_seconds_count{phase="decide"} > 0`,
	`loopscope_sync_phase_duration_seconds_count{phase="act"} > 0`,
	`loopscope_sync_phase_duration_seconds_count{phase="settle"} > 0`,
}

// TestPrometheusScrapes has a real Prometheus scrape the console, and asks it.
func TestPrometheusScrapes(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	api := startPrometheus(t, strings.TrimPrefix(plane.Dashboard, "http://"))
	testplane.Until(t, time.Minute, "Prometheus's first scrape", func() error {
		n, err := ask(t, api, `up{job="loopscope"} == 1`)
		if err == nil && n == 0 {
			err = fmt.Errorf("the target is not up")
		}
		return err
	})
	for _, query := range wantedSeries {
		n, err := ask(t, api, query)
		if err != nil || n == 0 {
			t.Errorf("%s: %d series, %v", query, n, err)
		}
	}
	status, text := fetch(t, plane.Dashboard+"/metrics", "Accept", "application/openmetrics-text; version=1.0.0")
	if status != 200 || !strings.Contains(text, `# {sync_id="`) {
		t.Errorf("/metrics as OpenMetrics: status %d, no exemplar with a sync", status)
	}
}

// startPrometheus runs Debian's prometheus until the test ends and returns the
// address of its API.
func startPrometheus(t *testing.T, target string) string {
	t.Helper()
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("no prometheus found: run make deps, or install Debian's prometheus package")
	}
	dir := t.TempDir()
	config := fmt.Sprintf("scrape_configs:\n- job_name: loopscope\n  scrape_interval: 1s\n  static_configs:\n  - targets: [%q]\n", target)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := exec.Command(binary, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	var said strings.Builder
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start prometheus: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end: how does not matter
		if t.Failed() {
			t.Logf("prometheus said:\n%s", said.String())
		}
	})
	return "http://" + address
}

// freeAddress is a loopback address that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// ask returns how many series a query finds.
func ask(t *testing.T, api, query string) (int, error) {
	t.Helper()
	response, err := console.Get(api + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("status %s: %w", response.Status, err)
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	return len(answer.Data.Result), nil
}
