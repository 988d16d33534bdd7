package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/telemetry"
)

// TestAPIServerKilled kills the API server in the middle of a rollout, for ten
// seconds, and then stops the sandbox, of which nothing may be left.
func TestAPIServerKilled(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "own", Audit: true})
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "killed")
	const replicas = 12
	create(t, client, namespace, oneByOne("web", replicas, time.Second))
	elsewhere := newNamespace(t, client, "idle")
	create(t, client, elsewhere, oneByOne("idle", 1, 0))
	waitSettled(t, client, namespace, "web")
	waitSettled(t, client, elsewhere, "idle")
	setImage(t, client, namespace, "web", "shop:v2")
	waitFor(t, client, namespace, "web", "progress", updated(3))

	plane.Kill(t, "kube-apiserver", 10*time.Second)
	killed := time.Now()
	checkConsoleSaysSo(t, plane.Dashboard, namespace, killed)
	checkIdleIsOfBefore(t, plane, elsewhere, killed)
	checkConsoleRecovers(t, plane.Dashboard, namespace, killed)
	waitSettled(t, client, namespace, "web")
	t.Logf("the rollout was complete %.1f s after the kill", time.Since(killed).Seconds())
	checkStoryOfOutage(t, plane.Dashboard, namespace, killed)
	if restarts := childrenByName(t, plane)["kube-apiserver"].Restarts; restarts != 1 {
		t.Errorf("the API server was restarted %d times, want once", restarts)
	}
	checkNothingTwice(t, client, plane.AuditPath, namespace, replicas)
	explainConflictsBut(t, plane.AuditPath, namespace, firstSince(killed))
	checkStop(t, plane)
}

func childrenByName(t *testing.T, plane *testplane.Plane) map[string]testplane.Child {
	t.Helper()
	byName := map[string]testplane.Child{}
	for _, c := range plane.Children(t) {
		byName[c.Name] = c
	}
	return byName
}

// notice is what a JSON twin says before anything else.
type notice struct {
	Notice *struct{ Title string }
}

const unreachable = "The API server does not answer"

func checkConsoleSaysSo(t *testing.T, dashboard, namespace string, killed time.Time) {
	t.Helper()
	testplane.Until(t, 9*time.Second, "the console's word about the dead API server", func() error {
		status, text := fetch(t, dashboard+"/readyz")
		if status != http.StatusServiceUnavailable || !strings.Contains(text, "[-]api-server failed: it has ") {
			return fmt.Errorf("/readyz: %d %q", status, text)
		}
		if status, page := fetch(t, dashboard+"/deployments/"+namespace+"/web"); status != http.StatusOK || !strings.Contains(page, unreachable) {
			return fmt.Errorf("the page has status %d and no notice", status)
		}
		var twin notice
		fetchJSON(t, dashboard+"/deployments/"+namespace+"/web.json", &twin)
		if twin.Notice == nil || twin.Notice.Title != unreachable {
			return fmt.Errorf("the JSON twin's notice: %v", twin.Notice)
		}
		return nil
	})
	if status, _ := fetch(t, dashboard+"/healthz"); status != http.StatusOK {
		t.Errorf("/healthz is %d while the API server is dead: a restart of the console would mend nothing", status)
	}
	t.Logf("page, twin and /readyz said so %.1f s after the kill", time.Since(killed).Seconds())
}

// checkIdleIsOfBefore looks for an object that has nothing to write everywhere that it is
// told of: as of when is said beside the sentence, which stands.
func checkIdleIsOfBefore(t *testing.T, plane *testplane.Plane, namespace string, killed time.Time) {
	t.Helper()
	page := plane.Dashboard + "/deployments/" + namespace + "/idle"
	testplane.Until(t, 9*time.Second, "as of when the idle Deployment is settled", func() error {
		var twin struct {
			Page struct {
				Head struct {
					Sentence string
					AsOf     *struct{ At time.Time }
				}
			}
		}
		fetchJSON(t, page+".json", &twin)
		head := twin.Page.Head
		if head.AsOf == nil || head.AsOf.At.After(time.Now()) || head.AsOf.At.Before(killed.Add(-5*time.Second)) || !strings.Contains(head.Sentence, "idle is settled") {
			return fmt.Errorf("the twin says %q as of %v", head.Sentence, head.AsOf)
		}
		asOf := head.AsOf.At.UTC().Format("15:04:05")
		if _, html := fetch(t, page); !strings.Contains(html, `id="as-of"`) || !strings.Contains(html, asOf) {
			return fmt.Errorf("the page does not say that it is of %s", asOf)
		}
		out, errOut, err := loopscope(t.Context(), t, plane.Kubeconfig, "top", "-n", namespace, "--server", plane.Dashboard, "idle")
		if err != nil || !strings.Contains(out, ", as of "+asOf) {
			return fmt.Errorf("top: %v%s, no %s in\n%s", err, errOut, asOf, out)
		}
		return nil
	})
	_, errOut, err := loopscope(t.Context(), t, plane.Kubeconfig, "explain", "deployment/idle", "-n", namespace)
	if err == nil || !strings.Contains(errOut, "does not answer: ") || !strings.Contains(errOut, "kubectl cluster-info") {
		t.Errorf("explain: %v: %s", err, errOut)
	}
}

// checkStoryOfOutage finds the outage in the story of the rollout that it interrupted.
func checkStoryOfOutage(t *testing.T, dashboard, namespace string, killed time.Time) {
	t.Helper()
	var twin struct {
		Page struct{ Story *telemetry.Story }
	}
	fetchJSON(t, dashboard+"/deployments/"+namespace+"/web/story.json", &twin)
	story := twin.Page.Story
	if story == nil {
		t.Fatal("there is no story")
	}
	at := slices.IndexFunc(story.Beats, func(b telemetry.Beat) bool { return b.Kind == telemetry.BeatOutage && !b.Outage.Met })
	if at < 0 {
		t.Fatalf("no outage in the story: %+v", story.Counts)
	}
	b := &story.Beats[at]
	text := b.Tell().At(b.At)
	t.Logf("the story tells: %s", text)
	o := b.Outage
	if o.Began.Before(killed.Add(-5*time.Second)) || o.Ended.Sub(o.Began) < 9*time.Second {
		t.Errorf("an outage from %s to %s after the kill at %s", o.Began, o.Ended, killed)
	}
	if !strings.HasPrefix(text, "The API server did not answer for ") {
		t.Errorf("it tells %q", text)
	}
	if len(o.Due) > 0 && (o.Tried.Before(o.Ended) || o.Tried.Sub(o.Ended) > 5*time.Second) {
		t.Errorf("what was due when it ended at %s was tried at %s", o.Ended, o.Tried)
	}
	if status, page := fetch(t, dashboard+"/deployments/"+namespace+"/web/story"); status != http.StatusOK || !strings.Contains(page, `<li class="outage">`) {
		t.Errorf("the page has status %d and no outage", status)
	}
}

func checkConsoleRecovers(t *testing.T, dashboard, namespace string, killed time.Time) {
	t.Helper()
	testplane.Until(t, time.Minute, "the console's recovery", func() error {
		if status, text := fetch(t, dashboard+"/readyz"); status != http.StatusOK {
			return fmt.Errorf("/readyz: %d %q", status, text)
		}
		var twin notice
		fetchJSON(t, dashboard+"/deployments/"+namespace+"/web.json", &twin)
		if twin.Notice != nil {
			return fmt.Errorf("the notice is still there: %v", twin.Notice)
		}
		return nil
	})
	if after := time.Since(killed); after < 10*time.Second {
		t.Errorf("the console was ready %s after the kill, before the API server was back", after)
	} else {
		t.Logf("ready again %.1f s after the kill", after.Seconds())
	}
}

// checkNothingTwice counts what was ever created: one ReplicaSet a template and
// one pod a place. An answer that died with the API server is in no audit log,
// but whoever touched the pod later is: its node, its scheduler, its deletion.
func checkNothingTwice(t *testing.T, client kubernetes.Interface, audit, namespace string, replicas int) {
	t.Helper()
	sets := replicaSets(t, client, namespace)
	images := map[string]int{}
	living := map[types.UID]appsv1.ReplicaSet{}
	for _, rs := range sets {
		images[rs.Spec.Template.Spec.Containers[0].Image]++
		living[rs.UID] = rs
	}
	if len(sets) != 2 || images["shop:v1"] != 1 || images["shop:v2"] != 1 {
		t.Errorf("ReplicaSets by image: %v, want one of shop:v1 and one of shop:v2", images)
	}
	log := of(readAudit(t, audit), inNamespace(namespace))
	mentioned, created := map[string]bool{}, map[string]bool{}
	for i := range log {
		r := &log[i]
		if r.ObjectRef.Resource != "pods" || !r.taken() || !r.write() {
			continue
		}
		name := strings.TrimPrefix(r.object(), "pods "+namespace+"/")
		mentioned[name] = true
		if r.Verb == "create" && r.ObjectRef.Subresource == "" {
			created[name] = true
		}
	}
	for _, pod := range pods(t, client, namespace) {
		mentioned[pod.Name] = true
		if _, known := living[uidOf(&pod)]; !known {
			t.Errorf("pod %s is an orphan", pod.Name)
		}
	}
	t.Logf("%d pods were ever there, the creation of %d of them is in the audit log; needed were %d", len(mentioned), len(created), 2*replicas)
	if len(mentioned) != 2*replicas {
		t.Errorf("%d pods were created, want %d: %v", len(mentioned), 2*replicas, slices.Sorted(keys(mentioned)))
	}
}

func keys(set map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range set {
			if !yield(key) {
				return
			}
		}
	}
}

// checkStop ends a sandbox by SIGTERM.
func checkStop(t *testing.T, plane *testplane.Plane) {
	t.Helper()
	children := plane.Children(t)
	if len(children) != 5 {
		t.Errorf("children before the stop: %v, want five", children)
	}
	began := time.Now()
	if err := plane.Stop(); err != nil {
		t.Errorf("the sandbox ended with %v, want success", err)
	}
	t.Logf("stopped in %.1f s", time.Since(began).Seconds())
	for _, c := range children {
		if c.PID != 0 && alive(c.PID) {
			t.Errorf("%s, process %d, lives on", c.Name, c.PID)
		}
	}
	if _, err := os.Stat(plane.StateDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its temporary directory %s is left (%v)", plane.StateDir, err)
	}
	if plane.Dashboard != "" {
		checkSilent(t, plane.Dashboard)
	}
}

func checkSilent(t *testing.T, dashboard string) {
	t.Helper()
	if response, err := console.Get(dashboard + "/livez"); err == nil {
		_ = response.Body.Close()
		t.Errorf("the console still answers: %s", response.Status)
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
