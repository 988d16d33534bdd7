package e2e_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// upstreamLease is the Lease of kube-controller-manager.
const upstreamLease = "kube-controller-manager"

// startUpstream runs kube-controller-manager's own three loops, elected by its Lease, until
// stop is called or the test ends.
func startUpstream(t *testing.T, plane *testplane.Plane) (stop func()) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "upstream.log"))
	if err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe() // It ends with whoever holds the other end.
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(plane.Binary, "__component", "loops", "--kubeconfig="+filepath.Join(plane.StateDir, "kube-controller-manager.kubeconfig"),
		"--controllers=deployment-controller,replicaset-controller,replicationcontroller-controller", "--use-service-account-credentials=true",
		"--leader-elect=true", "--profiling=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{reader}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // A signal ends it.
		close(ended)
	}()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // An error means that it has ended.
		<-ended
	}
	t.Cleanup(func() {
		stop()
		_ = errors.Join(reader.Close(), writer.Close(), log.Close())
		if said, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("output of kube-controller-manager:\n%s", said)
		}
	})
	return stop
}

// untilHeld waits until somebody holds the Lease of kube-controller-manager, of whom is says so.
func (e *electorate) untilHeld(t *testing.T, within time.Duration, what string, is func(holder string) bool) time.Duration {
	t.Helper()
	from := time.Now()
	testplane.Until(t, within, what, func() error {
		lease, err := e.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), upstreamLease, metav1.GetOptions{})
		if err == nil && (lease.Spec.HolderIdentity == nil || !is(*lease.Spec.HolderIdentity)) {
			err = errors.New("another one holds it, or nobody")
		}
		return err
	})
	return time.Since(from)
}

// TestHandOver goes the way of deploy/HANDOVER.md, from kube-controller-manager's loops to ours
// and back, each time in the middle of rollouts. Nothing is done twice, and no spec changes.
func TestHandOver(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Audit: true})
	e := &electorate{plane: plane, client: clientOf(t, plane), rollouts: 1}
	stopUpstream := startUpstream(t, plane)
	e.namespace = newNamespace(t, e.client, "handover")
	for _, name := range rolledOut {
		create(t, e.client, e.namespace, oneByOne(name, rolledOutPods, 200*time.Millisecond))
	}
	e.settled(t)
	m := startManager(t, plane.LoopscopeKubeconfig, "--history=off", "--leader-elect-resource-name="+upstreamLease, "--kube-api-qps=200", "--kube-api-burst=400")
	var ours string
	testplane.Until(t, time.Minute, "standby of ours", func() error {
		l, err := m.leadership()
		if ours = l.Identity; err == nil && (!l.StandsBy || l.Leader == "") {
			err = errors.New("it does not stand by, or knows of no leader")
		}
		return err
	})
	e.roll(t)
	stopUpstream()
	t.Logf("ours led %s after the end of kube-controller-manager", e.untilHeld(t, time.Minute, "lead of ours", func(holder string) bool { return holder == ours }))
	e.settled(t)

	e.roll(t)
	if err := m.stop(30 * time.Second); err != nil {
		t.Error(err)
	}
	startUpstream(t, plane)
	t.Logf("kube-controller-manager led %s after its start", e.untilHeld(t, outlived, "lead of kube-controller-manager", func(holder string) bool { return holder != "" && holder != ours }))
	e.settled(t)

	log := readAudit(t, plane.AuditPath)
	e.checkOnce(t, log)
	conflicts := of(log, func(r *request) bool { return r.ours() && r.ResponseStatus.Code == http.StatusConflict })
	if len(conflicts) > 0 {
		t.Errorf("%d conflicts of ours: %s", len(conflicts), tabulate(conflicts))
	}
	for _, name := range rolledOut {
		if d := get(t, e.client, e.namespace, name); d.Generation != int64(e.rollouts) {
			t.Errorf("%s is of generation %d after %d changes of its image", name, d.Generation, e.rollouts-1)
		}
	}
}

// settled waits for the end of all rollouts.
func (e *electorate) settled(t *testing.T) {
	t.Helper()
	for _, name := range rolledOut {
		waitSettled(t, e.client, e.namespace, name)
	}
}
