// Package deploy_test holds the dashboards and the alert rules against the
// metrics that there are, with the parser of a real Prometheus.
package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/metrics"
)

// rules is a file of alert rules.
type rules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var file rules
	unmarshal(t, "rules/loopscope.yaml", &file)
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 10 {
		t.Fatalf("found %d alerts", len(all))
	}
	return all
}

func unmarshal(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, file)), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("this needs promtool, and -short asks for no other program")
	}
	binary, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("no promtool found: run make deps, or install Debian's prometheus package")
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPromtoolTakesTheRules(t *testing.T) {
	promtool(t, ".", "check", "rules", "--lint=all", "--lint-fatal", "rules/loopscope.yaml")
}

func TestAlertsFireAndDoNotFire(t *testing.T) {
	promtool(t, "testdata", "test", "rules", "alerts.yaml")
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string `json:"alertname"`
				ExpAlerts []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	unmarshal(t, "testdata/alerts.yaml", &file)
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, x := range file.Tests {
		for _, of := range x.AlertRuleTest {
			if len(of.ExpAlerts) > 0 {
				fires[of.Alertname] = true
			} else {
				silent[of.Alertname] = true
			}
		}
	}
	for _, a := range alerts(t) {
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("%s: a test in which it fires = %v, in which it does not = %v", a.Alert, fires[a.Alert], silent[a.Alert])
		}
	}
}

// TestRunbooks: every alert has a section here, and every link leads somewhere.
func TestRunbooks(t *testing.T) {
	page, reasons := read(t, "README.md"), read(t, "../controllers/REASONS.md")
	const base = "https://github.com/loopscope/loopscope/blob/main/"
	for _, a := range alerts(t) {
		if !strings.Contains(page, "\n### "+a.Alert+"\n") {
			t.Errorf("%s has no section in README.md", a.Alert)
		}
		if a.Labels["severity"] == "" || a.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or no summary", a.Alert)
		}
		switch link := a.Annotations["runbook_url"]; {
		case link == base+"deploy/README.md#"+strings.ToLower(a.Alert):
		case strings.HasPrefix(link, base+"controllers/REASONS.md#{{"):
		default:
			t.Errorf("%s links to %q", a.Alert, link)
		}
	}
	for _, link := range regexp.MustCompile(`REASONS\.md#([a-z-]+)`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(reasons, `<a id="`+link[1]+`">`) {
			t.Errorf("README.md links to %s, which is not there", link[0])
		}
	}
}

// TestEveryStuckReasonHasARunbook: what the link of LoopscopeRolloutStuck makes of a loop and any code
// that its sentences may have is one section.
func TestEveryStuckReasonHasARunbook(t *testing.T) {
	text := read(t, "../controllers/REASONS.md")
	shared := diagnosis.Codes.List
	for _, of := range telemetry.WorkerReasons {
		if of.Kind == "sentence" {
			shared = append(slices.Clone(shared), of.List...)
		}
	}
	for scope, own := range map[string]decision.Reasons{"deployment": deployment.Codes, "replicaset": replicaset.Codes, "rollingupdate": rollingupdate.Codes} {
		for _, r := range append(slices.Clone(own.List), shared...) {
			if n := strings.Count(text, fmt.Sprintf("<a id=%q>", scope+"-sentence-"+r.Code)); n != 1 {
				t.Errorf("%d sections for %s of a %s", n, r.Code, scope)
			}
		}
	}
	if len(shared) < 30 {
		t.Errorf("only %d codes are shared", len(shared))
	}
}

// dashboard is what is looked at of a Grafana dashboard.
type dashboard struct {
	UID    string `json:"uid"`
	Title  string `json:"title"`
	Panels []struct {
		ID         int                            `json:"id"`
		Type       string                         `json:"type"`
		Title      string                         `json:"title"`
		Datasource struct{ UID string }           `json:"datasource"`
		GridPos    struct{ X, Y, W, H int }       `json:"gridPos"`
		Targets    []struct{ Expr, RefID string } `json:"targets"`
	} `json:"panels"`
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d dashboards: %v", len(files), err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		var d dashboard
		if err := json.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if all[file] = d; d.UID != strings.TrimSuffix(filepath.Base(file), ".json") || d.Title == "" {
			t.Errorf("%s has uid %q and title %q", file, d.UID, d.Title)
		}
	}
	return all
}

func TestDashboardsAreWhole(t *testing.T) {
	for file, d := range dashboards(t) {
		ids, taken := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			if ids[p.ID] {
				t.Errorf("%s: two panels have the id %d", file, p.ID)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %q lies on %q, or outside", file, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type != "row" && (p.Title == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0) {
				t.Errorf("%s: panel %d has title %q, source %q and %d queries", file, p.ID, p.Title, p.Datasource.UID, len(p.Targets))
			}
		}
	}
}

// TestAllInstancesAreLoopscopes: "All" is the instances that are listed, as other programs have queues and requests under
// the same names.
func TestAllInstancesAreLoopscopes(t *testing.T) {
	for file := range dashboards(t) {
		if strings.Contains(read(t, file), `"allValue"`) {
			t.Errorf("%s has a value of its own for all instances", file)
		}
	}
}

// grafana stands in for the variables that Grafana fills in.
var grafana = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*")

// queries are all expressions of all dashboards, filled in.
func queries(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, of := range p.Targets {
				list = append(list, grafana.Replace(of.Expr))
			}
		}
	}
	return list
}

// TestPromtoolTakesTheQueries has them parsed as recording rules.
func TestPromtoolTakesTheQueries(t *testing.T) {
	type recording struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var all []recording
	for i, q := range queries(t) {
		all = append(all, recording{fmt.Sprintf("query:%d", i), q})
	}
	file := filepath.Join(t.TempDir(), "queries.yaml")
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "queries", "rules": all}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, ".", "check", "rules", file)
}

// described is the labels of every metric that there can be. Prometheus itself
// adds job and instance, and a histogram has le.
func described(t *testing.T) map[string][]string {
	t.Helper()
	reg := prometheus.NewRegistry()
	if _, err := metrics.New(reg, metrics.Options{Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	descriptions := make(chan *prometheus.Desc)
	go func() { defer close(descriptions); reg.Describe(descriptions) }()
	// A Desc says what it is in its text alone.
	shape := regexp.MustCompile(`^Desc\{fqName: "([^"]+)".*constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	all := map[string][]string{}
	for d := range descriptions {
		m := shape.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("%s is described otherwise than this test knows", d)
		}
		labels := []string{"job", "instance", "le"}
		for _, pair := range strings.Split(m[2], ",") {
			name, _, _ := strings.Cut(pair, "=")
			labels = append(labels, name)
		}
		all[m[1]] = append(labels, strings.Split(m[3], ",")...)
	}
	return all
}

var (
	named    = regexp.MustCompile(`\b(?:loopscope|workqueue|rest_client|leader_election|process|go)_[a-z0-9_]+`)
	selected = regexp.MustCompile(`\b((?:loopscope|workqueue|rest_client|leader_election|process|go)_[a-z0-9_]+)\{([^{}]*)\}`)
	matched  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*["']`)
	quoted   = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	suffix   = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// TestMetricsExist: no rule and no panel asks for what is not there, and nothing
// of ours is there that nobody looks at.
func TestMetricsExist(t *testing.T) {
	there := described(t)
	looked := map[string]bool{}
	find := func(name string) (string, []string) {
		for _, n := range []string{name, suffix.ReplaceAllString(name, "")} {
			if labels, ok := there[n]; ok {
				return n, labels
			}
		}
		return "", nil
	}
	all := queries(t)
	for _, a := range alerts(t) {
		all = append(all, a.Expr)
	}
	for _, expr := range all {
		names := named.FindAllString(quoted.ReplaceAllString(expr, ""), -1)
		if len(names) == 0 {
			t.Errorf("%s asks for no metric", expr)
		}
		for _, name := range names {
			n, _ := find(name)
			if looked[n] = true; n == "" {
				t.Errorf("%s asks for %s, which there is not", expr, name)
			}
		}
		for _, s := range selected.FindAllStringSubmatch(expr, -1) {
			_, labels := find(s[1])
			for _, label := range matched.FindAllStringSubmatch(s[2], -1) {
				if !slices.Contains(labels, label[1]) {
					t.Errorf("%s: %s has no label %s", expr, s[1], label[1])
				}
			}
		}
	}
	for name := range there {
		if strings.HasPrefix(name, "loopscope_") && !looked[name] {
			t.Errorf("%s is on no dashboard and in no rule", name)
		}
	}
}
