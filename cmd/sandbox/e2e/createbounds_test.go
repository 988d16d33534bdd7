package e2e_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// quotaCase is a ReplicationController of 4 pods beside a quota and, perhaps, a LimitRange of its input.
type quotaCase struct {
	name, quota, limits, pod string
	want                     int32 // how many pods there can be
}

const plainPod = `containers: [{name: main, image: "nginx:1.27"}]`

func requesting(cpu string) string {
	return `containers: [{name: main, image: "nginx:1.27", resources: {requests: {cpu: ` + cpu + `}}}]`
}

var quotaCases = []quotaCase{
	{"best-effort", `hard: {pods: 2}, scopes: [BestEffort]`, "", plainPod, 2},
	{"not-of-best-effort", `hard: {pods: 2}, scopes: [BestEffort]`, "", requesting("100m"), 4},
	{"made-burstable", `hard: {pods: 2}, scopes: [BestEffort]`, `type: Container, default: {cpu: 100m}`, plainPod, 4},
	{"not-best-effort", `hard: {requests.cpu: 250m}, scopes: [NotBestEffort]`, "", requesting("100m"), 2},
	{"not-terminating", `hard: {pods: 3}, scopes: [NotTerminating]`, "", plainPod, 3},
	{"terminating", `hard: {pods: 0}, scopes: [Terminating]`, "", plainPod, 4},
	{"both-scopes", `hard: {pods: 1}, scopes: [BestEffort, NotTerminating]`, "", plainPod, 1},
	{"class", `hard: {pods: 1}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [bounds]}]}`, "", `priorityClassName: bounds, ` + plainPod, 1},
	{"other-class", `hard: {pods: 1}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn, values: [bounds]}]}`, "", `priorityClassName: bounds, ` + plainPod, 4},
	{"any-class", `hard: {pods: 1}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}`, "", plainPod, 4},
	{"no-class", `hard: {pods: 1}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: DoesNotExist}]}`, "", plainPod, 1},
	{"affinity", `hard: {pods: 1}, scopes: [CrossNamespacePodAffinity]`, "", `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, namespaceSelector: {}, labelSelector: {matchLabels: {a: b}}}}]}}, ` + plainPod, 1},
	{"no-affinity", `hard: {pods: 1}, scopes: [CrossNamespacePodAffinity]`, "", plainPod, 4},
	{"init-container", `hard: {requests.cpu: 1}`, "", `initContainers: [{name: first, image: "nginx:1.27", resources: {requests: {cpu: 300m}}}], ` + requesting("100m"), 3},
	{"open-init-container", `hard: {requests.cpu: 1}`, "", `initContainers: [{name: first, image: "nginx:1.27"}], ` + requesting("100m"), 0},
	{"default-request", `hard: {requests.cpu: 1}`, `type: Container, defaultRequest: {cpu: 500m}`, plainPod, 2},
	{"default-of-max", `hard: {limits.memory: 3Gi}`, `type: Container, max: {memory: 1Gi}`, plainPod, 3},
	{"beyond-a-range", `hard: {pods: 9}`, `type: Container, max: {cpu: 50m}`, requesting("50m"), 4},
	{"below-a-range", `hard: {pods: 9}`, `type: Container, min: {cpu: 100m}`, requesting("50m"), 0},
	{"beyond-a-range-of-pods", `hard: {pods: 9}`, `type: Pod, max: {cpu: 50m}`, requesting("50m"), 0},
	{"storage", `hard: {requests.ephemeral-storage: 5Gi}`, "", `containers: [{name: main, image: "nginx:1.27", resources: {requests: {ephemeral-storage: 2Gi}}}]`, 2},
}

func (b *quotaCase) input() (before, workload string) {
	namespace := "bounds-" + b.name
	before = fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few, namespace: %s}\nspec: {%s}\n---\n", namespace, namespace, b.quota)
	if b.limits != "" {
		before += fmt.Sprintf("apiVersion: v1\nkind: LimitRange\nmetadata: {name: range, namespace: %s}\nspec: {limits: [{%s}]}\n---\n", namespace, b.limits)
	}
	return before, fmt.Sprintf("apiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc, namespace: %s}\nspec: {replicas: 4, template: {metadata: {labels: {app: rc}}, spec: {%s}}}\n", namespace, b.pod)
}

var leavesRoom = regexp.MustCompile(`leaves room for (\d+) of 4 pods`)

// foreseenRoom is how many of 4 pods there can be by what is said.
func foreseenRoom(said string) int32 {
	if strings.Contains(said, "no pod can be created") {
		return 0
	}
	if match := leavesRoom.FindStringSubmatch(said); match != nil {
		n, _ := strconv.Atoi(match[1])
		return int32(n)
	}
	return 4
}

// TestExplainForeseesBounds holds what is said of quotas and LimitRanges, of the same input and of a
// namespace that this creates, and said again once they are there, against what the API server lets through.
func TestExplainForeseesBounds(t *testing.T) {
	t.Parallel()
	plane := upstreamPlane(t)
	client := clientOf(t, plane)
	plane.Kubectl(t, "create", "priorityclass", "bounds", "--value=7")
	for _, b := range quotaCases {
		t.Run(b.name, func(t *testing.T) {
			before, workload := b.input()
			explain := []string{"create", "--explain", "--dry-run=client"}
			if said := madeBy(t, plane, before+workload, 0, []string{"ReplicationController bounds-" + b.name + "/rc, from ", "\nPLAN "}, explain...); foreseenRoom(said) != b.want {
				t.Errorf("beforehand it foresees %d pods, want %d:\n%s", foreseenRoom(said), b.want, said)
			}
			plane.KubectlInput(t, before, "create", "-f", "-")
			namespace := "bounds-" + b.name
			plane.Kubectl(t, "-n", namespace, "wait", "quota/few", "--for=jsonpath={.status.used}", "--timeout=30s")
			if said := madeBy(t, plane, workload, 0, nil, explain...); foreseenRoom(said) != b.want {
				t.Errorf("beside the quota it foresees %d pods, want %d:\n%s", foreseenRoom(said), b.want, said)
			}
			plane.KubectlInput(t, workload, "create", "-f", "-")
			testplane.Until(t, settleLimit, "as many pods as there can be", func() error {
				rc, err := client.CoreV1().ReplicationControllers(namespace).Get(t.Context(), "rc", metav1.GetOptions{})
				if err != nil {
					return err
				}
				failed := false
				for i := range rc.Status.Conditions {
					failed = failed || rc.Status.Conditions[i].Type == corev1.ReplicationControllerReplicaFailure
				}
				if rc.Status.Replicas != b.want || failed != (b.want < 4) {
					return fmt.Errorf("there are %d pods, failed %t: %+v", rc.Status.Replicas, failed, rc.Status.Conditions)
				}
				return nil
			})
		})
	}
}

const definedKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
---
`

// TestExplainBesideWhatItCannotAsk has a kind that the input defines, a namespace that comes too late
// and objects that are refused, beside which the rest is planned, created and followed.
func TestExplainBesideWhatItCannotAsk(t *testing.T) {
	t.Parallel()
	plane := upstreamPlane(t)
	namespace := newNamespace(t, clientOf(t, plane), "asked")
	on := func(args ...string) []string { return append(args, "-n", namespace) }
	unknown := "It cannot be checked beforehand: its CustomResourceDefinition widgets.example.com is in the same input"
	said := madeBy(t, plane, definedKind+deploymentOf, 1, []string{"Widget " + namespace + "/w, from ", unknown, "\nPLAN  if every new pod", "deployment.apps/web created (server dry run)",
		"widgets/w cannot be checked by a dry run: its CustomResourceDefinition widgets.example.com is in the same input"}, on("create", "--explain", "--dry-run=server")...)
	if strings.Contains(said, "widget.example.com/w created") {
		t.Errorf("it says that it was checked:\n%s", said)
	}
	madeBy(t, plane, definedKind+deploymentOf, 0, []string{unknown, "widget.example.com/w created", "All is complete"}, on("create", "--explain", "--watch", "--timeout=50s")...)
	plane.Kubectl(t, "-n", namespace, "get", "widgets.example.com", "w")
	madeBy(t, plane, definedKind+deploymentOf, 0, []string{"widget.example.com/w serverside-applied"}, on("apply", "--explain", "--force-conflicts")...)

	// Refused objects are told at once and at the end, and the others are followed.
	refused := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n---\n"
	madeBy(t, plane, refused+loneController, 1, []string{`"Bad_Name" is invalid`, "What was written is followed.", "is settled", "What was written is complete after", "not everything was written, as said above"}, on("create", "--watch", "--timeout=50s")...)
	stuck := strings.Replace(strings.Replace(loneController, "name: rc}", "name: stuck}", 1), "nginx:1.27", "nginx:404", 1)
	madeBy(t, plane, refused+strings.ReplaceAll(stuck, "app: rc", "app: stuck"), 2, []string{`"Bad_Name" is invalid`, "Needs action: ", "And not everything was written, as said above."}, on("create", "--watch", "--timeout=50s")...)
	madeBy(t, plane, refused, 1, []string{`"Bad_Name" is invalid`}, on("create", "--watch")...)

	late := strings.Replace(deploymentOf, "name: web,", "name: web, namespace: late,", 1) + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: late}\n"
	madeBy(t, plane, late, 1, []string{"It cannot be planned: its namespace late comes after it in the input: put the Namespace first", `namespaces "late" not found`}, "create", "--explain")
	wrong := "apiVersion: v1\nkind: Namespace\nmetadata: {name: early}\n---\n" + strings.Replace(strings.Replace(deploymentOf, "name: web,", "name: web, namespace: early,", 1), "replicas: 2", "replicas: -2", 1)
	madeBy(t, plane, wrong, 1, []string{"its namespace early is created by the same input, so that the API server was asked about it in namespace default, and refused: ", "must be greater than or equal to 0"}, "create", "--explain")
}
