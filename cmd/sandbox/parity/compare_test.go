package parity

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// recordOf makes a record of objects in YAML, as a plane's objects are recorded.
func recordOf(t *testing.T, text string) Record {
	t.Helper()
	var objects map[string]map[string]any
	if err := yaml.Unmarshal([]byte(text), &objects); err != nil {
		t.Fatal(err)
	}
	w := writer{record: Record{}, namespace: "parity-x7k2p", names: map[string]string{"u-1": "Deployment/web", "u-9": "Deployment/other"}}
	for name, object := range objects {
		if said, isEvent := object["said"].(string); isEvent {
			w.record.put(name, w.text(said), "seen")
			continue
		}
		w.object(name, object)
	}
	return w.record
}

// leftBehind is what a rollout has left.
const leftBehind = `
Deployment/web:
  metadata: {name: web, generation: 2, uid: u-1, resourceVersion: "7", annotations: {deployment.kubernetes.io/revision: "2"}}
  spec: {replicas: 3}
  status:
    observedGeneration: 2
    replicas: 3
    conditions:
    - {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: ReplicaSet "web-b5" has successfully progressed., lastUpdateTime: "2026-01-01T00:00:00Z"}
ReplicaSet/web-b5:
  metadata: {name: web-b5, generation: 4, labels: {app: web}, ownerReferences: [{kind: Deployment, name: web, uid: u-1, controller: true}]}
  status: {observedGeneration: 4, readyReplicas: 3}
events of Deployment/web:
  said: "Normal ScalingReplicaSet by deployment-controller: Scaled up replica set web-b5 from N to N"
`

// TestPlantedDifferencesAreFound plants one difference of each kind of field.
func TestPlantedDifferencesAreFound(t *testing.T) {
	for _, planted := range []struct{ kind, before, after, object, field string }{
		{"spec", "spec: {replicas: 3}", "spec: {replicas: 4}", "Deployment/web", "spec.replicas"},
		{"status count", "readyReplicas: 3", "readyReplicas: 2", "ReplicaSet/web-b5", "status.readyReplicas"},
		{"condition status", `status: "True"`, `status: "False"`, "Deployment/web", "status.conditions[Progressing].status"},
		{"condition reason", "reason: NewReplicaSetAvailable", "reason: ReplicaSetUpdated", "Deployment/web", "status.conditions[Progressing].reason"},
		{"condition message", "has successfully progressed.", "is progressing.", "Deployment/web", "status.conditions[Progressing].message"},
		{"annotation", `revision: "2"`, `revision: "3"`, "Deployment/web", "metadata.annotations[deployment.kubernetes.io/revision]"},
		{"label", "labels: {app: web}", "labels: {app: shop}", "ReplicaSet/web-b5", "metadata.labels.app"},
		{"owner", "name: web, uid: u-1, controller: true", "name: other, uid: u-9, controller: true", "ReplicaSet/web-b5", "metadata.ownerReferences[Deployment/other].name"},
		{"name", "ReplicaSet/web-b5:", "ReplicaSet/web-c6:", "ReplicaSet/web-c6", existence},
		{"event", "Scaled up replica set", "Scaled down replica set", "events of Deployment/web", "Normal ScalingReplicaSet by deployment-controller: Scaled down replica set web-b5 from N to N"},
	} {
		t.Run(planted.kind, func(t *testing.T) {
			changed := strings.Replace(leftBehind, planted.before, planted.after, 1)
			found := Compare("planted", recordOf(t, leftBehind), recordOf(t, leftBehind), recordOf(t, changed))
			for _, d := range found {
				if d.Object == planted.object && d.Field == planted.field {
					return
				}
			}
			t.Errorf("not found: %s %s; found:\n%s", planted.object, planted.field, Report(found))
		})
	}
}

// TestWhatIsNeverTheSameIsLeftOut: times, UIDs, versions, how often a
// ReplicaSet was written.
func TestWhatIsNeverTheSameIsLeftOut(t *testing.T) {
	other := strings.NewReplacer(`resourceVersion: "7"`, `resourceVersion: "8"`, "2026-01-01T00", "2026-01-01T01",
		"generation: 4", "generation: 6", "observedGeneration: 4", "observedGeneration: 6").Replace(leftBehind)
	if other == leftBehind {
		t.Fatal("nothing was changed")
	}
	if found := Compare("same", recordOf(t, leftBehind), recordOf(t, leftBehind), recordOf(t, other)); len(found) > 0 {
		t.Errorf("found:\n%s", Report(found))
	}
}

// TestUpstreamsOwnDifferencesAreNotCompared: what it leaves in two ways may be
// left in any way, and every other field is still compared.
func TestUpstreamsOwnDifferencesAreNotCompared(t *testing.T) {
	again := strings.Replace(leftBehind, "readyReplicas: 3", "readyReplicas: 2", 1)
	ours := strings.NewReplacer("readyReplicas: 3", "readyReplicas: 1", "labels: {app: web}", "labels: {app: shop}").Replace(leftBehind)
	found := Compare("unlike", recordOf(t, leftBehind), recordOf(t, again), recordOf(t, ours))
	if len(found) != 1 || found[0].Field != "metadata.labels.app" {
		t.Errorf("want the label alone, found:\n%s", Report(found))
	}
}

// TestDroppedEventsAreNotCompared: where a recorder was at its rate.
func TestDroppedEventsAreNotCompared(t *testing.T) {
	ours := recordOf(t, strings.Replace(leftBehind, "Scaled up", "Scaled down", 1))
	if found := Compare("events", recordOf(t, leftBehind), recordOf(t, leftBehind), ours); len(found) != 2 {
		t.Errorf("want both events, found:\n%s", Report(found))
	}
	ours.put("events of Deployment/web", limited, "yes")
	if found := Compare("events", recordOf(t, leftBehind), recordOf(t, leftBehind), ours); len(found) != 0 {
		t.Errorf("found:\n%s", Report(found))
	}
}

func TestMessagesAreTold(t *testing.T) {
	w := writer{namespace: "parity-x7k2p"}
	for message, want := range map[string]string{
		`pods "web-746fdcc6cb-9xk2p" is forbidden: in parity-x7k2p`: `pods "web-746fdcc6cb-*" is forbidden: in NAMESPACE`,
		"uid 0a1b2c3d-0000-1111-2222-333344445555":                  "uid UID",
		"at 2026-11-21T13:00:00Z":                                   "at TIME",
		"ReplicaSet web-746fdcc6cb":                                 "ReplicaSet web-746fdcc6cb",
	} {
		if got := w.text(message); got != want {
			t.Errorf("%q is told as %q, want %q", message, got, want)
		}
	}
}

// TestDeparturesAreInTheRegister: an allowed difference names an entry that
// exists and scenarios that exist.
func TestDeparturesAreInTheRegister(t *testing.T) {
	design, err := os.ReadFile("../../../controllers/DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(string(design), -1) {
		entries[row[1]] = true
	}
	scenarios := scripted(t)
	for _, d := range departures {
		if !entries[strconv.Itoa(d.entry)] {
			t.Errorf("departure %d is not in the register", d.entry)
		}
		if !slices.ContainsFunc(scenarios, d.concerns) {
			t.Errorf("departure %d names no scenario: %s", d.entry, d.scenario)
		}
	}
}

// TestDeparturesAllowNothingElse: another field, object or scenario stays a failure.
func TestDeparturesAllowNothingElse(t *testing.T) {
	d := departure{1, always, "scale/.*", "ReplicaSet/web-.*", `spec\.replicas`, "of this test"}
	allowed := Difference{"scale/up", "ReplicaSet/web-1", "spec.replicas", "3", "4"}
	for _, x := range []Difference{
		{"pause/up", allowed.Object, allowed.Field, "3", "4"},
		{allowed.Scenario, "Deployment/web", allowed.Field, "3", "4"},
		{allowed.Scenario, allowed.Object, "spec.replicasets", "3", "4"},
	} {
		needed := map[int]int{}
		if left := unregistered([]Difference{allowed, x}, []departure{d}, needed); len(left) != 1 || left[0] != x {
			t.Errorf("%+v was allowed: left %+v", x, left)
		}
		if !maps.Equal(needed, map[int]int{0: 1}) {
			t.Errorf("the departure was needed %v times, want once", needed)
		}
	}
}
