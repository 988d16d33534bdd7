package installed

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// forwarding answers as an API server that knows one pod, and forwards its port to a console.
type forwarding struct {
	console string // "" where the pod does not listen

	mu   sync.Mutex
	pod  string
	cuts []io.Closer
}

func (f *forwarding) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.HasSuffix(r.URL.Path, "/"+f.pod+"/portforward") {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: f.pod}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}}})
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	refusals := make(chan httpstream.Stream, 100)
	f.cuts = append(f.cuts, spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
		if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
			refusals <- s
		} else {
			go func() {
				<-replied
				f.carry(s, <-refusals)
			}()
		}
		return nil
	}))
}

func (f *forwarding) carry(data, refusal httpstream.Stream) {
	defer func() { _, _ = data.Reset(), refusal.Close() }()
	to, err := net.DialTimeout("tcp", f.console, 10*time.Second)
	if f.console == "" || err != nil {
		_, _ = io.WriteString(refusal, "dial tcp4 127.0.0.1:10257: connect: connection refused")
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, data); _ = to.Close() }()
	_, _ = io.Copy(data, to)
}

// cut ends what is forwarded, as the end of a pod does, and has another pod in its place.
func (f *forwarding) cut(next string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.cuts {
		_ = c.Close()
	}
	f.cuts, f.pod = nil, next
}

func forwarded(t *testing.T, f *forwarding) *Console {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &Console{namespace: Namespace, pods: labels.Everything(), port: intstr.FromInt32(10257), config: config, client: client}
	t.Cleanup(c.Close)
	return c
}

// What is said to a pod passes no port of this machine, which another program could have once the pod
// is gone; and another pod takes the place of one that is.
func TestTunnelHasNoPort(t *testing.T) {
	page := bytes.Repeat([]byte("page "), 100_000)
	console := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(page) }))
	defer console.Close()
	f := &forwarding{console: console.Listener.Addr().String(), pod: "loopscope-0"}
	c := forwarded(t, f)
	direct, err := c.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if network := direct.LocalAddr().Network(); network != "pipe" {
		t.Errorf("it is connected by %s", network)
	}
	if err := direct.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Error(err)
	}
	if _, err := direct.Read(make([]byte, 1)); err == nil || err.Error() == io.EOF.Error() {
		t.Errorf("past its deadline it reads %v", err)
	}
	_ = direct.Close()
	s := proxyTo(t, c.Dial)
	for _, next := range []string{"loopscope-1", "loopscope-2", ""} {
		for range 3 {
			answer, err := http.Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || !bytes.Equal(body, page) {
				t.Fatalf("%s, %d bytes, %v", answer.Status, len(body), err)
			}
			_ = answer.Body.Close()
		}
		f.cut(next)
		c.mu.Lock()
		gone := c.now.CloseChan()
		c.mu.Unlock()
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Fatal("the end of the pod is not noticed")
		}
	}
}

// mute is a connection to an API server that says nothing any more.
type mute struct {
	httpstream.Connection
	closed chan bool
}

func (m mute) CreateStream(http.Header) (httpstream.Stream, error) { return nil, errors.New("timeout") }
func (m mute) Close() error                                        { close(m.closed); return nil }
func (m mute) CloseChan() <-chan bool                              { return m.closed }

// A tunnel that leads nowhere any more is not tried again for ever.
func TestTunnelThatIsDead(t *testing.T) {
	console := httptest.NewTLSServer(http.NotFoundHandler())
	defer console.Close()
	c := forwarded(t, &forwarding{console: console.Listener.Addr().String(), pod: "loopscope-1"})
	c.now = &tunnel{Connection: mute{closed: make(chan bool)}, to: endpoint{pod: "loopscope-0"}}
	if _, err := c.Dial(t.Context()); err == nil || err.Error() != "connect to pod loopscope-0: timeout" {
		t.Errorf("%v", err)
	}
	conn, err := c.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// Why a pod takes no connection is what the user is told.
func TestTunnelSaysWhyThePodRefuses(t *testing.T) {
	f := &forwarding{pod: "loopscope-0"}
	s := proxyTo(t, forwarded(t, f).Dial)
	answer, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if want := "The console cannot be reached: pod loopscope-0: dial tcp4 127.0.0.1:10257: connect: connection refused"; err != nil || answer.StatusCode != http.StatusBadGateway || !strings.Contains(string(body), want) {
		t.Errorf("%s: %s, %v", answer.Status, body, err)
	}
}
