package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// authorsManifest is the Deployment as files have it: with a size and an image.
const authorsManifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "shop:v%d"}
`

// authors are eight kinds of writers and the objects they change.
type authors struct {
	plane     *testplane.Plane
	client    kubernetes.Interface // of the administrator
	program   kubernetes.Interface // of a program with a name of its own
	namespace string
	editor    string
}

// TestAuthors lets eight kinds of writers change Deployments and a ReplicaSet: kubectl
// scale, patch, apply on either side, edit, a program with client-go, a
// HorizontalPodAutoscaler and a ReplicaSet scaled by hand. Whoever a cause names
// is who the audit log has; who is unknown is counted.
func TestAuthors(t *testing.T) {
	t.Parallel()
	a := newAuthors(t)
	const kinds = 8
	n := int(testplane.Number(t, "LOOPSCOPE_E2E_AUTHORS", 16))
	seed := testplane.Number(t, "LOOPSCOPE_E2E_SEED", rand.Uint64N(1_000_000))
	t.Logf("seed %d", seed)
	create(t, a.client, a.namespace, oneByOne("web", 2, 0))
	waitQuiet(t, a.client, a.namespace, "web")
	scaled := (n + kinds - 1) / kinds
	a.autoscale(t, scaled)
	byHand := []func(testing.TB, int){a.scale, a.patch, a.apply, a.applyOnServer, a.edit, a.update, a.scaleReplicaSet}
	order := rand.New(rand.NewPCG(seed, 0))
	for i := range n - scaled {
		if i%len(byHand) == 0 {
			order.Shuffle(len(byHand), func(x, y int) { byHand[x], byHand[y] = byHand[y], byHand[x] })
		}
		byHand[i%len(byHand)](t, i)
	}
	a.autoscaled(t, scaled)
	waitQuiet(t, a.client, a.namespace, "web")
	a.compare(t, n)
}

func newAuthors(t *testing.T) *authors {
	t.Helper()
	plane := ownPlane(t).Plane
	config := plane.Config(t)
	config.UserAgent = "authors-test/1.0"
	program, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("build client: %v", err)
	}
	a := &authors{plane: plane, client: clientOf(t, plane), program: program, editor: filepath.Join(t.TempDir(), "editor")}
	a.namespace = newNamespace(t, a.client, "authors")
	script := "#!/bin/sh\nexec sed -i \"s/progressDeadlineSeconds: .*/progressDeadlineSeconds: $AUTHORS_DEADLINE/\" \"$1\"\n"
	if err := os.WriteFile(a.editor, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authors) kubectl(t testing.TB, args ...string) {
	t.Helper()
	a.plane.Kubectl(t, append([]string{"-n", a.namespace}, args...)...)
}

// autoscale makes Deployments with a HorizontalPodAutoscaler each, whose least size is
// one pod more: it needs no metrics for that.
func (a *authors) autoscale(t testing.TB, n int) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("auto-%d", i)
		create(t, a.client, a.namespace, oneByOne(name, 1, 0))
		least := int32(2)
		_, err := a.client.AutoscalingV2().HorizontalPodAutoscalers(a.namespace).Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
				MinReplicas:    &least, MaxReplicas: 3,
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("create HorizontalPodAutoscaler %s: %v", name, err)
		}
	}
}

func (a *authors) autoscaled(t testing.TB, n int) {
	t.Helper()
	testplane.Until(t, settleLimit, "autoscaled Deployments", func() error {
		for i := range n {
			if d := get(t, a.client, a.namespace, fmt.Sprintf("auto-%d", i)); *d.Spec.Replicas != 2 {
				return fmt.Errorf("%s has size %d, want 2", d.Name, *d.Spec.Replicas)
			}
		}
		return nil
	})
}

// otherSize is a size that the Deployment does not have.
func (a *authors) otherSize(t testing.TB, i int) int32 {
	t.Helper()
	size := int32(1 + i%4)
	if *get(t, a.client, a.namespace, "web").Spec.Replicas == size {
		size++
	}
	return size
}

func (a *authors) scale(t testing.TB, i int) {
	t.Helper()
	a.kubectl(t, "scale", "deployment/web", fmt.Sprintf("--replicas=%d", a.otherSize(t, i)))
}

func (a *authors) patch(t testing.TB, i int) {
	t.Helper()
	a.kubectl(t, "patch", "deployment/web", "-p", fmt.Sprintf(`{"spec":{"replicas":%d,"revisionHistoryLimit":%d}}`, a.otherSize(t, i), 5+i))
}

func (a *authors) apply(t testing.TB, i int) {
	t.Helper()
	a.plane.KubectlInput(t, fmt.Sprintf(authorsManifest, a.otherSize(t, i), i), "-n", a.namespace, "apply", "-f", "-")
}

func (a *authors) applyOnServer(t testing.TB, i int) {
	t.Helper()
	a.plane.KubectlInput(t, fmt.Sprintf(authorsManifest, a.otherSize(t, i), i), "-n", a.namespace, "apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", "-")
}

func (a *authors) edit(t testing.TB, i int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), a.plane.Binary, "kubectl", "-n", a.namespace, "edit", "deployment/web")
	cmd.Env = append(os.Environ(), "KUBERC=off", "KUBECACHEDIR="+filepath.Dir(a.editor), "KUBECONFIG="+a.plane.Kubeconfig, "KUBE_EDITOR="+a.editor, "AUTHORS_DEADLINE="+strconv.Itoa(700+i))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl edit: %v: %s", err, out)
	}
}

func (a *authors) update(t testing.TB, i int) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		d := get(t, a.client, a.namespace, "web")
		d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "ROUND", Value: strconv.Itoa(i)}}
		_, err := a.program.AppsV1().Deployments(a.namespace).Update(t.Context(), d, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("update: %v", err)
	}
}

// scaleReplicaSet scales the largest ReplicaSet, which the loop takes back.
func (a *authors) scaleReplicaSet(t testing.TB, i int) {
	t.Helper()
	name, size := "", int32(-1)
	for _, rs := range replicaSets(t, a.client, a.namespace) {
		if rs.Labels["app"] == "web" && *rs.Spec.Replicas > size {
			name, size = rs.Name, *rs.Spec.Replicas
		}
	}
	a.kubectl(t, "scale", "replicaset/"+name, fmt.Sprintf("--replicas=%d", size+1+int32(i%2)))
}

// byOthers are the changes that others made, by object and version. A write that
// changes nothing is answered with the version that stands, which may be ours.
func byOthers(all []request) map[string]*request {
	found := map[string]*request{}
	for i := range all {
		if r := &all[i]; (r.Verb == "update" || r.Verb == "patch") && r.taken() && !r.ours() && r.ObjectRef.Resource != "pods" && r.rv() != 0 && !strings.HasPrefix(r.UserAgent, "testplane") {
			found[fmt.Sprint(r.object(), " ", r.rv())] = r
		}
	}
	for _, r := range of(all, madeByUs) {
		delete(found, fmt.Sprint(r.object(), " ", r.rv()))
	}
	return found
}

// tally counts what causes say of the changes of one writer.
type tally struct{ changes, right, unknown, wrong int }

// compare holds what the loops recorded against the audit log.
func (a *authors) compare(t *testing.T, least int) {
	t.Helper()
	all := of(readAudit(t, a.plane.AuditPath), inNamespace(a.namespace))
	foreign := byOthers(all)
	causes := map[string][]telemetry.Cause{}
	var traces []telemetry.Trace
	testplane.Until(t, settleLimit, "a cause for every change", func() error {
		traces = a.traces(t)
		causes = a.causes(traces)
		for key := range foreign {
			if len(causes[key]) == 0 {
				return fmt.Errorf("none for %s", key)
			}
		}
		return nil
	})
	counts := map[string]*tally{}
	for key, r := range foreign {
		who := r.manager() + " (" + r.Verb + " " + r.resource() + ")"
		if counts[who] == nil {
			counts[who] = &tally{}
		}
		counts[who].judge(t, key, r, causes[key])
	}
	total := tally{}
	for who, c := range counts {
		t.Logf("%s: %d changes, %d told, %d unknown, %d wrong", who, c.changes, c.right, c.unknown, c.wrong)
		total.changes, total.right, total.unknown, total.wrong = total.changes+c.changes, total.right+c.right, total.unknown+c.unknown, total.wrong+c.wrong
	}
	t.Logf("%d changes by %d kinds of writers: %d told, %d unknown, %d wrong", total.changes, len(counts), total.right, total.unknown, total.wrong)
	if total.changes < least*9/10 || len(counts) < 8 || total.unknown*5 > total.changes {
		t.Errorf("%d changes by %d kinds of writers, of which %d are unknown; want about %d by 8 and fewer than a fifth", total.changes, len(counts), total.unknown, least)
	}
	a.neverOurselves(t, causes, of(all, madeByUs))
	a.conflicts(t, traces, foreign)
}

func (c *tally) judge(t *testing.T, key string, r *request, causes []telemetry.Cause) {
	t.Helper()
	c.changes++
	worst := &c.right
	for _, cause := range causes {
		switch {
		case cause.Sync != 0 || cause.Manager != "" && cause.Manager != r.manager():
			worst = &c.wrong
			t.Errorf("%s, %v, was %s by %s (%s) and is told as by %q, sync %d", key, cause.Fields, r.Verb, r.manager(), r.UserAgent, cause.Manager, cause.Sync)
		case cause.Manager == "" && worst != &c.wrong:
			worst = &c.unknown
			t.Logf("unknown: %s by %s, %v", key, r.manager(), cause.Fields)
		}
	}
	*worst++
}

// traces is everything that is kept of the namespace.
func (a *authors) traces(t testing.TB) []telemetry.Trace {
	t.Helper()
	status, text := fetch(t, a.plane.Dashboard+"/export.jsonl?namespace="+url.QueryEscape(a.namespace))
	if status != 200 {
		t.Fatalf("export: status %d", status)
	}
	var list []telemetry.Trace
	for line := range strings.Lines(text) {
		var trace telemetry.Trace
		if err := json.Unmarshal([]byte(line), &trace); err != nil {
			t.Fatalf("export: %v: %.200s", err, line)
		}
		if trace.Namespace == a.namespace {
			list = append(list, trace)
		}
	}
	return list
}

// causes are all changes of Deployments and ReplicaSets that woke a sync, by object
// and version as the audit log has them.
func (a *authors) causes(traces []telemetry.Trace) map[string][]telemetry.Cause {
	found := map[string][]telemetry.Cause{}
	for i := range traces {
		for _, c := range traces[i].Causes {
			kind, name, _ := strings.Cut(c.Object, " ")
			if resource := map[string]string{"Deployment": "deployments", "ReplicaSet": "replicasets"}[kind]; resource != "" && c.Kind == telemetry.CauseModified {
				key := fmt.Sprintf("%s %s/%s %s", resource, a.namespace, name, c.NewRV)
				found[key] = append(found[key], c)
			}
		}
	}
	return found
}

// madeByUs reports whether a write of ours made a version: one that changes nothing is
// answered with the version that stands.
func madeByUs(r *request) bool { return r.ours() && r.write() && r.taken() && r.rv() != r.basis() }

// neverOurselves sees that no cause names the loops, and none of what they wrote
// names anybody: that is known by its version.
func (a *authors) neverOurselves(t *testing.T, causes map[string][]telemetry.Cause, ours []request) {
	t.Helper()
	for key, list := range causes {
		for _, c := range list {
			if strings.Contains(c.Manager, "loopscope") {
				t.Errorf("%s is told as by %q", key, c.Manager)
			}
		}
	}
	echoes, early := 0, 0
	for i := range ours {
		for _, c := range causes[fmt.Sprint(ours[i].object(), " ", ours[i].rv())] {
			if echoes++; c.Sync == 0 {
				early++
			}
			if c.Manager != "" {
				t.Errorf("our own write of %s is told as by %q", ours[i].object(), c.Manager)
			}
		}
	}
	t.Logf("%d causes are echoes, and name nobody; %d of them were recorded before the sync that wrote them", echoes, early)
}

// conflicts sees that who wrote first is one of those who wrote.
func (a *authors) conflicts(t *testing.T, traces []telemetry.Trace, foreign map[string]*request) {
	t.Helper()
	var writers []string
	for _, r := range foreign {
		writers = append(writers, r.manager())
	}
	told, unknown := 0, 0
	judge := func(o *decision.Outcome) {
		switch {
		case o == nil || o.Other == nil:
		case o.Other.Manager == "":
			unknown++
			t.Logf("a conflict with an unknown writer: %+v", *o.Other)
		default:
			told++
			for name := range strings.SplitSeq(o.Other.Manager, telemetry.BetweenManagers) {
				if !slices.Contains(writers, name) {
					t.Errorf("a conflict is told as with %q", o.Other.Manager)
				}
			}
		}
	}
	for i := range traces {
		for _, round := range traces[i].Rounds {
			for j := range round.Outcomes {
				judge(&round.Outcomes[j])
			}
		}
		if traces[i].Report != nil {
			judge(traces[i].Report.Outcome)
		}
	}
	t.Logf("%d conflicts, %d with an unknown writer", told+unknown, unknown)
}
