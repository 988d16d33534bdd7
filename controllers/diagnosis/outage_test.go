package diagnosis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestDone: what still has to be done names the kind of the write.
func TestDone(t *testing.T) {
	for kind, want := range map[decision.ActionKind]string{
		decision.CreateReplicaSet: "created", decision.DeleteReplicaSet: "deleted", decision.UpdateReplicaSet: "written",
		decision.UpdateDeployment: "written", decision.Adopt: "adopted", decision.Release: "released",
		decision.CreatePods: "created", decision.DeletePods: "deleted", "": "written",
	} {
		if got := diagnosis.Done(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}

// TestUnanswered: only what no API server said anything to was not answered.
func TestUnanswered(t *testing.T) {
	failure := func(code int, reason, message string) *decision.Failure {
		return &decision.Failure{Code: code, Reason: reason, Message: message}
	}
	for _, c := range []struct {
		name string
		o    *decision.Outcome
		want string
	}{
		{"nothing was written", nil, ""},
		{"written", &decision.Outcome{State: decision.Written}, ""},
		{"nothing is known of the failure", &decision.Outcome{State: decision.Unanswered}, ""},
		{"not there", &decision.Outcome{State: decision.Unanswered, Failure: failure(0, decision.Unreachable, "dial tcp: connection refused")}, "the API server does not answer (connection refused)"},
		{"overloaded", &decision.Outcome{State: decision.Unanswered, Failure: failure(503, "ServiceUnavailable", "try later")}, "the API server cannot serve (try later)"},
		{"a certificate that has run out", &decision.Outcome{State: decision.Unanswered, Failure: failure(401, "Unauthorized", "Unauthorized")}, "the API server does not accept this process's credentials (Unauthorized)"},
		{"without etcd", &decision.Outcome{State: decision.Unanswered, Failure: failure(500, "", "etcdserver: request timed out")}, "the API server has lost its etcd (request timed out)"},
		{"refused", &decision.Outcome{State: decision.Refused, Failure: failure(403, "Forbidden", "no")}, ""},
		{"refused by nobody", &decision.Outcome{State: decision.Refused, Failure: failure(0, decision.Unreachable, "EOF")}, "the API server does not answer (EOF)"},
		{"done in part, and then not there", &decision.Outcome{State: decision.Partly, Done: 1, Failed: 1, Failure: failure(0, decision.Unreachable, "EOF")}, "the API server does not answer (EOF)"},
		{"done in part, and then a certificate that has run out", &decision.Outcome{State: decision.Partly, Done: 1, Failed: 1, Failure: failure(401, "Unauthorized", "Unauthorized")}, "the API server does not accept this process's credentials (Unauthorized)"},
		{"done in part, and then refused", &decision.Outcome{State: decision.Partly, Done: 1, Failed: 1, Failure: failure(403, "Forbidden", "no")}, ""},
		{"in conflict", &decision.Outcome{State: decision.Conflicted, Failure: failure(409, "Conflict", "changed")}, ""},
		{"not tried", &decision.Outcome{State: decision.NotTried, Failure: failure(0, decision.Unreachable, "EOF")}, ""},
		{"at length", &decision.Outcome{State: decision.Unanswered, Failure: failure(0, "", strings.Repeat("x", 200))}, "the API server does not answer (" + strings.Repeat("x", 26) + " … " + strings.Repeat("x", 51) + ")"},
	} {
		why, ok := diagnosis.Unanswered(c.o)
		if got := why.At(noon); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
}

func TestAgain(t *testing.T) {
	for want, try := range map[string]decision.Try{
		"Continues as soon as it answers":                     {},
		"Continues as soon as it answers; try 1":              {Number: 1},
		"Continues as soon as it answers, again in 5s":        {Next: noon.Add(5 * time.Second)},
		"Continues as soon as it answers; try 3, again in 5s": {Number: 3, Next: noon.Add(5 * time.Second)},
	} {
		if got := diagnosis.Again(try).At(noon); got != want {
			t.Errorf("%+v: %q, want %q", try, got, want)
		}
	}
}
