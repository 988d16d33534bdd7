package charttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// build is what kustomize makes of an overlay with these components.
func build(t *testing.T, overlay string, components []string) string {
	t.Helper()
	dir := t.TempDir()
	from := func(path string) string {
		absolute, err := filepath.Abs(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(dir, absolute)
		if err != nil {
			t.Fatal(err)
		}
		return relative
	}
	file := map[string][]string{"resources": {from("kustomize/overlays/" + overlay)}}
	for _, path := range components {
		file["components"] = append(file["components"], from(path))
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err = all.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// objects are those of a file, by "Kind namespace/name".
func objects(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, part := range strings.Split(text, "\n---\n") {
		o := read(t, []byte(part+"\n")) // The newline ends a text in it.
		if len(o) == 0 {
			continue
		}
		meta, is := o["metadata"].(map[string]any)
		if !is {
			t.Fatalf("there is no object in\n%s", part)
		}
		namespace, _ := meta["namespace"].(string)
		key := o["kind"].(string) + " " + namespace + "/" + meta["name"].(string)
		if all[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		all[key] = o
	}
	return all
}

// plain leaves out what Helm alone says of an object: who made it, and of which version.
func plain(o map[string]any) map[string]any {
	if labels, is := o["metadata"].(map[string]any)["labels"].(map[string]any); is {
		for _, name := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"} {
			delete(labels, name)
		}
	}
	return o
}

// TestSameObjects: the chart renders what kustomize builds, which makes the namespace besides.
func TestSameObjects(t *testing.T) {
	const components = "kustomize/components/"
	for name, x := range map[string]struct {
		overlay    string
		components []string
		namespace  string
		values     string
	}{
		"shadow":     {overlay: "shadow", namespace: "loopscope"},
		"manager":    {overlay: "manager", namespace: "loopscope", values: "mode: manager"},
		"namespaced": {overlay: "namespaced", namespace: "default", values: "mode: namespaced"},
		"shadow with everything": {overlay: "shadow", components: []string{components + "history-pvc", components + "tls", components + "prometheus", "dashboards"}, namespace: "loopscope",
			values: "{history: {persistent: true}, tls: {secretName: loopscope-tls}, serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}, dashboards: {enabled: true}}"},
		"manager with everything": {overlay: "manager", components: []string{components + "history-pvc-manager", components + "handover", components + "tls", components + "prometheus", "dashboards"}, namespace: "loopscope",
			values: "{mode: manager, history: {persistent: true}, leaderElection: {lease: kube-controller-manager}, tls: {secretName: loopscope-tls}, serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}, dashboards: {enabled: true}}"},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := render(x.namespace, read(t, []byte(x.values)))
			if err != nil {
				t.Fatal(err)
			}
			built, charted := objects(t, build(t, x.overlay, x.components)), objects(t, strings.ReplaceAll(rendered, "image: \"loopscope:latest\"", "image: loopscope"))
			delete(built, "Namespace /loopscope")
			for key, want := range built {
				if got := charted[key]; got == nil {
					t.Errorf("the chart has no %s", key)
				} else if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
					t.Errorf("%s: kustomize (-) and the chart (+) differ:\n%s", key, diff)
				}
			}
			for key := range charted {
				if built[key] == nil {
					t.Errorf("kustomize has no %s", key)
				}
			}
		})
	}
}
