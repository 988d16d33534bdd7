package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// policy makes the API server note the requests of both sides' loops, without
// bodies, and nobody else's: what is noted costs time, on both sides alike.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  users:
  - loopscope
  - system:serviceaccount:kube-system:deployment-controller
  - system:serviceaccount:kube-system:replicaset-controller
  - system:serviceaccount:kube-system:replication-controller
- level: None
`

// startPlane starts a sandbox without loops whose audit log follows policy.
func startPlane(t *testing.T) *testplane.Plane {
	t.Helper()
	return testplane.Start(t, testplane.Options{Loops: "none", Fast: true, Audit: true, Policy: policy, Nodes: 10})
}

// kind is what requests are told apart by.
type kind struct {
	resource string // "deployments" or "deployments/status"
	verb     string
	code     int
}

// write reports whether such a request is meant to change something.
func (k kind) write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, k.verb)
}

func (k kind) taken() bool { return k.code >= 200 && k.code < 300 }

func (k kind) conflict() bool { return k.write() && k.code == 409 }

// bookkeeping reports whether it is a write that was taken and is of a kind that
// a loop may need more or fewer of: both sides have to create and delete the
// same pods, and events are told apart.
func (k kind) bookkeeping() bool { return k.taken() && k.tried() }

// tried is bookkeeping that was taken or not.
func (k kind) tried() bool {
	if !k.write() || k.resource == "events" {
		return false
	}
	return k.resource != "pods" || k.verb != "create" && k.verb != "delete"
}

// requests counts requests by kind.
type requests map[kind]int

func (r requests) add(more requests) {
	for k, n := range more {
		r[k] += n
	}
}

func (r requests) count(which func(kind) bool) int {
	total := 0
	for k, n := range r {
		if which(k) {
			total += n
		}
	}
	return total
}

// auditLog reads the API server's log on, from where it has been read.
type auditLog struct {
	path   string
	offset int64
}

// take returns what was written since the last call.
func (a *auditLog) take(t *testing.T) requests {
	t.Helper()
	file, err := os.Open(a.path)
	if err != nil {
		t.Fatalf("open the audit log: %v", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, a.offset, 1<<40))
	if err != nil {
		t.Fatalf("read the audit log: %v", err)
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1] // the rest is still being written
	a.offset += int64(len(whole))
	taken := requests{}
	for line := range bytes.Lines(whole) {
		taken[kindOf(t, line)]++
	}
	return taken
}

func kindOf(t *testing.T, line []byte) kind {
	t.Helper()
	var event struct {
		Verb           string
		RequestURI     string
		ObjectRef      struct{ Resource, Subresource string }
		ResponseStatus struct{ Code int }
	}
	if err := json.Unmarshal(line, &event); err != nil {
		t.Fatalf("audit line %s: %v", line, err)
	}
	resource := event.ObjectRef.Resource
	if resource == "" {
		resource, _, _ = strings.Cut(event.RequestURI, "?")
	}
	if event.ObjectRef.Subresource != "" {
		resource += "/" + event.ObjectRef.Subresource
	}
	return kind{resource, event.Verb, event.ResponseStatus.Code}
}

// settle returns everything up to the first pause of that length in which the
// loops wrote nothing.
func (a *auditLog) settle(t *testing.T, pause time.Duration) requests {
	t.Helper()
	all, last := requests{}, time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		more := a.take(t)
		all.add(more)
		if more.count(kind.write) > 0 {
			last = time.Now()
		}
		return time.Since(last) >= pause, nil
	})
	if err != nil {
		t.Fatalf("the loops did not stop writing: %v; so far %v", err, all)
	}
	return all
}
