// Package scale measures the console of a running sandbox that is full of
// Deployments and at rest: how long the server and a browser take for the pages
// that people open most. It may not reach into the sandbox: it knows what the
// API server and the console show, and what /proc says of the process.
//
// It measures, too, what a process takes that watches Kubernetes' own loops beside so many Deployments.
//
// Environment: LOOPSCOPE_SCALE_DEPLOYMENTS is how many Deployments of two pods
// there are (default 40; "make scale" has ten thousand), LOOPSCOPE_SANDBOX a
// binary that is built already, LOOPSCOPE one of loopscope. LOOPSCOPE_SCALE_SHADOW is beside how many
// Deployments of one pod a process watches, one number after the other ("make scale-shadow" has 2000,5000). Bars are only held where there are thousands:
// a sample shows that the measurement works.
package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/web/browsertest"
)

const (
	namespaces = 20
	creators   = 16
	// stuckOneIn is how many Deployments there are for one whose image cannot be pulled.
	stuckOneIn = 200
	// thousands is from how many Deployments on the bars are held.
	thousands = 1000
)

// TestScale fills a sandbox, waits until it rests, and measures.
func TestScale(t *testing.T) {
	n := int(testplane.Number(t, "LOOPSCOPE_SCALE_DEPLOYMENTS", 20))
	plane := testplane.Start(t, testplane.Options{Loops: "own", Fast: true, Nodes: 20, Flags: []string{"--loops-qps=2000"}})
	began := time.Now()
	fill(t, plane, 0, n, 2)
	t.Logf("%d Deployments created in %s", n, time.Since(began).Round(time.Second))
	limit := 3*time.Minute + time.Duration(n)*400*time.Millisecond
	rest(t, plane.Dashboard, n, limit)
	t.Logf("at rest after %s, load %s, console and loops took %s", time.Since(began).Round(time.Second), load(), testplane.UsageOf(t, plane.PID()))

	const rounds = 200
	pages := []struct {
		name string
		at   func(i int) string
		bar  time.Duration
	}{
		{"overview", func(int) string { return "/deployments" }, 50 * time.Millisecond},
		{"Deployment", func(i int) string { return deployment(i * 97 % n) }, 25 * time.Millisecond},
		{"filter by namespace", func(i int) string { return fmt.Sprintf("/deployments?q=ns:scale-%d", i%namespaces) }, 100 * time.Millisecond},
		{"filter by outcome and reason", func(int) string { return "/deployments?q=is:waiting+reason:ImagePullBackOff" }, 100 * time.Millisecond},
		{"filter by a part of the name", func(i int) string { return fmt.Sprintf("/deployments?q=d-%d", i%10) }, 100 * time.Millisecond},
		{"the page after", func(int) string {
			return "/deployments?after=" + strings.TrimPrefix(deployment(n/2+1), "/deployments/")
		}, 100 * time.Millisecond},
	}
	for _, p := range pages {
		took := measure(t, plane.Dashboard, rounds, p.at)
		t.Logf("%s: p50 %s, p95 %s, slowest %s of %d", p.name, at(took, 50), at(took, 95), at(took, 100), rounds)
		if p95 := at(took, 95); p95 > p.bar && n >= thousands {
			t.Errorf("%s: p95 is %s, the bar %s", p.name, p95, p.bar)
		}
	}
	for _, path := range []string{"/deployments", deployment(1)} {
		paint := firstPaint(t, plane.Dashboard+path)
		t.Logf("first contentful paint of %s: median %s, slowest %s of %d", path, at(paint, 50), at(paint, 100), len(paint))
		if median := at(paint, 50); median > 300*time.Millisecond && n >= thousands {
			t.Errorf("first contentful paint of %s takes %s, the bar is 300 ms", path, median)
		}
	}
	t.Logf("afterwards: load %s, console and loops took %s", load(), testplane.UsageOf(t, plane.PID()))
}

func deployment(i int) string { return fmt.Sprintf("/deployments/scale-%d/d-%d", i%namespaces, i) }

// fill creates the Deployments from one number up to another, of so many pods each, by several users at once.
func fill(t *testing.T, plane *testplane.Plane, from, to int, pods int32) {
	t.Helper()
	client := clientOf(t, plane)
	for i := range namespaces {
		name := fmt.Sprintf("scale-%d", i)
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("create namespace %s: %v", name, err)
		}
		testplane.Until(t, time.Minute, "service account of "+name, func() error {
			_, err := client.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
			return err
		})
	}
	var next atomic.Int64
	next.Store(int64(from))
	var creating sync.WaitGroup
	failed := make(chan error, creators)
	for range creators {
		creating.Go(func() {
			for i := int(next.Add(1)) - 1; i < to; i = int(next.Add(1)) - 1 {
				d := newDeployment(i, pods)
				if _, err := client.AppsV1().Deployments(d.Namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
					failed <- fmt.Errorf("create %s: %w", d.Name, err)
					return
				}
			}
		})
	}
	creating.Wait()
	close(failed)
	for err := range failed {
		t.Fatal(err)
	}
}

func clientOf(t *testing.T, plane *testplane.Plane) *kubernetes.Clientset {
	t.Helper()
	config := plane.Config(t)
	config.ContentType, config.QPS, config.Burst = "application/vnd.kubernetes.protobuf", -1, 0
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("build client: %v", err)
	}
	return client
}

func newDeployment(i int, replicas int32) *appsv1.Deployment {
	name := fmt.Sprintf("d-%d", i)
	labels := map[string]string{"app": name}
	image := "nginx:1.27"
	if i%stuckOneIn == 0 {
		image = "nginx:404"
	}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("scale-%d", i%namespaces), Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}}}
}

// overview is what the JSON twin of the list says.
type overview struct {
	Seq  uint64 `json:"seq"`
	Page struct {
		Tally []struct {
			Word  string `json:"word"`
			Count int    `json:"count"`
		} `json:"tally"`
	} `json:"page"`
}

// rest waits until every Deployment that can is settled, and nothing has been
// decided for a while.
func rest(t *testing.T, base string, n int, limit time.Duration) {
	t.Helper()
	want, last, since := n-(n+stuckOneIn-1)/stuckOneIn, uint64(0), time.Now()
	testplane.Until(t, limit, "all Deployments are settled", func() error {
		var o overview
		if err := json.Unmarshal(fetch(t, base+"/deployments.json"), &o); err != nil {
			return err
		}
		if o.Seq != last {
			last, since = o.Seq, time.Now()
		}
		for _, x := range o.Page.Tally {
			if x.Word == "settled" && x.Count >= want && time.Since(since) > 3*time.Second {
				return nil
			}
		}
		return fmt.Errorf("of %d wanted: %v, sync %d", want, o.Page.Tally, o.Seq)
	})
}

var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableCompression: false, MaxIdleConnsPerHost: 2}}

func fetch(t *testing.T, address string) []byte {
	t.Helper()
	res, err := client.Get(address)
	if err != nil {
		t.Fatalf("get %s: %v", address, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("get %s: %s %v", address, res.Status, err)
	}
	return body
}

// measure asks one after the other, as one browser does, and returns how long
// each answer took to its last byte, sorted.
func measure(t *testing.T, base string, rounds int, page func(int) string) []time.Duration {
	t.Helper()
	var took []time.Duration
	for i := range rounds {
		began := time.Now()
		fetch(t, base+page(i))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}

func at(sorted []time.Duration, share int) time.Duration {
	return sorted[(len(sorted)-1)*share/100].Round(100 * time.Microsecond)
}

// firstPaint opens a page several times in Chromium.
func firstPaint(t *testing.T, address string) []time.Duration {
	t.Helper()
	ctx, stop, err := browsertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var took []time.Duration
	for range 7 {
		if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
			t.Fatalf("open %s: %v", address, err)
		}
		testplane.Until(t, time.Minute, "first paint of "+address, func() error {
			ms, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`performance.getEntriesByName('first-contentful-paint')[0]?.startTime || 0`))
			if err != nil || ms == 0 {
				return fmt.Errorf("not painted yet: %v", err)
			}
			took = append(took, time.Duration(ms*float64(time.Millisecond)))
			return nil
		})
	}
	slices.Sort(took)
	return took
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}
