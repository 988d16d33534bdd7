package changes

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// recorded is what an API server wrote into managedFields while people changed a
// Deployment and a ReplicaSet, and who that was by its audit log.
type recorded struct {
	Texts []string `json:"texts"`
	Steps []struct {
		By      string          `json:"by"`
		Want    string          `json:"want"` // empty where managedFields do not tell
		Changes []string        `json:"changes"`
		Before  []recordedEntry `json:"before"`
		After   []recordedEntry `json:"after"`
	} `json:"steps"`
}

type recordedEntry struct {
	Manager, Operation, Subresource, Time string
	Fields                                int // of the texts
}

func readRecorded(t testing.TB) recorded {
	t.Helper()
	var r recorded
	data, err := os.ReadFile("testdata/authors.json")
	check(t, err)
	check(t, json.Unmarshal(data, &r))
	return r
}

func (r *recorded) entries(t testing.TB, list []recordedEntry) []metav1.ManagedFieldsEntry {
	t.Helper()
	var fields []metav1.ManagedFieldsEntry
	for _, e := range list {
		f := metav1.ManagedFieldsEntry{Manager: e.Manager, Operation: metav1.ManagedFieldsOperationType(e.Operation), Subresource: e.Subresource, FieldsV1: metav1.NewFieldsV1(r.Texts[e.Fields])}
		if e.Time != "" {
			at, err := time.Parse(time.TimeOnly, e.Time)
			check(t, err)
			f.Time = &metav1.Time{Time: at}
		}
		fields = append(fields, f)
	}
	return fields
}

// What an API server wrote is told as its audit log has it, or as unknown: what
// took something away and wrote nothing, what scaled a size that nobody owned,
// and who deleted.
func TestAuthorsAsTheAuditLogHasThem(t *testing.T) {
	r := readRecorded(t)
	told := 0
	for i, s := range r.Steps {
		before := entriesOf(r.entries(t, s.Before), nil)
		got := strings.Join(NewManagers().authors(before, entriesOf(r.entries(t, s.After), before), changesOf(s.Changes...)), telemetry.BetweenManagers)
		if got != s.Want {
			t.Errorf("step %d, %v by %s: told as by %q, want %q", i, s.Changes, s.By, got, s.Want)
		}
		if got != "" {
			told++
		}
		if got != "" && got != s.By {
			t.Errorf("step %d, %v by %s: told as by %q, which is wrong", i, s.Changes, s.By, got)
		}
	}
	t.Logf("%d of %d told", told, len(r.Steps))
}

func changesOf(paths ...string) []decision.Change {
	var list []decision.Change
	for _, p := range paths {
		list = append(list, decision.Change{Field: p})
	}
	return list
}

// signedBy is an entry of the table; at 0 has no time.
func signedBy(manager, subresource string, at int64, fields string) metav1.ManagedFieldsEntry {
	f := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	if at != 0 {
		f.Time = &metav1.Time{Time: time.Unix(at, 0)}
	}
	return f
}

func applied(manager string, at int64, fields string) metav1.ManagedFieldsEntry {
	f := signedBy(manager, "", at, fields)
	f.Operation = metav1.ManagedFieldsOperationApply
	return f
}

func TestAuthors(t *testing.T) {
	const (
		size        = `{"f:spec":{"f:replicas":{}}}`
		labels      = `{"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}}}}`
		labelA      = `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`
		status      = `{"f:status":{"f:replicas":{},"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:status":{},"f:type":{}}}}}`
		counted     = `{"f:status":{"f:replicas":{},"f:unavailableReplicas":{},"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:status":{},"f:type":{}}}}}`
		image       = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:image":{}}}}}}}`
		ports       = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}}}}}}`
		selector    = `{"f:spec":{"f:template":{"f:spec":{"f:nodeSelector":{}}}}}`
		lastApplied = `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`
		surge       = `{"f:spec":{"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}}}`
	)
	type entries = []metav1.ManagedFieldsEntry
	for _, c := range []struct {
		name          string
		before, after entries
		changed, want string
	}{
		{"a new owner", entries{signedBy("helm", "", 1, size)}, entries{signedBy("kubectl-edit", "", 5, size)}, "spec.replicas", "kubectl-edit"},
		{"scale without a time beside our status of now", entries{signedBy("helm", "", 1, size), signedBy("loopscope", "status", 4, status)},
			entries{signedBy("kubectl", "scale", 0, size), signedBy("loopscope", "status", 5, status)}, "spec.replicas", "kubectl"},
		{"scaled twice, which changes no entry", entries{signedBy("kubectl", "scale", 0, size)}, entries{signedBy("kubectl", "scale", 0, size)}, "spec.replicas", "kubectl"},
		{"twice in a second", entries{signedBy("helm", "", 1, size), signedBy("kubectl-set", "", 1, image)}, entries{signedBy("helm", "", 1, size), signedBy("kubectl-set", "", 1, image)},
			"spec.template.containers[app].image", "kubectl-set"},
		{"the owner of a field beside a newer entry", entries{signedBy("helm", "", 1, size), signedBy("flux", "", 9, labels)}, entries{signedBy("helm", "", 2, size), signedBy("flux", "", 9, labels)},
			"spec.replicas", "helm"},
		{"the old version is not known", nil, entries{signedBy("helm", "", 2, size), signedBy("flux", "", 9, labels)}, "spec.replicas", "helm"},
		{"nobody owned the size, nobody does", entries{signedBy("helm", "", 1, labels)}, entries{signedBy("helm", "", 1, labels)}, "spec.replicas", ""},
		{"a removal alone", entries{signedBy("helm", "", 1, labels)}, entries{signedBy("helm", "", 1, labelA)}, "metadata.labels[b]", ""},
		{"a removal by the owner, who wrote besides", entries{signedBy("helm", "", 1, labels)}, entries{signedBy("helm", "", 2, labelA)}, "metadata.labels[b]", "helm"},
		{"a removal by another, who wrote besides", entries{signedBy("helm", "", 1, labels)}, entries{signedBy("helm", "", 1, labelA), signedBy("kubectl", "", 2, size)}, "metadata.labels[b]", "kubectl"},
		{"a removal beside a status, which takes no spec", entries{signedBy("loopscope", "status", 1, status)}, entries{signedBy("loopscope", "status", 2, status)}, "spec.minReadySeconds", ""},
		{"a removal by who is new, without a time, and owns nothing", entries{signedBy("helm", "", 1, labels)}, entries{signedBy("helm", "", 1, labelA), signedBy("kubectl", "", 0, `{}`)}, "metadata.labels[b]", "kubectl"},
		{"a removal where the old version is not known", nil, entries{signedBy("helm", "", 1, labels)}, "spec.minReadySeconds", ""},
		{"a removal that two may have done", entries{signedBy("helm", "", 1, labels)}, entries{signedBy("helm", "", 2, labelA), signedBy("flux", "", 2, size)}, "metadata.labels[b]", ""},
		{"one of many labels", entries{signedBy("helm", "", 1, labels)}, entries{signedBy("helm", "", 1, labels), signedBy("kubectl-label", "", 2, `{"f:metadata":{"f:labels":{"f:c":{}}}}`)}, "metadata.labels[c]", "kubectl-label"},
		{"two own it, one of them anew", entries{applied("helm", 1, size)}, entries{applied("helm", 1, size), applied("flux", 1, size)}, "spec.replicas", "flux"},
		{"two own it, one of them anew, beside another who wrote", entries{applied("helm", 1, size)}, entries{applied("helm", 1, size), applied("flux", 1, size), signedBy("argo", "", 2, labels)}, "spec.replicas", "flux"},
		{"two own it, and neither shows", entries{applied("helm", 1, size), applied("flux", 1, size)}, entries{applied("helm", 1, size), applied("flux", 1, size)}, "spec.replicas", ""},
		{"a condition", entries{signedBy("kcm", "status", 1, status)}, entries{signedBy("kcm", "status", 2, status)}, "status.conditions[Available]", "kcm"},
		{"a counter that became 0 within the second", entries{signedBy("helm", "", 1, size), signedBy("kcm", "status", 1, counted)}, entries{signedBy("helm", "", 1, size), signedBy("kcm", "status", 1, status)}, "status.unavailableReplicas", "kcm"},
		{"a counter that became 0, which two may have written", entries{signedBy("kcm", "status", 1, counted), signedBy("flux", "status", 1, `{"f:status":{"f:a":{}}}`)},
			entries{signedBy("kcm", "status", 1, status), signedBy("flux", "status", 1, `{"f:status":{"f:a":{}}}`)}, "status.unavailableReplicas", ""},
		{"a counter that nobody owned", entries{signedBy("kcm", "status", 1, status)}, entries{signedBy("kcm", "status", 1, status)}, "status.unavailableReplicas", ""},
		{"a counter that one lost who writes no status any more", entries{signedBy("kcm", "status", 1, status), signedBy("old", "status", 1, counted)}, entries{signedBy("kcm", "status", 1, status)}, "status.unavailableReplicas", ""},
		{"a counter where the old version is not known", nil, entries{signedBy("kcm", "status", 1, status)}, "status.unavailableReplicas", ""},
		{"a list known by its ports", entries{signedBy("helm", "", 1, ports)}, entries{signedBy("helm", "", 2, ports)}, "spec.template.containers[app].ports[http]", "helm"},
		{"a list of which a part went", entries{signedBy("helm", "", 1, ports), signedBy("kubectl-set", "", 1, image)},
			entries{signedBy("helm", "", 1, `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:ports":{}}}}}}}`), signedBy("kubectl-set", "", 1, image)}, "spec.template.containers[app].ports[http]", ""},
		{"a map that is owned as a whole", entries{signedBy("helm", "", 1, selector)}, entries{signedBy("flux", "", 2, selector)}, "spec.template.nodeSelector[disk]", "flux"},
		{"a rolling update", entries{signedBy("helm", "", 1, surge)}, entries{signedBy("flux", "", 1, surge)}, "spec.strategy.maxSurge", "flux"},
		{"the template as a whole", entries{signedBy("helm", "", 1, selector), signedBy("flux", "", 1, image)}, entries{signedBy("helm", "", 1, selector), signedBy("flux", "", 2, image)}, "spec.template", "flux"},
		{"the template as a whole, beside a newer entry", entries{signedBy("helm", "", 1, selector)}, entries{signedBy("helm", "", 1, selector), signedBy("flux", "", 2, labels)}, "spec.template", "helm"},
		{"the template as a whole, and the old version is not known", nil, entries{signedBy("helm", "", 1, selector)}, "spec.template", ""},
		{"old writers put together", entries{signedBy("helm", "", 1, size)}, entries{signedBy("ancient-changes", "", 1, size)}, "spec.replicas", ""},
		{"a deletion", entries{signedBy("helm", "", 1, size)}, entries{signedBy("helm", "", 2, size)}, "metadata.deletionTimestamp", ""},
		{"something that causes do not name", entries{signedBy("helm", "", 1, size)}, entries{signedBy("helm", "", 2, size)}, "", "helm"},
		{"something that causes do not name, and nobody shows", entries{signedBy("helm", "", 1, size)}, entries{signedBy("helm", "", 1, size)}, "", ""},
		{"what the API server rewrites where it is applied", entries{applied("helm", 1, lastApplied)}, entries{applied("helm", 1, lastApplied), applied("flux", 1, size)}, pathApplied, "flux"},
		{"what a client rewrites where nothing is applied", entries{signedBy("helm", "", 1, lastApplied)}, entries{signedBy("helm", "", 1, lastApplied), signedBy("flux", "", 2, size)}, pathApplied, "helm"},
		{"a size beside what is applied", entries{applied("helm", 1, size)}, entries{applied("helm", 1, size), applied("flux", 1, labels)}, "spec.replicas", "helm"},
		{"no entries", entries{signedBy("helm", "", 1, size)}, nil, "spec.replicas", ""},
		{"entries that cannot be read", entries{signedBy("helm", "", 1, size)}, entries{signedBy("helm", "", 1, `{"f:spec":`)}, "spec.replicas", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before []signed
			if c.before != nil {
				before = entriesOf(c.before, nil)
			}
			var changes []decision.Change
			if c.changed != "" {
				changes = changesOf(c.changed)
			}
			if got := strings.Join(NewManagers().authors(before, entriesOf(c.after, before), changes), telemetry.BetweenManagers); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Versions that came together have several authors.
func TestSeveralAuthors(t *testing.T) {
	before := entriesOf([]metav1.ManagedFieldsEntry{signedBy("helm", "", 1, `{"f:spec":{"f:replicas":{},"f:paused":{}}}`)}, nil)
	after := entriesOf([]metav1.ManagedFieldsEntry{signedBy("kubectl", "scale", 0, `{"f:spec":{"f:replicas":{}}}`), signedBy("kubectl-edit", "", 2, `{"f:spec":{"f:paused":{}}}`)}, before)
	if got := NewManagers().authors(before, after, changesOf("spec.replicas", "spec.paused")); !slices.Equal(got, []string{"kubectl", "kubectl-edit"}) {
		t.Errorf("%v", got)
	}
	if got := NewManagers().authors(nil, before, changesOf("spec.replicas", "spec.paused")); !slices.Equal(got, []string{"helm"}) {
		t.Errorf("of one who changed two fields: %v", got)
	}
}

// The template as a whole says no more than what is below it: who owns another part of it,
// and wrote something besides, did not change the image.
func TestTemplateHasTheAuthorsOfItsFields(t *testing.T) {
	const (
		selector = `{"f:spec":{"f:template":{"f:spec":{"f:nodeSelector":{}}}}}`
		image    = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:image":{}}}}}}}`
	)
	versions := func(at int64) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{signedBy("helm", "", at, selector), signedBy("kubectl-set", "", 1, image)}
	}
	before := entriesOf(versions(1), nil)
	if got := NewManagers().authors(before, entriesOf(versions(2), before), changesOf("spec.template.containers[app].image", "spec.template")); !slices.Equal(got, []string{"kubectl-set"}) {
		t.Errorf("%v", got)
	}
}

// A handler asks late: the table knows the newest versions, and no more of them.
func TestManagersKeepTheNewestVersions(t *testing.T) {
	m := NewManagers()
	for i := range maxVersions + 3 {
		_, err := m.Strip(sizedObject(strconv.Itoa(i+1), 1, signedBy("helm", "", int64(i+1), `{}`)))
		check(t, err)
	}
	if n := len(m.table["u"]); n != maxVersions {
		t.Errorf("%d versions are kept, want %d", n, maxVersions)
	}
	if m.at("u", "3") != nil || m.at("u", "4") == nil || m.at("u", "11") == nil {
		t.Error("not the newest are kept")
	}
	if _, err := m.Strip(sizedObject("11", 1, signedBy("flux", "", 1, `{}`))); err != nil || m.at("u", "11")[0].by.Value().manager != "helm" {
		t.Error("a version that is known was taken for another")
	}
}

// Fuzzing reads whatever an API server may write as fieldsV1, with whatever paths.
// Nothing may panic, and nobody is named who has no entry.
func FuzzAuthors(f *testing.F) {
	r := readRecorded(f)
	for i, s := range r.Steps {
		for _, path := range s.Changes {
			f.Add(r.Texts[i%len(r.Texts)], r.Texts[(i+1)%len(r.Texts)], path, int64(i%3))
		}
	}
	f.Fuzz(func(t *testing.T, old, new, path string, at int64) {
		before := entriesOf([]metav1.ManagedFieldsEntry{signedBy("helm", "", 1, old), signedBy("kcm", "status", 1, new)}, nil)
		after := entriesOf([]metav1.ManagedFieldsEntry{signedBy("helm", "", 1, new), signedBy("flux", "scale", at, old)}, before)
		for _, name := range append(NewManagers().authors(before, after, changesOf(path)), NewManagers().creators(after)...) {
			if name != "helm" && name != "flux" {
				t.Errorf("%q has no entry", name)
			}
		}
		tree := fieldTreeOf(old)
		if tree.beyond(tree) {
			t.Error("a tree is beyond itself")
		}
		if _, got := tree.find(stepsOf(path)); got == reachNone && path != "" && fieldTreeOf("").beyond(tree) {
			t.Error("nothing is beyond something")
		}
	})
}

// ReplicaSets of two Deployments share their texts, which have their owners' UIDs.
func TestTextsAreSharedByOwners(t *testing.T) {
	text := `{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"%s\"}":{}}},"f:spec":{"f:replicas":{}}}`
	list := entriesOf([]metav1.ManagedFieldsEntry{signedBy("kcm", "", 1, strings.Replace(text, "%s", "6f220291", 1)), signedBy("kcm", "", 1, strings.Replace(text, "%s", "0a", 1))}, nil)
	if list[0] != list[1] {
		t.Errorf("%q and %q", list[0].fields.Value(), list[1].fields.Value())
	}
	if _, got := fieldTreeOf(list[0].fields.Value()).find(stepsOf("metadata.ownerReferences")); got != reachPart {
		t.Errorf("owner references are owned %v", got)
	}
	for odd, want := range map[string]string{
		`"k:{\"uid\":\"`: `"k:{\"uid\":\"`, `"k:{\"uid\":\"x`: `"k:{\"uid\":\"x`, "": "",
		`"k:{\"uid\":\"x\"}"`: `"k:{\"uid\":\"\"}"`, `"k:{\"uid\":\"\"}"`: `"k:{\"uid\":\"\"}"`,
	} {
		if got := string(withoutOwner([]byte(odd))); got != want {
			t.Errorf("%q became %q, want %q", odd, got, want)
		}
	}
}

// BenchmarkStrip is what the transform costs an event: of an object whose status
// was written, which is what most events are, and of one that is new.
func BenchmarkStrip(b *testing.B) {
	r := readRecorded(b)
	for _, c := range []struct {
		name   string
		uids   int
		fields []metav1.ManagedFieldsEntry
	}{
		{"status", 1, r.entries(b, r.Steps[3].After)},
		{"new", 1 << 20, r.entries(b, r.Steps[3].After)},
		{"ReplicaSet", 1, r.entries(b, r.Steps[len(r.Steps)-3].After)},
	} {
		b.Run(c.name, func(b *testing.B) {
			fields, uids := c.fields, c.uids
			m := NewManagers()
			d := sizedObject("", 1)
			status := len(fields) - 1
			entries := slices.Clone(fields)
			b.ReportAllocs()
			for i := range b.N {
				entries[status].Time = &metav1.Time{Time: time.Unix(int64(i), 0)}
				d.UID, d.ResourceVersion, d.ManagedFields = types.UID(strconv.Itoa(i%uids)), strconv.Itoa(i), entries
				if _, err := m.Strip(d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAuthors is what naming the author of a change costs.
func BenchmarkAuthors(b *testing.B) {
	r := readRecorded(b)
	s := r.Steps[3]
	before := entriesOf(r.entries(b, s.Before), nil)
	after := entriesOf(r.entries(b, s.After), before)
	changes := changesOf(s.Changes...)
	m := NewManagers()
	b.ReportAllocs()
	for range b.N {
		m.authors(before, after, changes)
	}
}

// Of several owners of changed fields those are told whose entries show that they wrote, and
// all of them where none does.
func TestOwnersThatWrote(t *testing.T) {
	entry := func(manager string, at, was int64) ownershipChange {
		return ownershipChange{signer: signer{manager: manager}, at: at, wasAt: was, known: true, had: true}
	}
	for name, c := range map[string]struct {
		owners []string
		claims []ownershipChange
		want   []string
	}{
		"one":              {[]string{"helm"}, []ownershipChange{entry("helm", 1, 1), entry("flux", 2, 1)}, []string{"helm"}},
		"one of two wrote": {[]string{"helm", "flux"}, []ownershipChange{entry("helm", 1, 1), entry("flux", 2, 1)}, []string{"flux"}},
		"both wrote":       {[]string{"helm", "flux"}, []ownershipChange{entry("helm", 2, 1), entry("flux", 2, 1)}, []string{"helm", "flux"}},
		"neither shows":    {[]string{"helm", "flux"}, []ownershipChange{entry("helm", 1, 1), entry("flux", 1, 1), entry("kcm", 2, 1)}, []string{"helm", "flux"}},
	} {
		if got := provenWriters(c.owners, c.claims); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What took the place of another object of its name was made by whoever signed it, whatever
// changed in between.
func TestBetweenTwoObjects(t *testing.T) {
	m := NewManagers()
	old, is := sizedObject("1", 3, signedBy("helm", "", 1, `{"f:spec":{"f:replicas":{}}}`)), sizedObject("2", 5, signedBy("helm", "", 1, `{"f:spec":{"f:replicas":{}}}`))
	other := sizedObject("3", 5, signedBy("helm", "", 1, `{"f:spec":{"f:replicas":{}}}`), signedBy("flux", "", 1, `{"f:spec":{"f:paused":{}}}`))
	other.UID = "another"
	for _, d := range []*appsv1.Deployment{old, is, other} {
		_, err := m.Strip(d)
		check(t, err)
	}
	if again := entriesOf([]metav1.ManagedFieldsEntry{signedBy("helm", "", 1, `{"f:spec":{"f:replicas":{}}}`)}, m.at("u", "1")); &again[0] != &m.at("u", "1")[0] {
		t.Error("what did not change is kept once more")
	}
	two := func(at int64) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{signedBy("helm", "", at, "{}"), signedBy("flux", "", 1, "{}")}
	}
	if before := entriesOf(two(1), nil); entriesOf(two(2), before)[0].at != 2 {
		t.Error("a change of the first entry is lost")
	}
	if got := m.Wrote(old, is, changesOf("spec.replicas")); !slices.Equal(got, []string{"helm"}) {
		t.Errorf("changed by %v", got)
	}
	if got := m.Wrote(is, other, changesOf("spec.replicas")); len(got) != 0 {
		t.Errorf("made by %v, and two may have", got)
	}
}

// Who made an object, who wrote it between two versions that informers have seen, and who
// wrote it since one of them.
func TestWhoWrote(t *testing.T) {
	const size = `{"f:spec":{"f:replicas":{}}}`
	m := NewManagers()
	old, is, live := sizedObject("1", 3, signedBy("helm", "", 1, size)), sizedObject("2", 5, signedBy("flux", "", 2, size)), sizedObject("3", 7, signedBy("kubectl", "", 3, size))
	for _, d := range []*appsv1.Deployment{old, is} {
		_, err := m.Strip(d)
		check(t, err)
	}
	for name, c := range map[string]struct {
		got  []string
		want string
	}{
		"made":             {m.Made(old), "helm"},
		"made, not known":  {m.Made(live), ""},
		"wrote":            {m.Wrote(old, is, changesOf("spec.replicas")), "flux"},
		"wrote since":      {m.WroteSince(is, live, changesOf("spec.replicas")), "kubectl"},
		"wrote, not known": {m.Wrote(old, live, changesOf("spec.replicas")), ""},
	} {
		if got := strings.Join(c.got, telemetry.BetweenManagers); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What has no managedFields, and what is no object, passes as it is and is not remembered.
func TestStripPassesTheRest(t *testing.T) {
	m := NewManagers()
	for _, obj := range []any{sizedObject("1", 3), cache.DeletedFinalStateUnknown{Key: "shop/web"}, "hunter2", nil} {
		if got, err := m.Strip(obj); err != nil || !reflect.DeepEqual(got, obj) || m.Len() != 0 {
			t.Errorf("%v became %v, %v, and %d are remembered", obj, got, err, m.Len())
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p", ManagedFields: []metav1.ManagedFieldsEntry{signedBy("kubelet", "", 1, `{}`)}}}
	if _, err := m.Strip(pod); err != nil || pod.ManagedFields != nil || m.Len() != 0 {
		t.Errorf("a pod has %v, %v, and %d are remembered", pod.ManagedFields, err, m.Len())
	}
}

// No more texts are kept taken apart than that.
func TestTreesAreBounded(t *testing.T) {
	m := NewManagers()
	for i := range maxTrees + 1 {
		m.tree(unique.Make(`{"f:` + strconv.Itoa(i) + `":{}}`))
		if want := i%maxTrees + 1; len(m.trees) != want {
			t.Fatalf("%d are kept, want %d", len(m.trees), want)
		}
		if m.tree(unique.Make(`{"f:` + strconv.Itoa(i) + `":{}}`)); len(m.trees) != i%maxTrees+1 {
			t.Fatalf("one that is known was taken apart again: %d are kept", len(m.trees))
		}
	}
}

// How a text of fieldsV1 has a path: by itself, in part, or not at all.
func TestReachOfAPath(t *testing.T) {
	for _, c := range []struct {
		text, path string
		want       reach
	}{
		{`{"f:a":{}}`, "a", reachWhole},
		{`{"f:a":{".":{}}}`, "a", reachWhole},
		{`{"f:a":{".":{},"f:b":{}}}`, "a", reachPart},
		{`{"f:a":{}}`, "a.b", reachPart},
		{`{"f:a":{"f:b":{}}}`, "a.c", reachNone},
		{`{}`, "a", reachNone},
		{`{"f:a":{"k:{\"name\":\"x\"}":{}}}`, "a[x]", reachWhole},
		{`{"f:a":{"k:{\"type\":\"x\"}":{}}}`, "a[y]", reachNone},
		{`{"f:a":{"k:{\"containerPort\":80}":{"f:name":{}}}}`, "a[http]", reachPart},
		{`{"f:a":{"k:{\"containerPort\":80}":{"f:name":{}}}}`, "a.http", reachNone},
		{`{"f:a":{"v:\"x\"":{}}}`, "a[y]", reachPart},
		{`{"f:a":{"i:0":{}}}`, "a[y]", reachPart},
		{`{"f:a":{"k:{\"name\":":{}}}`, "a[x]", reachNone},
		{`{"f:a":{"f:b":{}}}`, "a[c]", reachNone},
		{`{"f:a":{"k:{\"name\":\"x\"}":{}}}`, "a[y]", reachNone},
		{`{"f:a":{"k:{\"name\":\"x\"}":{}}}`, "a.x", reachNone},
		{`{"f:spec":{"f:a":{"f:b":{}}}}`, "spec.a.b", reachWhole},
		{`{"f:a":{"{\"name\":\"x\"}":{}}}`, "a[x]", reachNone},
		{`{"f:a":1,"f:b":{}}`, "b", reachNone},
		{`{"f:a":{"f:b.c":{},"f:d]e":{}}}`, "a[b.c]", reachWhole},
		{`{"f:a":{"f:b.c":{},"f:d]e":{}}}`, "a[d]e]", reachWhole},
		{`{"f:a":{"f:b":{"f:c":{}}}}`, "a[b][c]", reachWhole},
		{`{"f:a":{"f:b":{"f:c":{}}}}`, "a[b].c", reachWhole},
		{`{"f:a":{"f:b":{}}}`, "a[b", reachWhole},
		{`{"f:a":{"f:":{"f:b":{}}}}`, "a..b", reachWhole},
		{`{"f:spec":{"f:template":{"f:metadata":{"f:labels":{}}}}}`, "spec.template.metadata.labels", reachWhole},
		{`{"f:spec":{"f:template":{"f:spec":{"f:hostNetwork":{}}}}}`, "spec.template.hostNetwork", reachWhole},
		{`{"f:spec":{"f:strategy":{"f:type":{}}}}`, "spec.strategy.type", reachWhole},
		{`{"f:spec":{"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}}}`, "spec.strategy.maxSurge", reachWhole},
		{`{"f:spec":{"f:template":{"f:spec":{"f:hostNetwork":{}}}}}`, "spec.template.spec.hostNetwork", reachWhole},
		{`{"f:spec":{"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}}}`, "spec.strategy.rollingUpdate.maxSurge", reachWhole},
		{`{"f:data":{"f:template":{"f:x":{}}}}`, "data.template.x", reachWhole},
	} {
		if _, got := fieldTreeOf(c.text).find(stepsOf(c.path)); got != c.want {
			t.Errorf("%s has %s %v, want %v", c.text, c.path, got, c.want)
		}
	}
}

// Which endpoint takes which change.
func TestWhatAnEndpointTakes(t *testing.T) {
	for _, c := range []struct {
		subresource string
		takes, not  []string
	}{
		{"", []string{"", "spec.replicas", "metadata.labels[a]"}, []string{"status.replicas"}},
		{"status", []string{"", "status.replicas", "metadata.labels[a]"}, []string{"spec.replicas"}},
		{"scale", []string{"", "spec.replicas"}, []string{"spec.paused", "metadata.labels[a]", "status.replicas"}},
		{"other", []string{"", "spec.replicas", "status.replicas"}, nil},
	} {
		entry := &ownershipChange{signer: signer{subresource: c.subresource}}
		for _, path := range c.takes {
			if !entry.mayWrite(path) {
				t.Errorf("%q takes no %q", c.subresource, path)
			}
		}
		for _, path := range c.not {
			if entry.mayWrite(path) {
				t.Errorf("%q takes %q", c.subresource, path)
			}
		}
	}
}

// A tree loses something at a path where it had it, or had more of it.
func TestLosses(t *testing.T) {
	for _, c := range []struct {
		old, now string
		want     bool
	}{
		{`{"f:a":{"f:b":{}}}`, `{"f:a":{"f:b":{}}}`, false},
		{`{"f:a":{"f:b":{}}}`, `{}`, true},
		{`{"f:a":{"f:b":{}}}`, `{"f:c":{}}`, true},
		{`{"f:a":{}}`, `{}`, true},
		{`{"f:a":{"f:b":{},"f:c":{}}}`, `{"f:a":{"f:b":{}}}`, true},
		{`{"f:a":{"f:b":{}}}`, `{"f:a":{"f:b":{},"f:c":{}}}`, false},
		{`{"f:c":{}}`, `{}`, false},
		{`{"f:c":{}}`, `{"f:d":{}}`, false},
	} {
		if got := losesAt([2]fieldTree{fieldTreeOf(c.old), fieldTreeOf(c.now)}, stepsOf("a")); got != c.want {
			t.Errorf("from %s to %s: %v", c.old, c.now, got)
		}
	}
}

// sizedObject is a version of a Deployment as an informer brings it.
func sizedObject(rv string, n int32, entries ...metav1.ManagedFieldsEntry) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: rv, ManagedFields: entries}, Spec: appsv1.DeploymentSpec{Replicas: &n}}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestObjectsAreBounded: where objects are not forgotten, the newest has room and others have none,
// and a new version of one that is known needs none.
func TestObjectsAreBounded(t *testing.T) {
	m := NewManagers()
	m.KeepAtMost(3)
	see := func(uid, rv string) *metav1.PartialObjectMetadata {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: rv, ManagedFields: []metav1.ManagedFieldsEntry{signedBy("helm", "", 1, "{}")}}}
		_, err := m.Strip(o)
		check(t, err)
		return o
	}
	for i := range 10 {
		if got := m.Made(see(strconv.Itoa(i), "1")); m.Len() != min(i+1, 3) || !slices.Equal(got, []string{"helm"}) {
			t.Errorf("of %d objects %d are remembered, the newest as made by %v", i+1, m.Len(), got)
		}
	}
	see("9", "2")
	if m.Len() != 3 {
		t.Errorf("a new version of one leaves %d", m.Len())
	}
	m.KeepAtMost(0)
	for i := range 10 {
		see(strconv.Itoa(i), "3")
	}
	if m.Len() != 10 {
		t.Errorf("without a bound %d are remembered", m.Len())
	}
}

// TestMakersOfPods: who made a pod is remembered by its first version, of the newest pods alone, and only
// where somebody asks for that.
func TestMakersOfPods(t *testing.T) {
	pod := func(uid, rv, manager string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: rv, ManagedFields: []metav1.ManagedFieldsEntry{signedBy(manager, "", 1, `{"f:spec":{}}`)}}}
	}
	strip := func(m *Managers, p *corev1.Pod) *corev1.Pod {
		if _, err := m.Strip(p); err != nil || p.ManagedFields != nil {
			t.Fatal(err, p.ManagedFields)
		}
		return p
	}
	m := NewManagers()
	if got := m.Made(strip(m, pod("a", "1", "helm"))); len(got) != 0 || m.Len() != 0 {
		t.Errorf("%v of a pod that nobody asks for", got)
	}
	m.KeepPods()
	first := strip(m, pod("a", "1", "helm"))
	strip(m, pod("a", "2", "kubelet"))
	if got := m.Made(first); !slices.Equal(got, []string{"helm"}) {
		t.Errorf("it was made by %v", got)
	}
	for i := range maxPods {
		strip(m, pod(strconv.Itoa(i), "1", "helm"))
	}
	if got := m.Made(first); m.Len() != maxPods || len(got) != 0 {
		t.Errorf("%d pods are remembered, of the oldest %v", m.Len(), got)
	}
}
