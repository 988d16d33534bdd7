package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// proxied is the name by which browsers know the console.
const proxied = "loopscope.example.com"

// frontProxy is what stands before the console where people sign in with OIDC: it knows who somebody
// is, here by a cookie, and says so over mutual TLS. It passes on the name that it was asked by.
func (s *secured) frontProxy(t *testing.T, certificate []tls.Certificate) *httptest.Server {
	t.Helper()
	to, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: somebody{certificate: certificate}.tls()}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		for name := range r.Out.Header {
			if strings.HasPrefix(name, "X-Remote-") {
				r.Out.Header.Del(name)
			}
		}
		if who, err := r.In.Cookie("session"); err == nil {
			r.Out.Header["X-Remote-User"], r.Out.Header["X-Remote-Group"] = []string{who.Value}, []string{"developers", "system:authenticated"}
			r.Out.Header.Del("Cookie")
		}
	}})
	t.Cleanup(proxy.Close)
	return proxy
}

// throughProxy asks a proxy by the console's name.
type throughProxy struct {
	proxy  *httptest.Server
	header http.Header
}

func (s *secured) through(proxy *httptest.Server, user string, more ...string) throughProxy {
	header := http.Header{}
	if user != "" {
		header.Set("Cookie", "session="+user)
	}
	for i := 0; i+1 < len(more); i += 2 {
		header.Set(more[i], more[i+1])
	}
	return throughProxy{proxy, header}
}

func (p throughProxy) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, p.proxy.Listener.Addr().String())
}

func (p throughProxy) get(t *testing.T, path string) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: somebody{}.tls(), DialContext: p.dial}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+proxied+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = p.header
	return answered(t, &http.Client{Transport: transport, Timeout: time.Minute}, r)
}

func (p throughProxy) live(ctx context.Context) (*websocket.Conn, error) {
	d := websocket.Dialer{TLSClientConfig: somebody{}.tls(), NetDialContext: p.dial, Subprotocols: []string{"loopscope.trace.v1+json"}}
	conn, res, err := d.DialContext(ctx, "wss://"+proxied+"/live", p.header)
	if err != nil && res != nil {
		err = fmt.Errorf("%w: %d", err, res.StatusCode)
	}
	return conn, err
}

// TestFrontProxy: who signs in at a proxy sees what the API server says that he may, on pages and on
// websockets, as long as he may; and nobody but that proxy can say who somebody is.
func TestFrontProxy(t *testing.T) {
	t.Parallel()
	s := secure(t)
	for _, namespace := range []string{"shop", "vault"} {
		s.plane.Kubectl(t, "create", "namespace", namespace)
		s.plane.Kubectl(t, "-n", namespace, "create", "deployment", "web-of-"+namespace, "--image=nginx:1.27")
	}
	s.plane.Kubectl(t, "create", "clusterrolebinding", "developers-look", "--clusterrole=loopscope-viewer", "--group=developers")
	s.plane.Kubectl(t, "-n", "shop", "create", "rolebinding", "ann-looks", "--clusterrole=view", "--user=ann")
	s.start(t, "--console-hosts="+proxied)
	signed := s.frontProxy(t, s.pair(t, "front-proxy-client"))
	ann := s.through(signed, "ann")
	testplane.Until(t, time.Minute, "the Deployment that ann may see", func() error {
		status, body := ann.get(t, "/deployments")
		if status != http.StatusOK || !strings.Contains(body, "web-of-shop") {
			return fmt.Errorf("%d: %.500s", status, body)
		}
		if strings.Contains(body, "vault") {
			t.Fatalf("ann sees the namespace vault: %s", body)
		}
		return nil
	})
	for path, want := range map[string]int{"/deployments/shop/web-of-shop": 200, "/deployments/vault/web-of-vault": 404, "/queues": 200, "/metrics": 403} {
		if status, body := ann.get(t, path); status != want || strings.Contains(body, "web-of-vault") && want == 200 {
			t.Errorf("ann: %s: %d: %.300s", path, status, body)
		}
	}
	for _, c := range []struct {
		name string
		asks throughProxy
		want int
	}{
		{"nobody has signed in", s.through(signed, ""), http.StatusUnauthorized}, // A proxy's certificate is nobody's.
		{"a header of a browser", s.through(signed, "", "X-Remote-User", "ann", "X-Remote-Group", "system:masters"), http.StatusUnauthorized},
		{"a proxy of another authority", s.through(s.frontProxy(t, s.pair(t, "etcd-client")), "ann"), http.StatusForbidden},
		{"a client that is no proxy", s.through(s.frontProxy(t, s.pair(t, "loopscope")), "ann"), http.StatusForbidden},
		{"a proxy without a certificate", s.through(s.frontProxy(t, nil), "ann"), http.StatusForbidden},
	} {
		if status, body := c.asks.get(t, "/deployments"); status != c.want {
			t.Errorf("%s: %d: %.300s", c.name, status, body)
		}
	}
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "http://" + proxied}} {
		if conn, err := s.through(signed, "ann", header...).live(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "403") {
			t.Errorf("%v: %v, %v", header, conn, err)
		}
	}
	t.Run("websocket", func(t *testing.T) { s.proxiedSocket(t, s.through(signed, "ann", "Origin", "https://"+proxied)) })
	if status, body := s.viewer.ask(t, http.MethodGet, s.base+"/deployments", "Host", "other.example.com"); status != http.StatusMisdirectedRequest || !strings.Contains(body, "--console-hosts") {
		t.Errorf("by another name: %d: %.300s", status, body)
	}
}

// proxiedSocket: a websocket of ann's, who then may not look any more.
func (s *secured) proxiedSocket(t *testing.T, ann throughProxy) {
	conn, err := ann.live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := s.client.RbacV1().ClusterRoleBindings().Delete(t.Context(), "developers-look", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	_ = conn.SetReadDeadline(ended.Add(time.Minute))
	frames := 0
	for {
		_, message, err := conn.ReadMessage()
		if err == nil {
			if frames++; strings.Contains(string(message), "vault") {
				t.Errorf("ann is sent %s", message)
			}
			continue
		}
		if closed := new(websocket.CloseError); !errors.As(err, &closed) || closed.Code != websocket.ClosePolicyViolation {
			t.Errorf("after %s it ends with %v", time.Since(ended), err)
		}
		break
	}
	if frames == 0 {
		t.Error("nothing was sent before")
	}
	t.Logf("%d messages; the websocket ended %s after the right", frames, time.Since(ended).Round(time.Second))
}
