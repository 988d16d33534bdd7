package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry"
)

// TestExplain asks the command about the demo's stuck Deployment, in every
// output, and sees that asking writes nothing.
func TestExplain(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	client := clientOf(t, plane.Plane)
	waitFor(t, client, "demo", "stuck", "stuck rollout", updated(1))
	testplane.Until(t, time.Minute, "an explanation of the stuck image", func() error {
		return explains(t, plane.Kubeconfig)
	})
	raw := explainOrFail(t, plane.Kubeconfig, "deployment/stuck", "-n", "demo", "-o", "json")
	var fromJSON, fromYAML telemetry.Trace
	if err := json.Unmarshal([]byte(raw), &fromJSON); err != nil {
		t.Fatalf("-o json: %v: %s", err, raw)
	}
	if err := yaml.Unmarshal([]byte(explainOrFail(t, plane.Kubeconfig, "deploy", "stuck", "-n", "demo", "-o", "yaml")), &fromYAML); err != nil {
		t.Fatalf("-o yaml: %v", err)
	}
	for name, trace := range map[string]*telemetry.Trace{"json": &fromJSON, "yaml": &fromYAML} {
		if trace.Key() != "demo/stuck" || len(trace.Path()) == 0 || trace.Sentence.Code == "" || trace.Snapshot.IsZero() {
			t.Errorf("-o %s: a trace of %s with %d questions, code %q and %d bytes of snapshot", name, trace.Key(), len(trace.Path()), trace.Sentence.Code, trace.Snapshot.Bytes())
		}
		if strays := trace.Sentence.Lead.Strays(factsOf(trace)); len(strays) > 0 {
			t.Errorf("-o %s: numbers that are no facts: %v", name, strays)
		}
	}
	if writes := of(readAudit(t, plane.AuditPath), func(r *request) bool {
		return strings.HasSuffix(r.UserAgent, " explain") && r.Verb != "get" && r.Verb != "list"
	}); len(writes) > 0 {
		t.Errorf("explain sent %d requests that do not only read, the first: %s %s", len(writes), writes[0].Verb, writes[0].object())
	}
}

// explains looks at the text for a person.
func explains(t *testing.T, kubeconfig string) error {
	t.Helper()
	text := explainOrFail(t, kubeconfig, "deployment/stuck", "-n", "demo")
	state := "demo/stuck is waiting: "
	if failed := "demo/stuck has failed: no progress for "; strings.HasPrefix(text, failed) {
		state = failed // Other tests have kept the plane busy for longer than its deadline of ten minutes.
	}
	for _, want := range []string{state, "cannot pull nginx:404", "Needs action: unblocks when ", "\nHELD BACK\n", "\nWOULD WRITE", "\nPATH\n"} {
		if !strings.Contains(text, want) {
			return &lacking{text, want}
		}
	}
	return nil
}

type lacking struct{ text, want string }

func (l *lacking) Error() string { return "no " + l.want + " in:\n" + l.text }

func explainOrFail(t *testing.T, kubeconfig string, args ...string) string {
	t.Helper()
	out, errOut, err := loopscope(t.Context(), t, kubeconfig, append([]string{"explain"}, args...)...)
	if err != nil {
		t.Fatalf("loopscope explain %v: %v: %s", args, err, errOut)
	}
	return out
}

// TestExplainNamesLikeUpstream lets upstream's own controller name ReplicaSets,
// and explain say beforehand how: the same hash means the same name.
func TestExplainNamesLikeUpstream(t *testing.T) {
	t.Parallel()
	plane := upstreamPlane(t)
	client := clientOf(t, plane)
	if is, err := client.Discovery().ServerVersion(); err != nil || is.Minor != "36" {
		t.Skipf("a hash covers every field that a release knows, and the API server's is %v: %v", is, err)
	}
	namespace := newNamespace(t, client, "names")
	for i, manifest := range []string{
		`{"template":{"spec":{"containers":[{"name":"main","image":"nginx:1.27"}]}}}`,
		`{"template":{"metadata":{"annotations":{"a":"b"},"labels":{"tier":"public"}},"spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"nginx:1.28","env":[{"name":"A","value":"ß\n\"<&>\""}],"resources":{"requests":{"cpu":"1500m","memory":"1.5Gi"},"limits":{"memory":"2048Mi"}}}]}}}`,
		`{"template":{"spec":{"containers":[{"name":"main","image":"nginx:1.29","readinessProbe":{"httpGet":{"path":"/","port":"http"}},"ports":[{"name":"http","containerPort":80}]}],"volumes":[{"name":"v","configMap":{"name":"c"}}],"tolerations":[{"operator":"Exists"}]}}}`,
	} {
		if i == 0 {
			create(t, client, namespace, oneByOne("web", 1, 0))
		}
		patchDeployment(t, client, namespace, "web", `{"spec":{"paused":true}}`)
		patchDeployment(t, client, namespace, "web", `{"spec":`+manifest+`}`)
		name := nextName(t, plane.Kubeconfig, namespace)
		before := setNames(t, client, namespace)
		patchDeployment(t, client, namespace, "web", `{"spec":{"paused":false}}`)
		waitSettled(t, client, namespace, "web")
		added := slices.DeleteFunc(setNames(t, client, namespace), func(n string) bool { return slices.Contains(before, n) })
		if !slices.Contains(added, name) {
			t.Errorf("template %d: explain said %q, upstream named it %v", i, name, added)
		}
	}
}

func nextName(t *testing.T, kubeconfig, namespace string) string {
	t.Helper()
	var trace telemetry.Trace
	if err := json.Unmarshal([]byte(explainOrFail(t, kubeconfig, "deployment/web", "-n", namespace, "-o", "json")), &trace); err != nil {
		t.Fatalf("explain -o json: %v", err)
	}
	snapshot, err := trace.Decided(controllers.Loops)
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	return snapshot.(*deployment.Snapshot).NextName
}

func setNames(t *testing.T, client kubernetes.Interface, namespace string) []string {
	t.Helper()
	var names []string
	for _, rs := range replicaSets(t, client, namespace) {
		names = append(names, rs.Name)
	}
	return names
}
