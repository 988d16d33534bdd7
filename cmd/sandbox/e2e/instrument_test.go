package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// example is a controller of somebody else that shows its syncs, as a process of its own.
type example struct{ console string }

// startExample builds the example in a directory of a module and runs it until the test
// ends, which it does cleanly.
func startExample(t *testing.T, plane *testplane.Plane, module, dir string) *example {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "example")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, dir)
	build.Dir, build.Env = module, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", dir, err, out)
	}
	run := exec.Command(binary, "--kubeconfig", plane.Kubeconfig, "--listen", "127.0.0.1:0")
	run.Stderr = os.Stderr
	output, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	x := &example{}
	t.Cleanup(func() {
		if at, err := url.Parse(x.console); err == nil && at.Host != "" { // as a browser opens one before it needs it
			early, err := net.Dial("tcp", at.Host)
			if err != nil {
				t.Error(err)
			} else {
				defer early.Close()
			}
		}
		_ = run.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(30*time.Second, func() { _ = run.Process.Kill() })
		defer late.Stop()
		if err := run.Wait(); err != nil {
			t.Errorf("%s ended with %v", dir, err)
		}
	})
	first, err := bufio.NewReader(output).ReadString('\n')
	console, found := strings.CutPrefix(strings.TrimSpace(first), "the console is at ")
	if err != nil || !found {
		t.Fatalf("%s says %q, %v", dir, first, err)
	}
	x.console = strings.TrimSuffix(console, "/")
	return x
}

// says is the sentence of an object's page.
func (x *example) says(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, x.console+path+".json", nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var twin struct {
		Page struct {
			Head struct{ Sentence string }
		}
	}
	body, err := io.ReadAll(res.Body) // whole, so that the connection serves the next request
	if err == nil {
		err = json.Unmarshal(body, &twin)
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", path, res.Status)
	}
	return twin.Page.Head.Sentence, err
}

// until waits for a page that says something.
func (x *example) until(t *testing.T, path, want string) {
	t.Helper()
	testplane.Until(t, settleLimit, path+" says "+want, func() error {
		said, err := x.says(t.Context(), path)
		if err == nil && !strings.Contains(said, want) {
			err = fmt.Errorf("it says %q", said)
		}
		return err
	})
}

// TestClientGoExample: a controller on client-go alone shows why its objects are as they are.
func TestClientGoExample(t *testing.T) {
	t.Parallel()
	plane := managedPlane(t).Plane
	client := clientOf(t, plane)
	ns := newNamespace(t, client, "fleet-")
	x := startExample(t, plane, "../../..", "./telemetry/instrument/examples/fleet")
	for name, data := range map[string]map[string]string{
		"north": {"size": "3", "image": "ship:1"}, "east": {"size": "2", "image": "ship:bad"}, "south": {"size": "many", "image": "ship:1"},
	} {
		if _, err := client.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	path := "/fleets/" + ns + "/"
	x.until(t, path+"north", "is settled: the last sync had nothing to write.")
	x.until(t, path+"east", "is waiting: it does not scale Deployment east yet. Unblocks when its newest pod is available.")
	x.until(t, path+"south", `has failed: the last sync returned an error (strconv.Atoi: parsing "many": invalid syntax). Tries again in `)
	if d := get(t, client, ns, "north"); *d.Spec.Replicas != 3 {
		t.Errorf("north has %d pods", *d.Spec.Replicas)
	}
	if err := client.CoreV1().ConfigMaps(ns).Delete(t.Context(), "south", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	testplane.Until(t, settleLimit, "a fleet that is gone has no page", func() error {
		said, err := x.says(t.Context(), path+"south")
		if err == nil && !strings.Contains(said, "gone") {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
}

// TestControllerRuntimeExample: the same of one on controller-runtime, with a custom resource.
func TestControllerRuntimeExample(t *testing.T) {
	t.Parallel()
	plane := managedPlane(t).Plane
	ns := newNamespace(t, clientOf(t, plane), "backup-")
	module := "../../../telemetry/instrument/controllerruntime"
	plane.Kubectl(t, "apply", "-f", module+"/example/crd.yaml")
	plane.Kubectl(t, "wait", "--for=condition=Established", "crd/backups.example.loopscope.dev", "--timeout=60s")
	x := startExample(t, plane, module, "./example")
	plane.KubectlInput(t, `{"apiVersion":"example.loopscope.dev/v1","kind":"Backup","metadata":{"name":"data","namespace":"`+ns+`"},"spec":{"everySeconds":1,"keep":2}}`, "apply", "-f", "-")
	path := "/backups/" + ns + "/data"
	x.until(t, path, "does not create Job yet. Unblocks when data-")
	x.until(t, path, "is settled: ")
	testplane.Until(t, settleLimit, "its page has the whole story", func() error {
		res, err := http.Get(x.console + path)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		var page strings.Builder
		if _, err := bufio.NewReader(res.Body).WriteTo(&page); err != nil {
			return err
		}
		for _, want := range []string{"created Job ", "updated the status of Backup", "deleted Job ", "jobs-beyond-keep", "status.succeeded 0 → 1"} {
			if !strings.Contains(page.String(), want) {
				return fmt.Errorf("%q is missing", want)
			}
		}
		return nil
	})
}
