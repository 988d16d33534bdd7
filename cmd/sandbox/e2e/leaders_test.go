package e2e_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/telemetry"
)

const (
	// takenOver bounds how long nobody leads after a clean end, and outlived after a kill:
	// the Lease lasts 15 s, and the others look at it every 2.2 s at most.
	takenOver = 3 * time.Second
	outlived  = 20 * time.Second
)

// electorate is several managers on one cluster, in rollouts that do not end before the
// leader does.
type electorate struct {
	plane     *testplane.Plane
	client    kubernetes.Interface
	namespace string
	managers  map[string]*manager // by the UID under which they write
	started   int
	rollouts  int
}

// the Deployments that roll out, each of so many pods.
var (
	rolledOut     = []string{"web", "api", "shop"}
	rolledOutPods = int32(8)
	newPods       = 3 // pods that are new when the leader ends
)

// start adds a manager, which the audit log knows by a UID of its own.
func (e *electorate) start(t *testing.T) {
	t.Helper()
	e.started++
	uid := "manager-" + strconv.Itoa(e.started)
	e.managers[uid] = startManager(t, e.plane.Kubeconfig, "--as=loopscope", "--as-uid="+uid, "--kube-api-qps=200", "--kube-api-burst=400", "--history="+filepath.Join(t.TempDir(), "history.db"))
}

// leader is the one that says that it leads.
func (e *electorate) leader(t *testing.T) (uid string, err error) {
	t.Helper()
	for candidate, m := range e.managers {
		l, err := m.leadership()
		switch {
		case err != nil:
			return "", err
		case !l.StandsBy && uid != "":
			t.Errorf("%s leads, and %s as well", uid, candidate)
		case !l.StandsBy:
			uid = candidate
		}
	}
	if uid == "" {
		return "", errors.New("nobody leads")
	}
	return uid, nil
}

// leadership is what a manager says for programs.
func (m *manager) leadership() (telemetry.Leadership, error) {
	var list struct {
		Page struct{ Leadership telemetry.Leadership }
	}
	body, err := m.page("/debug/controllers", "application/json")
	if err != nil {
		return list.Page.Leadership, err
	}
	return list.Page.Leadership, json.Unmarshal([]byte(body), &list)
}

// page is a page of the manager's console.
func (m *manager) page(path, accept string) (string, error) {
	request, err := http.NewRequest(http.MethodGet, m.Dashboard+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// roll begins a rollout of every Deployment, and waits until each is in the middle of it.
func (e *electorate) roll(t *testing.T) {
	t.Helper()
	e.rollouts++
	for _, name := range rolledOut {
		setImage(t, e.client, e.namespace, name, fmt.Sprintf("shop:v%d", e.rollouts))
	}
	for _, name := range rolledOut {
		waitFor(t, e.client, e.namespace, name, "middle of a rollout", updated(int32(newPods)))
	}
}

// replace ends the leader, in the middle of rollouts, and gives how long nobody led.
func (e *electorate) replace(t *testing.T, signal syscall.Signal, within time.Duration) time.Duration {
	t.Helper()
	e.roll(t)
	was, err := e.leader(t)
	if err != nil {
		t.Fatal(err)
	}
	m := e.managers[was]
	if err := m.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	<-m.exited
	ended := time.Now()
	delete(e.managers, was)
	var now string
	testplane.Until(t, time.Minute, "next leader", func() (err error) {
		now, err = e.leader(t)
		return err
	})
	took := time.Since(ended)
	if took > within {
		t.Errorf("%s took over from %s after %s, want %s at most", now, was, took, within)
	}
	e.start(t)
	e.settled(t)
	return took
}

// TestThreeManagers: the leader ends, killed or not, in the middle of rollouts, one after
// the other. The next one goes on where it stopped: nothing is done twice, and nobody writes
// who does not hold the Lease.
func TestThreeManagers(t *testing.T) {
	t.Parallel()
	times := 1
	if n, err := strconv.Atoi(os.Getenv("LOOPSCOPE_LEADERS")); err == nil {
		times = n
	}
	plane := testplane.Start(t, testplane.Options{Loops: "none", Audit: true})
	e := &electorate{plane: plane, client: clientOf(t, plane), managers: map[string]*manager{}, rollouts: 1}
	e.namespace = newNamespace(t, e.client, "leaders")
	for range 3 {
		e.start(t)
	}
	for _, name := range rolledOut {
		create(t, e.client, e.namespace, oneByOne(name, rolledOutPods, 200*time.Millisecond))
	}
	e.settled(t)
	for signal, within := range map[syscall.Signal]time.Duration{syscall.SIGKILL: outlived, syscall.SIGTERM: takenOver} {
		var took []time.Duration
		for range times {
			took = append(took, e.replace(t, signal, within))
		}
		slices.Sort(took)
		t.Logf("%d leaders ended by %s: the next one led after %s (median, %s to %s)", times, signal, took[len(took)/2], took[0], took[len(took)-1])
	}
	e.checkConsoles(t)
	log := readAudit(t, plane.AuditPath)
	e.checkOneWriter(t, log)
	e.checkOnce(t, log)
}

// tags are those of HTML, without which a page is its text.
var tags = regexp.MustCompile(`<[^>]*>`)

// checkConsoles: one of them leads, the others say so, and none has seen a rival.
func (e *electorate) checkConsoles(t *testing.T) {
	t.Helper()
	leader, err := e.leader(t)
	if err != nil {
		t.Fatal(err)
	}
	for uid, m := range e.managers {
		want := "This process stands by"
		if uid == leader {
			want = "acting, leader since"
		}
		if page, err := m.page("/deployments", "text/html"); err != nil || !strings.Contains(tags.ReplaceAllString(page, ""), want) {
			t.Errorf("%s: %v, no %q in %s", uid, err, want, page)
		}
		testplane.Until(t, time.Minute, "the history of "+uid, func() error { // It has just started, and opens its file beside.
			page, err := m.page("/history?q=loop:lease", "text/html")
			if err != nil || !strings.Contains(page, "is held: ") {
				return fmt.Errorf("it does not say who led: %w, %s", err, page)
			}
			return nil
		})
		if page, err := m.page("/metrics", "text/plain"); err != nil || !strings.Contains(page, "\nloopscope_rival_writes_total 0\n") || !strings.Contains(page, `leader_election_master_status{name="loopscope-manager"}`) {
			t.Errorf("%s: it has seen a rival, or has no metrics: %v", uid, err)
		}
	}
}

// checkOneWriter: every write of ours was of the manager that held the Lease.
func (e *electorate) checkOneWriter(t *testing.T, log []request) {
	t.Helper()
	ours := of(log, func(r *request) bool { return r.ImpersonatedUser.UID != "" && r.taken() && r.write() })
	slices.SortFunc(ours, func(a, b request) int { return a.StageTimestamp.Compare(b.StageTimestamp) })
	holder, changes, writes := "", 0, 0
	for _, r := range ours {
		by := r.ImpersonatedUser.UID
		switch {
		case r.ObjectRef.Resource == "leases" && by != holder:
			holder = by
			changes++
		case r.ObjectRef.Resource == "leases":
		case by != holder:
			t.Errorf("%s wrote %s %s at %s, when %s held the Lease", by, r.Verb, r.object(), r.StageTimestamp, cmp.Or(holder, "nobody"))
		default:
			writes++
		}
	}
	t.Logf("%d writes under %d leaders", writes, changes)
	if changes < e.started-2 {
		t.Errorf("%d leaders are in the audit log, want %d at least", changes, e.started-2)
	}
}

// checkOnce: every image has one ReplicaSet, and every ReplicaSet its pods, once.
func (e *electorate) checkOnce(t *testing.T, log []request) {
	t.Helper()
	// The creation of what a killed manager asked for may be in the log as one that failed.
	there := map[string]map[string]bool{"replicasets": {}, "pods": {}}
	for _, r := range of(log, inNamespace(e.namespace)) {
		if names := there[r.ObjectRef.Resource]; names != nil && r.write() && r.taken() {
			names[r.object()] = true
		}
	}
	sets := e.rollouts * len(rolledOut)
	if pods := sets * int(rolledOutPods); len(there["replicasets"]) != sets || len(there["pods"]) != pods {
		t.Errorf("%d ReplicaSets and %d pods were ever there, want %d and %d", len(there["replicasets"]), len(there["pods"]), sets, pods)
	}
	t.Logf("%d rollouts: %d ReplicaSets and %d pods, each once", e.rollouts*len(rolledOut), len(there["replicasets"]), len(there["pods"]))
}

// TestLeaseDeletedByHand: who deletes the Lease in the middle of rollouts has one leader again at
// once, be it the same or another one, and each pod once.
func TestLeaseDeletedByHand(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Audit: true})
	e := &electorate{plane: plane, client: clientOf(t, plane), managers: map[string]*manager{}, rollouts: 1}
	e.namespace = newNamespace(t, e.client, "deleted")
	e.start(t)
	e.start(t)
	for _, name := range rolledOut {
		create(t, e.client, e.namespace, oneByOne(name, rolledOutPods, 200*time.Millisecond))
	}
	e.settled(t)
	for range 3 {
		e.roll(t)
		plane.Kubectl(t, "-n", "kube-system", "delete", "lease", "loopscope-manager")
		e.settled(t)
	}
	if _, err := e.leader(t); err != nil {
		t.Error(err)
	}
	e.checkConsoles(t)
	e.checkOnce(t, readAudit(t, plane.AuditPath))
}

// TestManagerBesideUpstream: whoever forgets to switch off Kubernetes' own loops is told so.
func TestManagerBesideUpstream(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "upstream"})
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "upstream")
	m := startManager(t, plane.LoopscopeKubeconfig, "--history=off", "--kube-api-qps=200", "--kube-api-burst=400")
	for i := range 4 {
		create(t, client, namespace, oneByOne(fmt.Sprintf("web-%d", i), 5, 0))
	}
	testplane.Until(t, time.Minute, "notice of kube-controller-manager", func() error {
		page, err := m.page("/deployments", "text/html")
		if err == nil && !strings.Contains(page, "kube-controller-manager acts on the same objects") {
			err = errors.New("the page says nothing of it")
		}
		return err
	})
}

// TestTwoManagersByMistake: two that act without an election say so of each other, on their
// pages, in their logs and in a metric. One that is started where a Lease is held waits.
func TestTwoManagersByMistake(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none"})
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "mistake")
	unelected := func() *manager {
		return startManager(t, plane.LoopscopeKubeconfig, "--history=off", "--leader-elect=false", "--kube-api-qps=200", "--kube-api-burst=400")
	}
	both := []*manager{unelected(), unelected()}
	for i := range 4 {
		create(t, client, namespace, oneByOne(fmt.Sprintf("web-%d", i), 5, 0))
	}
	began := time.Now()
	for _, m := range both {
		testplane.Until(t, time.Minute, "notice of the other manager", func() error {
			page, err := m.page("/deployments", "text/html")
			if err == nil && !strings.Contains(page, "Another manager acts on this cluster, too") {
				err = errors.New("the page says nothing of it")
			}
			return err
		})
		page, err := m.page("/metrics", "text/plain")
		if err != nil || strings.Contains(page, "\nloopscope_rival_writes_total 0\n") || !strings.Contains(m.said(), "Another manager writes to this cluster, too") {
			t.Errorf("its metrics or its log say nothing of it: %v, %s", err, m.said())
		}
		t.Logf("said after %s", time.Since(began))
	}
	for _, m := range both {
		if err := m.stop(30 * time.Second); err != nil {
			t.Error(err)
		}
	}
	elected := startManager(t, plane.LoopscopeKubeconfig, "--history=off")
	testplane.Until(t, time.Minute, "leader", func() error {
		l, err := elected.leadership()
		if err == nil && l.StandsBy {
			err = errors.New("it stands by")
		}
		return err
	})
	waits := unelected()
	testplane.Until(t, time.Minute, "notice of the leader", func() error {
		page, err := waits.page("/deployments", "text/html")
		if err == nil && !strings.Contains(page, "was started without leader election; it writes nothing as long as that Lease is held") {
			err = errors.New("the page does not say that it waits")
		}
		return err
	})
	if err := elected.stop(30 * time.Second); err != nil {
		t.Error(err)
	}
	testplane.Until(t, takenOver, "the one that waited", func() error {
		l, err := waits.leadership()
		if err == nil && l.StandsBy {
			err = errors.New("it still waits")
		}
		return err
	})
}
