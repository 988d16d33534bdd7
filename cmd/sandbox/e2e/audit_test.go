package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// request is one line of the audit log.
type request struct {
	Stage      string
	Verb       string
	RequestURI string
	UserAgent  string
	User       struct{ Username string }
	// ImpersonatedUser tells managers apart that tests start under one name.
	ImpersonatedUser struct{ UID string }
	ObjectRef        struct {
		Resource, Subresource, Namespace, Name, UID string
	}
	ResponseStatus struct{ Code int }
	RequestObject  body
	ResponseObject body
	// Annotations say who decided that it may be sent.
	Annotations map[string]string

	RequestReceivedTimestamp, StageTimestamp time.Time
}

// body is what the tests read of a request's or a response's object.
type body struct {
	Metadata struct {
		Name, Namespace, UID, ResourceVersion string
	}
	Spec struct {
		Replicas *int64
	}
	Preconditions struct {
		ResourceVersion string
	}
}

// UnmarshalJSON takes objects; a JSON patch is a list and has nothing to read.
func (b *body) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	type plain body
	return json.Unmarshal(data, (*plain)(b))
}

// ours reports whether Loopscope sent it.
func (r *request) ours() bool { return strings.HasPrefix(r.UserAgent, "loopscope") }

// manager is the field manager that the API server took it for: the one that it
// names, or else what its user agent begins with.
func (r *request) manager() string {
	if at, err := url.Parse(r.RequestURI); err == nil && at.Query().Get("fieldManager") != "" {
		return at.Query().Get("fieldManager")
	}
	name, _, _ := strings.Cut(r.UserAgent, "/")
	return name
}

// write reports whether it was meant to change something.
func (r *request) write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb)
}

// unauthorized reports whether there is no right to it. Others may refuse it as well, as a quota.
func (r *request) unauthorized() bool {
	return r.ResponseStatus.Code == 401 || r.Annotations["authorization.k8s.io/decision"] == "forbid"
}

func (r *request) taken() bool { return r.ResponseStatus.Code >= 200 && r.ResponseStatus.Code < 300 }

// resource is "deployments" or "deployments/status".
func (r *request) resource() string {
	if r.ObjectRef.Subresource != "" {
		return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
	}
	return r.ObjectRef.Resource
}

// object is "deployments shop/web": subresources are of the same object.
func (r *request) object() string {
	name := r.ObjectRef.Name
	if name == "" {
		name = r.ResponseObject.Metadata.Name
	}
	return r.ObjectRef.Resource + " " + r.ObjectRef.Namespace + "/" + name
}

// rv is the resourceVersion that the write returned; 0 where there was none.
func (r *request) rv() uint64 { return parseRV(r.ResponseObject.Metadata.ResourceVersion) }

// basis is the resourceVersion that the write was guarded by; 0 for none.
func (r *request) basis() uint64 {
	if rv := parseRV(r.RequestObject.Preconditions.ResourceVersion); rv != 0 {
		return rv
	}
	return parseRV(r.RequestObject.Metadata.ResourceVersion)
}

func parseRV(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0 // most often empty
	}
	return n
}

// readAudit returns every finished request of the log so far.
func readAudit(t testing.TB, path string) []request {
	t.Helper()
	return of(readStages(t, path), func(r *request) bool { return r.Stage == "ResponseComplete" })
}

// readStages returns every stage of every request of the log so far: a watch that goes on is in
// it from its first answer.
func readStages(t testing.TB, path string) []request {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatalf("open audit log: %v", err)
	}
	defer file.Close()
	var all []request
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return all // what has no line end is still being written
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("audit line %s: %v", line, err)
		}
		all = append(all, r)
	}
}

// of keeps the requests that match.
func of(all []request, keep func(*request) bool) []request {
	var kept []request
	for i := range all {
		if keep(&all[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

func inNamespace(namespace string) func(*request) bool {
	return func(r *request) bool { return r.ObjectRef.Namespace == namespace }
}

// tabulate counts requests by resource, verb and code.
func tabulate(all []request) string {
	type row struct {
		resource, verb string
		code           int
	}
	counts := map[row]int{}
	for i := range all {
		counts[row{all[i].resource(), all[i].Verb, all[i].ResponseStatus.Code}]++
	}
	rows := make([]row, 0, len(counts))
	for r := range counts {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return strings.Compare(fmt.Sprint(a.resource, " ", a.verb, a.code), fmt.Sprint(b.resource, " ", b.verb, b.code))
	})
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "RESOURCE\tVERB\tCODE\tREQUESTS")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", r.resource, r.verb, r.code, counts[r])
	}
	_ = table.Flush() // into memory
	return text.String()
}

// conflicts are the writes of ours that were answered 409, and whether somebody
// else had written the object since the resourceVersion we knew.
func conflicts(all []request) (explained, ownMaking []request) {
	foreign := map[string][]uint64{}
	for i := range all {
		if r := &all[i]; r.write() && r.taken() && !r.ours() {
			foreign[r.object()] = append(foreign[r.object()], r.rv())
		}
	}
	for i := range all {
		r := &all[i]
		if !r.ours() || !r.write() || r.ResponseStatus.Code != 409 {
			continue
		}
		basis := r.basis()
		if basis != 0 && slices.ContainsFunc(foreign[r.object()], func(rv uint64) bool { return rv > basis }) {
			explained = append(explained, *r)
		} else {
			ownMaking = append(ownMaking, *r)
		}
	}
	return explained, ownMaking
}

// explainConflicts holds a namespace in which somebody else wrote at any moment
// to this: every 409 of ours is due to another writer.
func explainConflicts(t *testing.T, path, namespace string) {
	t.Helper()
	explainConflictsBut(t, path, namespace, func([]request, *request) bool { return false })
}

// explainConflictsBut excuses some of the others.
func explainConflictsBut(t *testing.T, path, namespace string, excused func(all []request, r *request) bool) {
	t.Helper()
	all := of(readAudit(t, path), inNamespace(namespace))
	explained, ownMaking := conflicts(all)
	t.Logf("%d conflicts with another writer, %d of our own making", len(explained), len(ownMaking))
	for i := range ownMaking {
		say := t.Errorf
		if excused(all, &ownMaking[i]) {
			say = t.Logf
		}
		say("conflict of our own making: %s", surroundings(all, &ownMaking[i]))
	}
}

// firstSince excuses a write that was the first of its object to be answered after the API
// server was killed. What was written right before that may have got no answer, and is in
// no cache until the object is listed again.
func firstSince(killed time.Time) func([]request, *request) bool {
	return func(all []request, r *request) bool {
		return r.StageTimestamp.After(killed) && !slices.ContainsFunc(all, func(x request) bool {
			return x.write() && x.object() == r.object() && x.StageTimestamp.After(killed) && x.StageTimestamp.Before(r.StageTimestamp)
		})
	}
}

// noConflicts holds a namespace in which others wrote only to what was settled
// to this: no 409 at all.
func noConflicts(t *testing.T, path, namespace string) {
	t.Helper()
	all := of(readAudit(t, path), inNamespace(namespace))
	explained, ownMaking := conflicts(all)
	for _, r := range append(explained, ownMaking...) {
		t.Errorf("conflict in a quiet namespace: %s", surroundings(all, &r))
	}
}

// surroundings is a conflict with the writes to the same object around it, or of versions from its own on.
func surroundings(all []request, conflict *request) string {
	text := fmt.Sprintf("%s %s of %s on rv %d", conflict.Verb, conflict.resource(), conflict.object(), conflict.basis())
	for i := range all {
		r := &all[i]
		apart := r.StageTimestamp.Sub(conflict.StageTimestamp)
		if r.write() && r.object() == conflict.object() && (apart.Abs() < time.Second || apart < 0 && r.rv() >= conflict.basis()) {
			text += fmt.Sprintf("\n  %s to %s %s %s by %s on rv %d: %d, rv %d", r.RequestReceivedTimestamp.Format("15:04:05.000000"),
				r.StageTimestamp.Format("05.000000"), r.Verb, r.resource(), r.UserAgent, r.basis(), r.ResponseStatus.Code, r.rv())
		}
	}
	return text
}
