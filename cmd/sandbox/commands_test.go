package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/internal/supervise"
)

// controlled is a supervisor with its control socket and record, as in a
// running sandbox, found by the commands of this test alone.
func controlled(t *testing.T, names ...string) (*supervise.Supervisor, *record) {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	s := supervised(t, names...)
	st := newTestState(t)
	// Test names make long paths; the socket must then lie elsewhere.
	st.Dir = filepath.Join(st.Dir, strings.Repeat("long", 30))
	if err := os.MkdirAll(st.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := st.prepareSocket(); err != nil {
		t.Fatal(err)
	}
	control, err := serveControl(st.socketPath(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = control.close() })
	r := newRecord(st, os.Getpid(), time.Now())
	if err := r.save(); err != nil {
		t.Fatal(err)
	}
	return s, r
}

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newRootCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestCommandsTalkToTheRunningSandbox(t *testing.T) {
	s, r := controlled(t, "steady", "polite")
	info, err := os.Stat(r.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the control socket has mode %o, want 600", mode)
	}
	out, err := execute(t, "status")
	if err != nil || !strings.Contains(out, "polite") || !strings.Contains(out, r.Kubeconfig) {
		t.Errorf("status printed %q, %v; want the children and the kubeconfig", out, err)
	}
	pid := s.Statuses()[0].PID
	out, err = execute(t, "kill", "steady", "--for", "1h")
	if want := fmt.Sprintf("killed steady (process %d); it is started again in 1h0m0s\n", pid); err != nil || out != want {
		t.Errorf("kill printed %q, %v; want %q", out, err, want)
	}
	out, err = execute(t, "status", "-o", "json")
	var status struct{ Children []supervise.Status }
	if err != nil || json.Unmarshal([]byte(out), &status) != nil || len(status.Children) != 2 {
		t.Errorf("status as JSON: %q, %v; want two children", out, err)
	}
}

func TestCommandsExplainTheirErrors(t *testing.T) {
	_, r := controlled(t, "steady")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"kill"}, "kill takes the name of one component"},
		{[]string{"kill", "steady", "steady"}, "kill takes the name of one component"},
		{[]string{"kill", "nobody"}, `no child is called "nobody"; there are: steady`},
		{[]string{"kill", "steady", "--for", "-1s"}, "--for=-1s: want 0s to 1h"},
		{[]string{"kill", "steady", "--for", "2h"}, "--for=2h0m0s: want 0s to 1h"},
		{[]string{"kill", "steady", "--state-dir", "/nowhere"}, "no sandbox is running with --state-dir /nowhere"},
		{[]string{"status", "-o", "yaml"}, "want text or json"},
		{[]string{"status", "now"}, "unknown command"},
		{[]string{"--unknown"}, "unknown flag: --unknown"},
		{[]string{"everything"}, `unknown command "everything"`},
		{[]string{"--listen", "0.0.0.0:1"}, "only loopback addresses"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			if out, err := execute(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("printed %q, error %v; want an error with %q", out, err, c.want)
			}
		})
	}
	if err := r.remove(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"status"}, {"kill", "steady"}, {"kubectl", "get", "pods"}} {
		t.Setenv("KUBECONFIG", "")
		if _, err := execute(t, args...); err == nil || !strings.Contains(err.Error(), "no sandbox is running; start one with: sandbox") {
			t.Errorf("%v without a sandbox: %v, want an error that says so", args, err)
		}
	}
}

func TestControlAnswersNonsense(t *testing.T) {
	_, r := controlled(t, "steady")
	for _, c := range []struct{ sent, want string }{
		{"hello\n", "malformed request"},
		{`{"operation":"` + strings.Repeat("x", 2*largestRequest) + `"}`, "malformed request"},
		{`{"operation":"dance"}`, "unknown operation"},
	} {
		connection, err := net.Dial("unix", r.Socket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := connection.Write([]byte(c.sent)); err != nil {
			t.Fatal(err)
		}
		var reply controlReply
		if err := json.NewDecoder(connection).Decode(&reply); err != nil || !strings.Contains(reply.Error, c.want) {
			t.Errorf("answer to %.20q: %+v, %v; want %q", c.sent, reply, err, c.want)
		}
		_ = connection.Close()
	}
}

func TestKubectlNeedsCluster(t *testing.T) {
	for _, c := range []struct {
		args       string
		kubeconfig string
		want       bool
	}{
		{args: "get pods", want: true},
		{args: "get pods", kubeconfig: "/some/where"},
		{args: "get pods --kubeconfig /some/where"},
		{args: "--kubeconfig=/some/where get pods"},
		{args: "exec pod -- tool --kubeconfig x", want: true},
		{args: "version --client"},
		{args: "version", want: true},
		{args: "get --help"},
		{args: "help get"},
		{args: ""},
	} {
		if got := needsCluster(strings.Fields(c.args), c.kubeconfig); got != c.want {
			t.Errorf("kubectl %s with KUBECONFIG=%q looks for the sandbox: %t, want %t", c.args, c.kubeconfig, got, c.want)
		}
	}
}
