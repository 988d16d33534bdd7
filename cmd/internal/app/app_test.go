package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// nowhere is a cluster that does not answer: nothing listens on that port, and the system gives it to nobody.
func nowhere() *rest.Config { return &rest.Config{Host: "http://127.0.0.1:1"} }

// answering is an API server that answers everything so.
func answering(t *testing.T, status metav1.Status) *rest.Config {
	t.Helper()
	status.Kind, status.APIVersion, status.Status = "Status", "v1", metav1.StatusFailure
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestNewRefuses(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, c := range []struct {
		name string
		opts Options
		want string
	}{
		{"no cluster", Options{}, "Config is required"},
		{"an address others can reach", Options{Config: nowhere(), Listen: "0.0.0.0:0"}, "not a loopback address"},
		{"every address", Options{Config: nowhere(), Listen: ":0"}, "not a loopback address"},
		{"a name that is not this machine", Options{Config: nowhere(), Listen: "example.org:80"}, "not a loopback address"},
		{"no port", Options{Config: nowhere(), Listen: "127.0.0.1"}, "give host:port"},
		{"a busy port", Options{Config: nowhere(), Listen: busy.Addr().String()}, "give another address with --listen"},
		{"no workers", Options{Config: nowhere(), Listen: "127.0.0.1:0", Syncs: map[string]int{"deployment-controller": 0}}, "at least 1 is needed"},
		{"a config that makes no client", Options{Config: &rest.Config{Host: "http://[broken"}, Listen: "127.0.0.1:0"}, "client for informers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one with %q", err, c.want)
			}
		})
	}
}

// With no cluster the console still comes up and says what is missing, and
// everything ends again.
func TestStartAndStopWithoutACluster(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err == nil {
		t.Error("a second start was accepted")
	}
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/deployments": 200, "/metrics": 200} {
		code, body := get(t, client, a.URL()+path)
		if code != want {
			t.Errorf("%s: %d, want %d: %s", path, code, want, body)
		}
	}
	stop(t, a)
	if err := a.Wait(); err != nil {
		t.Errorf("Wait after Stop = %v", err)
	}
	stop(t, a)
}

// What is switched off is built and run by nobody, and every page that would show it says so.
func TestControllersThatAreOff(t *testing.T) {
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet(), Controllers: []string{"*", "-deployment-controller"}, Syncs: map[string]int{"replicaset-controller": 2}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	if len(a.cluster.loops) != 3 || a.cluster.loops[0].Name() != "replicaset" || a.cluster.loops[0].workers != 2 || a.cluster.loops[1].workers != 5 {
		t.Errorf("loops: %+v", a.cluster.loops)
	}
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for path, want := range map[string]string{
		"/deployments": "The Deployment loop does not run here.", "/about": "leaves it out", "/queues": "off", "/debug/controllers/deployment": `"mode": "off"`,
	} {
		if code, body := get(t, client, a.URL()+path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, no %q in %s", path, code, want, body)
		}
	}
}

// A controller waits for the start interval, and up to twice that; one that is stopped in it never starts.
func TestStartInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &App{opts: Options{Clock: clock.RealClock{}}}
		began := time.Now()
		if !a.pause(t.Context(), 0) || time.Since(began) != 0 {
			t.Error("without an interval it waits")
		}
		if !a.pause(t.Context(), time.Minute) || time.Since(began) < time.Minute || time.Since(began) > 2*time.Minute {
			t.Errorf("of a minute it waits %v", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a.pause(ctx, time.Minute) {
			t.Error("it starts though it was stopped")
		}
	})
}

func TestStopBeforeStart(t *testing.T) {
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, a)
	if err := a.Start(t.Context()); err == nil {
		t.Error("a stopped app was started")
	}
	if l, err := net.Listen("tcp", a.Addr().String()); err != nil {
		t.Errorf("the address is still taken: %v", err)
	} else {
		l.Close()
	}
}

// A part that ends by itself is told by Wait.
func TestWaitTellsWhatEnded(t *testing.T) {
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	a.listener.Close()
	if err := a.Wait(); err == nil || !strings.HasPrefix(err.Error(), "console: ") {
		t.Errorf("Wait = %v, want the console's error", err)
	}
}

// A connection that is still sending its request when the time for stopping is
// over is cut: it must not outlive the program.
func TestStopCutsWhatDoesNotEnd(t *testing.T) {
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	slow, err := net.Dial("tcp", a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	client := &http.Client{Timeout: time.Minute}
	get(t, client, a.URL()+"/livez") // Connections are accepted in order: the slow one has been.
	client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := a.Stop(ctx); err == nil || !strings.HasPrefix(err.Error(), "stop ") || !strings.Contains(err.Error(), "console") {
		t.Errorf("Stop = %v, want that the console did not end in time", err)
	}
	if err := slow.SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil { // The server itself would wait for 5 s.
		t.Fatal(err)
	}
	if _, err := slow.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection after Stop: %v, want it closed", err)
	}
}

// Parts that nobody waited for are told in one line, beside what went wrong.
func TestStopTellsWhatWasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		a := &App{started: true, ended: make(chan error, 1), teardown: []step{
			{"one", left}, {"two", func(context.Context) error { return errors.New("disk full") }}, {"three", left}, {"four", func(context.Context) error { return nil }}}}
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		began := time.Now()
		err := a.Stop(ctx)
		if err == nil || err.Error() != "stop two: disk full\nstop three, one: context deadline exceeded" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop = %v", err)
		}
		if took := time.Since(began); took != 9*time.Second+afterLate {
			t.Errorf("it took %v", took)
		}
	})
}

// An API server whose certificate is not trusted runs, and answers.
func TestUntrustedCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // that nobody trusts it is no news
	server.StartTLS()
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	_, explained := Explain(t.Context(), config, "deployment", "shop", "web", "dev")
	for what, err := range map[string]error{"check": Check(t.Context(), config, "dev"), "explain": explained} {
		if err == nil || !strings.Contains(err.Error(), "the certificate of the cluster at "+server.URL+" is not trusted: ") || !strings.Contains(err.Error(), "certificate-authority") || strings.Contains(err.Error(), "Is it running?") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestExplainSaysWhatToDo(t *testing.T) {
	_, err := Explain(t.Context(), nowhere(), "deployment", "shop", "web", "dev")
	if err == nil || !strings.Contains(err.Error(), "does not answer") || !strings.Contains(err.Error(), "--context") {
		t.Errorf("error = %v", err)
	}
	for _, answer := range []metav1.Status{
		{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: "apiserver is shutting down"},
		{Code: http.StatusInternalServerError, Message: "etcdserver: request timed out"},
	} {
		_, err := Explain(t.Context(), answering(t, answer), "deployment", "shop", "web", "dev")
		if err == nil || !strings.Contains(err.Error(), "cannot serve: ") || !strings.Contains(err.Error(), answer.Message) || !strings.Contains(err.Error(), "kubectl get --raw /readyz") {
			t.Errorf("after %d the error is %v", answer.Code, err)
		}
	}
	if err := Check(t.Context(), nil, "dev"); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("error = %v", err)
	}
}

func stop(t *testing.T, a *App) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := a.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
