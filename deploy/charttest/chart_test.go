package charttest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the goldens anew")

const chartDir = "../chart/loopscope"

// render is what `helm template loopscope` prints, in the order in which Helm installs it.
func render(namespace string, values map[string]any) (string, error) {
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		return "", err
	}
	all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: "loopscope", Namespace: namespace, Revision: 1, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", err
	}
	delete(files, "loopscope/templates/NOTES.txt")
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil || len(hooks) > 0 {
		return "", fmt.Errorf("%d hooks: %w", len(hooks), err)
	}
	var b strings.Builder
	for _, m := range manifests {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", m.Name, strings.TrimSpace(m.Content))
	}
	return b.String(), nil
}

// read reads values from YAML.
func read(t *testing.T, text []byte) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRenders: the goldens have every object of some values, which are beside them.
func TestRenders(t *testing.T) {
	all, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(all) < 6 {
		t.Fatalf("%d files of values: %v", len(all), err)
	}
	for _, path := range all {
		got, err := render("loopscope", read(t, readFile(t, path)))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		golden := strings.TrimSuffix(path, ".values.yaml") + ".yaml"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || string(want) != got {
			t.Errorf("%s is no longer what the chart renders: look at it with -update, and git diff (%v)", golden, err)
		}
	}
}

// TestFailingValues: wrong values are refused, in words that say what to do.
func TestFailingValues(t *testing.T) {
	const path = "testdata/failing.txtar"
	archive := txtar.Parse(readFile(t, path))
	for i := 0; i+1 < len(archive.Files); i += 2 {
		values, want := archive.Files[i], &archive.Files[i+1]
		name, _, _ := strings.Cut(values.Name, "/")
		if want.Name != name+"/error" {
			t.Fatalf("%s is followed by %s", values.Name, want.Name)
		}
		_, err := render("loopscope", read(t, values.Data))
		if err == nil {
			t.Errorf("%s is taken", name)
			continue
		}
		got := strings.TrimSpace(err.Error()) + "\n"
		if *update {
			want.Data = []byte(got)
		}
		if got != string(want.Data) {
			t.Errorf("%s: it says\n%s, want\n%s", name, got, want.Data)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(archive.Files) < 30 {
		t.Errorf("there are only %d cases", len(archive.Files)/2)
	}
}

// TestEveryValueIsInTheSchema: a value without a type is one that a slip of the pen passes.
func TestEveryValueIsInTheSchema(t *testing.T) {
	var schema struct{ Properties map[string]any }
	if err := yaml.Unmarshal(readFile(t, chartDir+"/values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	values := read(t, readFile(t, chartDir+"/values.yaml"))
	compare(t, "", values, schema.Properties)
}

func compare(t *testing.T, path string, values, properties map[string]any) {
	t.Helper()
	for name, value := range values {
		property, is := properties[name].(map[string]any)
		if !is {
			t.Errorf("%s%s is not in the schema", path, name)
			continue
		}
		inner, object := value.(map[string]any)
		if known, closed := property["properties"].(map[string]any); object && closed {
			compare(t, path+name+".", inner, known)
		}
	}
	for name := range properties {
		if _, is := values[name]; !is && name != "global" {
			t.Errorf("%s%s has no default in values.yaml", path, name)
		}
	}
}

// TestTwoReleases: releases of other names have no cluster-wide object in common.
func TestTwoReleases(t *testing.T) {
	names := func(name string) (list []string) {
		text, err := render("loopscope", map[string]any{"mode": "manager", "fullnameOverride": name})
		if err != nil {
			t.Fatal(err)
		}
		for key := range objects(t, text) {
			list = append(list, key)
		}
		return list
	}
	one, other := names("one"), names("other")
	for _, key := range one {
		if slices.Contains(other, key) {
			t.Errorf("both have %s", key)
		}
	}
}

// TestServiceIsFound: kubectl loopscope looks for a Service of this label, and a ServiceMonitor for
// those of its own, whatever the chart's objects are called.
func TestServiceIsFound(t *testing.T) {
	text, err := render("shop", read(t, []byte("{nameOverride: scope, fullnameOverride: mine, serviceMonitor: {enabled: true}}")))
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, text)
	labels := all["Service shop/mine"]["metadata"].(map[string]any)["labels"].(map[string]any)
	if labels["app.kubernetes.io/name"] != "loopscope" {
		t.Errorf("the Service has labels %v", labels)
	}
	wanted := all["ServiceMonitor shop/mine"]["spec"].(map[string]any)["selector"].(map[string]any)["matchLabels"].(map[string]any)
	for name, value := range wanted {
		if labels[name] != value {
			t.Errorf("the ServiceMonitor wants %s=%s of the Service, which has labels %v", name, value, labels)
		}
	}
	if len(wanted) == 0 {
		t.Error("the ServiceMonitor selects every Service")
	}
}
