package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// explaining runs create or apply of a text with --explain, against this API server.
func explaining(t *testing.T, api http.Handler, text string, args ...string) (stdout string, err error) {
	t.Helper()
	server := httptest.NewServer(api)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "in.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, append(args, "-f", file, "--explain", "--validate=false", "--kubeconfig", contexts(t, server.URL), "--cache-dir", t.TempDir())...)
}

// TestExplainOfWhatCannotBeRead: that there is no Deployment is said where all was read, and alone then.
func TestExplainOfWhatCannotBeRead(t *testing.T) {
	const none = "No Deployment, ReplicaSet or ReplicationController is among the objects"
	const other, broken = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: [}\n"
	for _, c := range []struct {
		name, text string
		says       bool
		fails      string // "" for not
	}{
		{"none", other, true, ""},
		{"a Deployment with broken YAML", broken, false, "error parsing"},
		{"that beside another object", other + "---\n" + broken, false, "error parsing"},
		{"a kind that is not served", "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\n", false, "no matches for kind"},
		{"nothing", "", false, "no objects passed to create"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answerReads(w, r.URL.Path) })
			out, err := explaining(t, api, c.text, "create", "--dry-run=client")
			if strings.Contains(out, none) != c.says || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("it says %q, %v", out, err)
			}
		})
	}
}

// emptyCluster is an API server that takes dry runs of Deployments, and refuses pods with a message; "" for not.
type emptyCluster struct{ refuses string }

func (c emptyCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(code int, o any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(o)
	}
	_, resource, _ := strings.Cut(r.URL.Path, "/namespaces/shop/")
	switch {
	case r.URL.Path == "/apis":
		answer(200, json.RawMessage(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},{"name":"scheduling.k8s.io","versions":[{"groupVersion":"scheduling.k8s.io/v1","version":"v1"}]}]}`))
	case r.URL.Path == "/apis/scheduling.k8s.io/v1":
		answer(200, json.RawMessage(`{"kind":"APIResourceList","groupVersion":"scheduling.k8s.io/v1","resources":[{"name":"priorityclasses","kind":"PriorityClass","verbs":["create","get","patch","list"]}]}`))
	case r.URL.Path == "/apis/apps/v1":
		answer(200, json.RawMessage(`{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments","namespaced":true,"kind":"Deployment","verbs":["create","get","patch","list"]}]}`))
	case r.Method == http.MethodPost && resource == "pods" && c.refuses != "":
		answer(403, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": `pods "x" is forbidden: ` + c.refuses})
	case r.Method == http.MethodPost || r.Method == http.MethodPatch:
		var o struct {
			Kind       string         `json:"kind"`
			APIVersion string         `json:"apiVersion"`
			Metadata   map[string]any `json:"metadata"`
			Spec       any            `json:"spec"`
		}
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &o)
		if base, made := o.Metadata["generateName"].(string); made {
			o.Metadata["name"] = base + "kjcnd"
		}
		o.Metadata["uid"], o.Metadata["generation"] = "u", 1
		answer(201, o)
	case resource == "serviceaccounts":
		answer(200, json.RawMessage(`{"kind":"ServiceAccountList","apiVersion":"v1","items":[{"metadata":{"name":"default","namespace":"shop"}}]}`))
	case resource != "" && !strings.Contains(resource, "/"):
		answer(200, map[string]any{"items": []any{}})
	default:
		answerReads(w, r.URL.Path)
	}
}

// workloadNamed is a Deployment of so many pods.
func workloadNamed(meta, app, replicas string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: shop, " + meta + "}\nspec:\n  replicas: " + replicas + "\n  progressDeadlineSeconds: 600\n  selector: {matchLabels: {app: " + app + "}}\n" +
		"  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}\n  template:\n    metadata: {labels: {app: " + app + "}}\n    spec: {priorityClassName: vip, containers: [{name: main, image: web}]}\n---\n"
}

// TestExplainOfGeneratedNames: one of them is not in its own way, and no name is told that the API server will not give.
func TestExplainOfGeneratedNames(t *testing.T) {
	out, err := explaining(t, emptyCluster{}, workloadNamed("generateName: uni-", "uni", "1"), "create", "--dry-run=server")
	if err != nil || strings.Contains(out, "IN THE WAY") || !strings.Contains(out, "Deployment shop/uni-…, from ") || !strings.Contains(out, "shop/uni-… is settled") ||
		strings.Contains(strings.ReplaceAll(out, "deployment.apps/uni-kjcnd created", ""), "kjcnd") {
		t.Errorf("it says\n%s%v", out, err)
	}
	two := workloadNamed("generateName: uni-", "uni", "1") + workloadNamed("generateName: uni-", "uni", "1")
	out, err = explaining(t, emptyCluster{}, two, "create", "--dry-run=server")
	if err != nil || strings.Count(out, "IN THE WAY") != 2 || !strings.Contains(out, "Deployment uni-…: their selectors overlap") || !strings.Contains(out, "Deployment uni-…(2): their selectors overlap") {
		t.Errorf("of two of them it says\n%s%v", out, err)
	}
}

// TestExplainOfTheSameTwice: the second is not planned as if it were the only one.
func TestExplainOfTheSameTwice(t *testing.T) {
	twice := workloadNamed("name: d1", "d1", "3") + workloadNamed("name: d1", "d1", "5")
	for verb, want := range map[string]string{
		"create": "It cannot be planned: the input has it twice: the API server creates that of ",
		"apply":  "PLAN  none: the input changes it a second time, after ",
	} {
		out, err := explaining(t, emptyCluster{}, twice, verb, "--dry-run=server")
		if err != nil || strings.Count(out, "PLAN  if every new pod becomes ready") != 1 || strings.Count(out, want) != 1 || strings.Contains(out, "5 of 5") {
			t.Errorf("%s says\n%s%v", verb, out, err)
		}
	}
}

// TestExplainOfPodsThatAreRefused: what the API server refuses pods for is asked, but not what is known without that.
func TestExplainOfPodsThatAreRefused(t *testing.T) {
	const class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: vip}\n---\n"
	for _, c := range []struct{ name, refuses, before, want string }{
		{"nothing", "", "", ""},
		{"a PriorityClass", "no PriorityClass with name vip was found", "", "its pods cannot be created: PriorityClass vip does not exist\n"},
		{"a PriorityClass of the input", "no PriorityClass with name vip was found", class, ""},
		{"Pod Security", `violates PodSecurity "restricted:latest": runAsNonRoot != true (pod must set it)`, "", "Pod Security restricted:latest refuses its pods (runAsNonRoot)\n"},
		{"a webhook", `admission webhook "w.example.com" denied the request: no`, "", "webhook w.example.com denies its pods (no), as a dry run of one with your credentials shows\n"},
		{"a right that is missing", `User "u" cannot create resource "pods" in API group "" in the namespace "shop"`, "", ""},
		{"a quota, that is read", `exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1`, "", ""},
	} {
		out, err := explaining(t, emptyCluster{c.refuses}, c.before+workloadNamed("name: d1", "d1", "3"), "create", "--dry-run=server")
		bars := strings.Contains(out, "PLAN  none: no pod could be created")
		if err != nil || bars != (c.want != "") || strings.Contains(out, "IN THE WAY") != bars || !strings.Contains(out, c.want) {
			t.Errorf("%s: it says\n%s%v", c.name, out, err)
		}
	}
}

// TestExplainWarnsOnce: what the API server warns of in a dry run of a Deployment, of one of its pods and in the
// write is told once.
func TestExplainWarnsOnce(t *testing.T) {
	posts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts++
			w.Header().Set("Warning", `299 - "would violate PodSecurity"`)
		}
		emptyCluster{refuses: "no"}.ServeHTTP(w, r)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "in.yaml")
	if err := os.WriteFile(file, []byte(workloadNamed("name: d1", "d1", "3")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errOut, err := runBoth(t, "create", "-f", file, "--explain", "--validate=false", "--kubeconfig", contexts(t, server.URL), "--cache-dir", t.TempDir())
	if err != nil || posts != 3 || strings.Count(errOut, "would violate") != 1 {
		t.Errorf("%d writes, %v\n%s", posts, err, errOut)
	}
}
