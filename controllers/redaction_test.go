package controllers

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// shows is everything of an object that the record may hold, and why. Whatever
// is not here never leaves the cache. DESIGN.md has the same list.
var shows = map[string]string{
	"*.metadata.name":                    "an object is called by it",
	"*.metadata.namespace":               "the same",
	"*.metadata.uid":                     "writes are guarded by it",
	"*.metadata.resourceVersion":         "the same, and events are linked by it",
	"*.metadata.labels{}":                "which label changed, its value is not shown",
	"*.metadata.annotations{}":           "which annotation changed, its value is not shown",
	"*.metadata.managedFields[].manager": "who changed it",
	"*.metadata.ownerReferences[].name":  "whose it is",

	"*.spec.selector{}":                    "a ReplicationController's selector",
	"*.spec.selector[]":                    "the same",
	"*.spec.selector.matchLabels{}":        "what it selects decides what it owns",
	"*.spec.selector.matchLabels[]":        "the same",
	"*.spec.selector.matchExpressions[].*": "the same",
	"Deployment.spec.strategy.**":          "how it rolls out",

	"*.spec.template.**[].name": "which container, variable, port or volume changed; its value is not shown",
	"*.spec.template.**{}":      "which label, annotation or other key of the template changed; its value is not shown",
	"*.spec.template.**.image":  "what is rolled out, without a login",

	"*.status.conditions[].type":    "what the condition is about",
	"*.status.conditions[].status":  "what it says",
	"*.status.conditions[].reason":  "why, in a word",
	"*.status.conditions[].message": "why; a sentence quotes its beginning",

	"Pod.spec.nodeName":                                   "where it is",
	"Pod.spec.resourceClaims[].*Name":                     "which devices it waits for",
	"Pod.spec.schedulerName":                              "who is to find a node for it",
	"Pod.status.nominatedNodeName":                        "where room is made for it",
	"Pod.status.phase":                                    "how far it is",
	"Pod.status.reason":                                   "why the kubelet ended it, in a word",
	"Pod.status.message":                                  "the same, in the kubelet's words",
	"Pod.status.**ontainerStatuses[].image":               "what cannot be pulled, without a login",
	"Pod.status.**ontainerStatuses[].state.waiting.**":    "what it waits for, in the kubelet's words",
	"Pod.status.**ontainerStatuses[].name":                "which container keeps the pod",
	"Pod.status.**ontainerStatuses[].**terminated.reason": "how its last run ended, in the runtime's word",
	"*.metadata.annotations[deployment.kubernetes.io/*]":  "the loop's own annotations are what it decides on",
}

// kept are entries of the list in which nothing is planted, as the loops need
// their values to work; what they show is looked for instead.
var kept = map[string]string{
	"*.metadata.name": `"name":"web-2-0"`, "*.metadata.namespace": `"namespace":"shop"`, "*.metadata.uid": `"uid":"r-web-1"`,
	"*.metadata.resourceVersion": `"newRV":"2"`, "*.metadata.ownerReferences[].name": `"owner":"web"`, "*.spec.selector.matchLabels[]": `"selector":"app=web`,
	"*.metadata.annotations[deployment.kubernetes.io/*]": `"desired":"3"`,
}

// allowedBy is the entry of the list that covers a path, "" for none.
func allowedBy(path string) string {
	for _, pattern := range slices.Sorted(maps.Keys(shows)) {
		if covers(pattern, path) {
			return pattern
		}
	}
	return ""
}

// covers matches ** with anything, and * with one step of a path.
func covers(pattern, path string) bool {
	head, tail, wild := strings.Cut(pattern, "*")
	if !wild || !strings.HasPrefix(path, head) {
		return pattern == path
	}
	deep := strings.HasPrefix(tail, "*")
	tail = strings.TrimPrefix(tail, "*")
	rest := path[len(head):]
	for i := 0; i <= len(rest); i++ {
		if covers(tail, rest[i:]) {
			return true
		}
		if i < len(rest) && !deep && rest[i] == '.' {
			return false
		}
	}
	return false
}

// TestNothingPlantedLeaves plants a secret in every string of every object that
// the loops see, in every situation and for every reply of the API server, and
// finds none of them in what is recorded, logged or shown but those of the list.
// What the list allows does show, or it would allow too much.
func TestNothingPlantedLeaves(t *testing.T) {
	longUnderRace(t)
	seen := map[string]bool{}
	var shown strings.Builder
	for _, situation := range slices.Sorted(maps.Keys(situations)) {
		for _, reply := range slices.Sorted(maps.Keys(replies)) {
			t.Run(situation+", "+reply, func(t *testing.T) {
				found, text := plantedIn(t, situation, reply, "", "")
				for path := range found {
					seen[allowedBy(path)] = true
				}
				shown.WriteString(text)
			})
		}
	}
	if !strings.Contains(shown.String(), `"changed":{"from":"1","to":"2","fields":[`) {
		t.Error("no snapshot says what its newest revision changed: nothing of that was searched")
	}
	if !strings.Contains(shown.String(), `"disrupted":[{`) {
		t.Error("no snapshot tells of an evicted pod: nothing of that was searched")
	}
	for pattern, why := range shows {
		if !seen[pattern] && (kept[pattern] == "" || !strings.Contains(shown.String(), kept[pattern])) {
			t.Errorf("%s may be shown (%s), but nothing shows it", pattern, why)
		}
	}
}

// plantedIn runs one planting and returns the paths of what it found, each of
// which the list allows or the test has failed.
func plantedIn(t *testing.T, situation, reply, before, after string) (paths map[string]bool, text string) {
	t.Helper()
	p := &planting{before: before, after: after, spare: spared(situation)}
	was, is := rollout(), rollout()
	situations[situation](is)
	was.plant(p)
	is.plant(p)
	for _, o := range is.objects() {
		newer(o)
	}
	if len(p.paths) < 2000 {
		t.Fatalf("only %d secrets were planted", len(p.paths))
	}
	text = observeAll(t, was, is, reply) + everyField(t, was, is)
	if i := strings.Index(text, echoed); i >= 0 {
		t.Errorf("%s: a credential that a webhook repeats is recorded: %q", situation, text[max(0, i-80):i])
	}
	found := p.found(text)
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if allowedBy(path) == "" {
			t.Errorf("%s leaves the loops", path)
		}
	}
	return found, text
}

// everyField is all that changed below the templates, of which a cause names the
// first few.
func everyField(t *testing.T, was, is *field) string {
	t.Helper()
	all := changes.Template(&was.d.Spec.Template, &is.d.Spec.Template)
	images := slices.IndexFunc(all, func(c decision.Change) bool { return !strings.HasSuffix(c.Field, ".image") })
	if images < 2 || len(all)-images < 100 {
		t.Fatalf("%d images and %d other paths differ", images, len(all)-images)
	}
	raw, err := json.Marshal(all)
	lab.Check(t, err)
	return string(raw)
}

// TestLastAppliedConfiguration is GHSA-fwr2-64vr-xv9m (Argo CD): what kubectl apply leaves in an annotation
// holds whatever was in the manifest.
func TestLastAppliedConfiguration(t *testing.T) {
	const manifest = `{"spec":{"template":{"spec":{"containers":[{"env":[{"name":"PASSWORD","value":"hunter2"}]}]}}}}`
	was, is := rollout(), rollout()
	for _, o := range is.objects() {
		m, err := meta.Accessor(o)
		lab.Check(t, err)
		m.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: manifest})
		newer(o)
	}
	for reply := range replies {
		if text := observeAll(t, was, is, reply); strings.Contains(text, "hunter2") || strings.Contains(text, "PASSWORD") {
			t.Errorf("%s: it is recorded", reply)
		}
	}
}

// TestFoundSecrets proves that the search would find one.
func TestFoundSecrets(t *testing.T) {
	p := &planting{}
	s := p.secret("Pod.spec.containers[].env[].value")
	if found := p.found("a log line with " + s + " in it"); !found["Pod.spec.containers[].env[].value"] {
		t.Error("a planted secret is not found again")
	}
	for _, path := range []string{
		"Deployment.metadata.annotations[]", "Deployment.spec.template.spec.containers[].env[].value", "Pod.spec.containers[].image login",
		"Pod.spec.nodeName.x", "Deployment.spec.template.spec.volumes[].secret.secretName", "ReplicaSet.metadata.labels[]",
		"Deployment.spec.template.spec.containers[].livenessProbe.httpGet.httpHeaders[].value",
	} {
		if by := allowedBy(path); by != "" {
			t.Errorf("%s is allowed by %s", path, by)
		}
	}
}

// TestDesignListsWhatIsShown keeps the list of the design the same as the one
// that is tested.
func TestDesignListsWhatIsShown(t *testing.T) {
	design, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range slices.Sorted(maps.Keys(shows)) {
		if row := "| `" + pattern + "` | " + shows[pattern] + " |"; !strings.Contains(string(design), row) {
			t.Errorf("DESIGN.md lacks the row %s", row)
		}
	}
	if rows := strings.Count(string(design), "| `*.") + strings.Count(string(design), "| `Pod.") + strings.Count(string(design), "| `Deployment."); rows != len(shows) {
		t.Errorf("DESIGN.md lists %d paths, %d are tested", rows, len(shows))
	}
}

// FuzzNothingPlantedLeaves surrounds every secret by whatever might bring a
// parser off its way: quotes, slashes, line ends, at signs, the words of a quota.
func FuzzNothingPlantedLeaves(f *testing.F) {
	f.Add(uint8(0), uint8(0), "https://user:", "@registry.example/app:1")
	f.Add(uint8(1), uint8(1), "exceeded quota: ", ", requested: pods=1, used: pods=2, limited: pods=2")
	f.Add(uint8(2), uint8(2), "sha256:", "\n\x1b[31m\u202e")
	f.Add(uint8(5), uint8(3), "[a].b{\"", "\"}?token=")
	names, answers := slices.Sorted(maps.Keys(situations)), slices.Sorted(maps.Keys(replies))
	f.Fuzz(func(t *testing.T, situation, reply uint8, before, after string) {
		if len(before)+len(after) > 200 {
			return // Cut short, a secret that leaves would not be found.
		}
		plantedIn(t, names[int(situation)%len(names)], answers[int(reply)%len(answers)], before, after)
	})
}

// TestWhatIsPublishedIsVerbatim: the record holds other words than the API server
// sent, and the status and the event that are published those very ones.
func TestWhatIsPublishedIsVerbatim(t *testing.T) {
	var h engine.Redactor
	raw := "webhook says\x1b no, see https://u:p@host.example " + strings.Repeat("x", redact.MaxMessageBytes)
	refused := &decision.Failure{Message: raw}
	h.RedactFailure(refused)
	if refused.Message == raw || len(refused.Message) > redact.MaxMessageBytes {
		t.Errorf("the record holds %q", refused.Message)
	}
	deleted := &decision.Failure{Message: engine.NotDeleted + "pod\x07 is guarded"}
	h.RedactFailure(deleted)
	for told, want := range map[string]string{
		refused.Message:                      raw,
		"Error creating: " + refused.Message: "Error creating: " + raw,
		deleted.Message:                      engine.NotDeleted + "pod\x07 is guarded",
		"Error deleting: pod  is guarded":    "Error deleting: pod\x07 is guarded",
		"Created pod: web-1":                 "Created pod: web-1",
		"":                                   "",
	} {
		if got := h.Unredact(told); got != want {
			t.Errorf("%.60q is published as %.80q, want %.80q", told, got, want)
		}
	}
}
