package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
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

// deployed is what is meant for users' Prometheus and Grafana.
const deployed = "../../../deploy/"

// TestPrometheusScrapes has a real Prometheus scrape the console, and asks it.
func TestPrometheusScrapes(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	api := startPrometheus(t, strings.TrimPrefix(plane.Dashboard, "http://"), shippedRules(t), impatientRules(t))
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
	t.Run("rules", func(t *testing.T) { rulesAreEvaluated(t, api) })
	t.Run("alert", func(t *testing.T) { stuckRolloutAlerts(t, api) })
	t.Run("dashboards", func(t *testing.T) { dashboardsFindSeries(t, api) })
	status, text := fetch(t, plane.Dashboard+"/metrics", "Accept", "application/openmetrics-text; version=1.0.0")
	if status != 200 || !strings.Contains(text, `# {sync_id="`) {
		t.Errorf("/metrics as OpenMetrics: status %d, no exemplar with a sync", status)
	}
}

// shippedRules is the file of alert rules as it is.
func shippedRules(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs(deployed + "rules/loopscope.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// impatientRules is a copy in which a rollout is stuck after seconds.
func impatientRules(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(shippedRules(t))
	if err != nil {
		t.Fatal(err)
	}
	const patient = "(loopscope_stuck_seconds{controller!=\"lease\"}) > 600\n    for: 1m\n"
	if strings.Count(string(text), patient) != 1 {
		t.Fatalf("the rule of stuck rollouts is not as this test knows it: %q", patient)
	}
	file := filepath.Join(t.TempDir(), "impatient.yaml")
	text = []byte(strings.Replace(string(text), patient, "(loopscope_stuck_seconds) > 5\n    for: 2s\n", 1))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// rulesAreEvaluated waits until Prometheus has evaluated every rule, without an error.
func rulesAreEvaluated(t *testing.T, api string) {
	testplane.Until(t, time.Minute, "the evaluation of every rule", func() error {
		var answer struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := answerOf(api+"/api/v1/rules", &answer); err != nil {
			return err
		}
		found := 0
		for _, g := range answer.Groups {
			for _, r := range g.Rules {
				if found++; r.Health != "ok" {
					return fmt.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
				}
			}
		}
		if found < 20 {
			return fmt.Errorf("only %d rules are loaded", found)
		}
		return nil
	})
}

// stuckRolloutAlerts: the demo has a Deployment whose image does not exist, and
// none of the other alerts has a reason to fire.
func stuckRolloutAlerts(t *testing.T, api string) {
	testplane.Until(t, 3*time.Minute, "the alert of the stuck rollout", func() error {
		n, err := ask(t, api, `ALERTS{alertname="LoopscopeRolloutStuck",alertstate="firing",controller="deployment",code="image-pull"}`)
		if err == nil && n == 0 {
			err = errors.New("it does not fire")
		}
		return err
	})
	for _, other := range []string{"LoopscopePanic", "LoopscopeDown", "LoopscopeCacheNotFilled", "LoopscopeStaleCache", "LoopscopeHistoryIncomplete", "LoopscopeSpansNotSent"} {
		if n, err := ask(t, api, fmt.Sprintf(`ALERTS{alertname=%q,alertstate="firing"}`, other)); n != 0 || err != nil {
			t.Errorf("%s fires: %d, %v", other, n, err)
		}
	}
}

var (
	// grafana stands in for the variables that Grafana fills in.
	grafana = strings.NewReplacer("$__rate_interval", "30s", "$instance", ".*")
	quoted  = regexp.MustCompile(`"[^"]*"`)
	named   = regexp.MustCompile(`\b(?:loopscope|workqueue|rest_client|process)_[a-z0-9_]+`)
)

// dashboardsFindSeries asks every query of every panel, and for every metric in
// them. A query may find nothing, where all is well; a metric may not.
func dashboardsFindSeries(t *testing.T, api string) {
	files, err := filepath.Glob(deployed + "dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	asked, found := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Panels []struct{ Targets []struct{ Expr string } }
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				n, err := ask(t, api, grafana.Replace(target.Expr))
				if err != nil {
					t.Errorf("%s: %v", target.Expr, err)
				}
				if asked++; n > 0 {
					found++
				}
				for _, name := range named.FindAllString(quoted.ReplaceAllString(target.Expr, ""), -1) {
					if slices.Contains([]string{"loopscope_shadow_compared_total", "loopscope_shadow_decisions_total", "loopscope_shadow_left_out_total"}, name) {
						continue // Only a process that watches has them.
					}
					if n, err := ask(t, api, name); n == 0 || err != nil {
						t.Errorf("%s: %d series of %s, %v", target.Expr, n, name, err)
					}
				}
			}
		}
	}
	t.Logf("%d of %d queries found something", found, asked)
	if asked < 40 || found < asked*3/4 {
		t.Errorf("only %d of %d queries found something", found, asked)
	}
}

// startPrometheus runs Debian's prometheus with these files of rules until the
// test ends and returns the address of its API.
func startPrometheus(t *testing.T, target string, rules ...string) string {
	t.Helper()
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("no prometheus found: run make deps, or install Debian's prometheus package")
	}
	dir := t.TempDir()
	config := fmt.Sprintf("global: {evaluation_interval: 1s}\nrule_files: [%s]\nscrape_configs:\n- job_name: loopscope\n  scrape_interval: 1s\n  static_configs:\n  - targets: [%q]\n",
		strings.Join(rules, ", "), target)
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

// portsTried counts the ports that were tried; each test process begins with another one.
var portsTried atomic.Int64

// freeAddress is a loopback address that is free. It is none of those that the system gives
// to whoever asks for any, nor of a sandbox, nor one that was given to another test before, so
// that it stays free until it is used.
func freeAddress(t *testing.T) string {
	t.Helper()
	syscall.ForkLock.RLock() // A program that is being started would have the listener for a moment, too.
	defer syscall.ForkLock.RUnlock()
	for range 100 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 11_000+(int64(os.Getpid())*16+portsTried.Add(1))%9_000))
		if err == nil {
			defer listener.Close()
			return listener.Addr().String()
		}
	}
	t.Fatal("100 ports from 11000 to 19999 are in use")
	return ""
}

// ask returns how many series a query finds.
func ask(t *testing.T, api, query string) (int, error) {
	t.Helper()
	var answer struct{ Result []json.RawMessage }
	err := answerOf(api+"/api/v1/query?query="+url.QueryEscape(query), &answer)
	return len(answer.Result), err
}

// answerOf reads the data of an answer of Prometheus' API.
func answerOf(address string, data any) error {
	response, err := console.Get(address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("status %s: %w", response.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	return nil
}
