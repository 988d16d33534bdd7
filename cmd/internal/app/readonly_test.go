package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/metrics"
)

// What does not lead writes nothing: the request is answered as one that was refused.
func TestLeaderOnly(t *testing.T) {
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent++
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"web"}}`))
	}))
	defer server.Close()
	leads := false
	config := &rest.Config{Host: server.URL}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return leaderOnly{next, func() bool { return leads }}
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	sets := client.AppsV1().ReplicaSets("shop")
	write := func() error {
		_, err := sets.Update(t.Context(), &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.UpdateOptions{})
		return err
	}
	if err := write(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "not sent: this process does not lead") || sent != 0 {
		t.Errorf("a write: %v, %d sent", err, sent)
	}
	if _, err := sets.Get(t.Context(), "web", metav1.GetOptions{}); err != nil || sent != 1 {
		t.Errorf("a read: %v, %d sent", err, sent)
	}
	if _, err := client.CoreV1().Events("shop").Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "web.1"}}, metav1.CreateOptions{}); apierrors.IsForbidden(err) || sent != 2 {
		t.Errorf("an event: %v, %d sent", err, sent)
	}
	leads, sent = true, 1
	if err := write(); err != nil || sent != 2 {
		t.Errorf("a write of the leader: %v, %d sent", err, sent)
	}
}

// TestWatchingRefusesWrites: no client of a process that watches sends anything
// but reads, whatever it is asked for.
func TestWatchingRefusesWrites(t *testing.T) {
	for method, passes := range map[string]bool{http.MethodGet: true, http.MethodHead: true, http.MethodPost: false, http.MethodPut: false, http.MethodPatch: false, http.MethodDelete: false} {
		request, err := http.NewRequestWithContext(t.Context(), method, "https://cluster/apis/apps/v1/deployments", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		next := &refusals{}
		response, err := readOnly{next}.RoundTrip(request)
		if response != nil {
			_ = response.Body.Close()
		}
		if (err == nil) != passes || (next.asked == 1) != passes {
			t.Errorf("%s: %v, sent %d times", method, err, next.asked)
		}
	}
	m, err := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Config: &rest.Config{Host: "https://127.0.0.1:1"}, Watch: true}.withDefaults()
	c, err := client(opts, m, "deployment-controller")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AppsV1().ReplicaSets("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "only watches") {
		t.Errorf("a client that watches deletes: %v", err)
	}
	cluster, err := newCluster(opts, m, telemetry.NewJournal(telemetry.JournalOptions{}), authority{func() bool { return true }, nil})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range cluster.states() {
		if l.Mode != "watch" {
			t.Errorf("the %s loop has the mode %q", l.Name, l.Mode)
		}
	}
}

// TestConsoleOfAWatcherKnowsWhatIsDue, and that of a process that acts has nobody to wait for.
func TestConsoleOfAWatcherKnowsWhatIsDue(t *testing.T) {
	for _, watch := range []bool{true, false} {
		a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet(), Watch: watch})
		if err != nil {
			t.Fatal(err)
		}
		o := a.consoleOptions(a.journal, a.tally)
		if (o.Due != nil) != watch || (o.Stall != nil) != watch {
			t.Errorf("watching %t: %t, %t", watch, o.Due != nil, o.Stall != nil)
		}
		if watch && (len(o.Due(telemetry.Object{Loop: "deployment", Name: "web"})) != 0 || o.Stall() != telemetry.Stall{}) {
			t.Error("something is due before the first sync")
		}
	}
}

// TestWatcherCountsFromTheEndOfAnOutage: its comparison knows when nobody could write.
func TestWatcherCountsFromTheEndOfAnOutage(t *testing.T) {
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet(), Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 4, 3, 0, 0, 0, time.UTC)
	a.cluster.state.begin(now)
	a.cluster.state.note(now, nil)
	a.cluster.state.note(now.Add(time.Second), syscall.ECONNREFUSED)
	a.cluster.state.note(now.Add(time.Minute), nil)
	if over := a.shadow.Outages(); len(over) != 1 || !over[0].Began.Equal(now) || !over[0].Ended.Equal(now.Add(time.Minute)) {
		t.Errorf("it knows of %+v", over)
	}
}

// TestNothingIsOverdueInAnOutage: nobody could write what is due then.
func TestNothingIsOverdueInAnOutage(t *testing.T) {
	now := time.Date(2026, 3, 4, 3, 0, 0, 0, time.UTC)
	began := now.Add(-time.Hour)
	for name, c := range map[string]struct {
		server telemetry.ServerState
		want   time.Time
	}{
		"it serves":   {telemetry.ServerState{Reachable: true, Since: began}, now},
		"it does not": {telemetry.ServerState{Since: began}, began},
	} {
		if got := seenUntil(c.server, now); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
