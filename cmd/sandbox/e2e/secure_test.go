package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// somebody asks the secure port.
type somebody struct {
	name        string
	token       string
	certificate []tls.Certificate
	header      http.Header
}

// ask sends a request, and returns the answer's status and body.
func (s somebody) ask(t *testing.T, method, address string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader("4"))
	if err != nil {
		t.Fatal(err)
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	for name, values := range s.header {
		r.Header[name] = values
	}
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	transport := &http.Transport{TLSClientConfig: s.tls(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	return answered(t, &http.Client{Transport: transport, Timeout: time.Minute}, r)
}

// answered is the status and the body of an answer. Redirects are not followed.
func answered(t *testing.T, client *http.Client, r *http.Request) (int, string) {
	t.Helper()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// tls trusts whatever certificate the port has made for itself.
func (s somebody) tls() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, Certificates: s.certificate} //nolint:gosec // It signs itself.
}

// wants asks, and says what is not as it has to be.
func (s somebody) wants(t *testing.T, status int, method, address string, header ...string) string {
	t.Helper()
	got, body := s.ask(t, method, address, header...)
	if got != status {
		t.Errorf("%s: %s %s %v: %d, want %d: %.300s", s.name, method, address, header, got, status, body)
	}
	return body
}

// secured is a manager with a secure port, and who asks it.
type secured struct {
	viewerNamespace                      string // of all of them
	plane                                *testplane.Plane
	client                               kubernetes.Interface
	base                                 string
	delegating                           string // kubeconfig of kube-system/loopscope
	anonymous, outsider, viewer, scraper somebody
}

// secure starts a control plane with what deploy/secure-port.yaml gives, and some ServiceAccounts.
func secure(t *testing.T) *secured {
	t.Helper()
	plane := testplane.Start(t, testplane.Options{Loops: "none"})
	s := &secured{plane: plane, client: clientOf(t, plane), anonymous: somebody{name: "anonymous"}}
	plane.Kubectl(t, "apply", "-f", "../../../deploy/secure-port.yaml")
	s.viewerNamespace = newNamespace(t, s.client, "readers")
	namespace := s.viewerNamespace
	config := plane.Config(t)
	s.delegating = writeKubeconfig(t, &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData},
		&clientcmdapi.AuthInfo{Token: s.account(t, "kube-system", "loopscope").token})
	s.outsider, s.viewer, s.scraper = s.account(t, namespace, "outsider"), s.account(t, namespace, "viewer", "loopscope-viewer"), s.account(t, namespace, "scraper", "loopscope-metrics-reader")
	return s
}

// account makes a ServiceAccount with these ClusterRoles.
func (s *secured) account(t *testing.T, namespace, name string, roles ...string) somebody {
	t.Helper()
	s.plane.Kubectl(t, "-n", namespace, "create", "serviceaccount", name)
	for _, role := range roles {
		s.plane.Kubectl(t, "create", "clusterrolebinding", role+"-of-"+name, "--clusterrole="+role, "--serviceaccount="+namespace+":"+name)
	}
	token, err := s.client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return somebody{name: name, token: token.Status.Token}
}

// start starts a manager, with these flags beside those that say where to ask.
func (s *secured) start(t *testing.T, flags ...string) *manager {
	t.Helper()
	host, port, _ := strings.Cut(freeAddress(t), ":")
	s.base = "https://" + host + ":" + port
	return startManager(t, s.plane.LoopscopeKubeconfig, append([]string{"--history=off", "--leader-elect=false", "--bind-address=" + host, "--secure-port=" + port,
		"--authentication-kubeconfig=" + s.delegating, "--authorization-kubeconfig=" + s.delegating}, flags...)...)
}

// pair is a certificate of the sandbox.
func (s *secured) pair(t *testing.T, name string) []tls.Certificate {
	t.Helper()
	file := filepath.Join(filepath.Dir(s.plane.Kubeconfig), "pki", name)
	pair, err := tls.LoadX509KeyPair(file+".crt", file+".key")
	if err != nil {
		t.Fatal(err)
	}
	return []tls.Certificate{pair}
}

// TestSecurePort: who may read what there, with a real API server to ask [M-6].
func TestSecurePort(t *testing.T) {
	t.Parallel()
	s := secure(t)
	s.start(t, "--profiling")
	testplane.Until(t, time.Minute, "readiness", func() error {
		if status, body := s.anonymous.ask(t, http.MethodGet, s.base+"/readyz"); status != http.StatusOK {
			return errors.New(body)
		}
		return nil
	})
	t.Run("accounts", s.accounts)
	t.Run("certificates", s.certificates)
	t.Run("names", s.names)
	t.Run("every address", s.everyAddress)
	t.Run("escaped", s.escaped)
	t.Run("websockets", s.websockets)
	t.Run("visible", s.visible)
}

func (s *secured) accounts(t *testing.T) {
	if body := s.anonymous.wants(t, 200, "GET", s.base+"/healthz"); body != "ok" {
		t.Errorf("/healthz says %q", body)
	}
	s.anonymous.wants(t, 200, "GET", s.base+"/livez")
	if body := s.anonymous.wants(t, 403, "GET", s.base+"/metrics"); !strings.Contains(body, `forbidden: User \"system:anonymous\" cannot get path \"/metrics\"`) {
		t.Errorf("it says %s", body)
	}
	somebody{name: "nobody", token: "invented"}.wants(t, 401, "GET", s.base+"/metrics")
	somebody{name: "nobody", token: "invented"}.wants(t, 401, "GET", s.base+"/healthz")
	process := s.account(t, s.viewerNamespace, "of-process", s.processReader(t))
	for path, who := range map[string]struct {
		reads somebody
		want  string
	}{
		"/metrics": {process, "loopscope_syncs_total"}, "/configz": {process, configKind}, "/flagz": {process, "secure-port"},
		"/deployments": {s.viewer, "<html"}, "/debug/controllers/deployment-controller": {s.viewer, `"verdicts"`},
	} {
		s.outsider.wants(t, 403, "GET", s.base+path)
		if body := who.reads.wants(t, 200, "GET", s.base+path); !strings.Contains(body, who.want) {
			t.Errorf("%s lacks %q: %.300s", path, who.want, body)
		}
	}
	// What the API server shows of itself at the same paths is not for those who look at the console.
	for _, path := range []string{"/metrics", "/debug/pprof/heap", "/flagz", "/statusz", "/logs/"} {
		if status, body := s.viewer.ask(t, "GET", s.plane.Config(t).Host+path); status != http.StatusForbidden {
			t.Errorf("the API server answers a viewer at %s: %d: %.300s", path, status, body)
		}
	}
	if body := s.scraper.wants(t, 200, "GET", s.base+"/metrics"); !strings.Contains(body, "\nloopscope_secure_connections_refused_total 0\n") {
		t.Error("/metrics lacks the connections that were refused")
	}
	s.scraper.wants(t, 403, "GET", s.base+"/deployments")
	s.viewer.wants(t, 403, "PUT", s.base+"/debug/flags/v")
	s.viewer.wants(t, 403, "DELETE", s.base+"/metrics/slis")
	s.viewer.wants(t, 403, "POST", s.base+"/deployments")
}

// configKind is the kind of the manager's configuration.
const configKind = "LoopscopeManagerConfiguration"

func (s *secured) certificates(t *testing.T) {
	admin := somebody{name: "admin", certificate: s.pair(t, "admin")}
	admin.wants(t, 200, "GET", s.base+"/metrics")
	admin.wants(t, 200, "PUT", s.base+"/debug/flags/v")
	admin.wants(t, 405, "POST", s.base+"/deployments") // Whoever may everything changes nothing.
	somebody{name: "loopscope", certificate: s.pair(t, "loopscope")}.wants(t, 403, "GET", s.base+"/metrics")
	somebody{name: "of another authority", certificate: s.pair(t, "etcd-client")}.wants(t, 403, "GET", s.base+"/metrics")
	spoken := http.Header{"X-Remote-User": {"somebody"}, "X-Remote-Group": {"system:masters"}}
	somebody{name: "a proxy", certificate: s.pair(t, "front-proxy-client"), header: spoken}.wants(t, 200, "GET", s.base+"/metrics")
	somebody{name: "no proxy", certificate: s.pair(t, "loopscope"), header: spoken}.wants(t, 403, "GET", s.base+"/metrics")
	somebody{name: "anonymous", header: spoken}.wants(t, 403, "GET", s.base+"/metrics")
}

func (s *secured) names(t *testing.T) {
	address := strings.TrimPrefix(s.base, "https://")
	for host, status := range map[string]int{address: 200, "localhost": 200, "LOCALHOST:1": 200, "10.1.2.3:10257": 200, "[2001:db8::1]": 200, "evil.example": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421} {
		s.viewer.wants(t, status, "GET", s.base+"/deployments", "Host", host)
	}
	for origin, status := range map[string]int{s.base: 200, "http://" + address: 403, "https://evil.example": 403, "null": 403} {
		s.viewer.wants(t, status, "GET", s.base+"/deployments", "Origin", origin)
	}
	s.viewer.wants(t, 403, "GET", s.base+"/deployments.json", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	somebody{name: "a browser", certificate: s.pair(t, "admin")}.wants(t, 403, "PUT", s.base+"/debug/flags/v", "Origin", s.base)
}

// everyAddress walks what chi.Walk has of the console, as a test of web keeps it.
func (s *secured) everyAddress(t *testing.T) {
	text, err := os.ReadFile("../../../web/testdata/routes.txt")
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{"/healthz": true, "/livez": true, "/readyz": true}
	filled := strings.NewReplacer("{objects}", "deployments", "{check}", "ping", "{file}", "console.js", "*", "")
	routes := strings.Fields(string(text))
	for i := 0; i+1 < len(routes); i += 2 {
		method, path := routes[i], filled.Replace(routes[i+1])
		for _, name := range []string{"loop", "namespace", "name", "epoch", "seq"} {
			path = strings.ReplaceAll(path, "{"+name+"}", "deployment")
		}
		for _, who := range []somebody{s.anonymous, s.outsider} {
			want := http.StatusForbidden
			if open[path] {
				want = http.StatusOK
			}
			who.wants(t, want, method, s.base+path)
		}
		if method != http.MethodGet || ofProcess(path) {
			s.viewer.wants(t, http.StatusForbidden, method, s.base+path)
			continue
		}
		if status, body := s.viewer.ask(t, method, s.base+path+"?seconds=1"); status == http.StatusForbidden || status == http.StatusUnauthorized || status == http.StatusInternalServerError {
			t.Errorf("viewer: %s: %d: %.300s", path, status, body)
		}
	}
	if len(routes) < 160 {
		t.Errorf("there are only %d addresses", len(routes)/2)
	}
}

// escaped: no spelling of an address leads to another one than that which was allowed.
func (s *secured) escaped(t *testing.T) {
	for _, path := range []string{"/%6detrics", "/healthz%2f..%2fmetrics", "/healthz/../metrics", "//metrics", "/healthz%3f/../metrics", "/metrics/", "/%2e%2e/metrics", "/healthz;/metrics", "/healthz%00"} {
		s.outsider.wants(t, 403, "GET", s.base+path)
	}
	if body := s.outsider.wants(t, 200, "GET", s.base+"/%68ealthz"); body != "ok" {
		t.Errorf("/healthz, escaped, is %.300s", body)
	}
}

// websockets: one ends with the token that it was opened with.
func (s *secured) websockets(t *testing.T) {
	ctx := context.Background()
	namespace := newNamespace(t, s.client, "sockets")
	s.plane.Kubectl(t, "create", "serviceaccount", "loops", "-n", namespace)
	s.plane.Kubectl(t, "create", "clusterrolebinding", "sockets", "--clusterrole=loopscope-viewer", "--serviceaccount="+namespace+":loops")
	token := boundToken(t, s.client, namespace, "short")
	dial := func(who somebody, origin string) (*websocket.Conn, error) {
		header := http.Header{}
		if who.token != "" {
			header.Set("Authorization", "Bearer "+who.token)
		}
		if origin != "" {
			header.Set("Origin", origin)
		}
		d := websocket.Dialer{TLSClientConfig: who.tls(), Subprotocols: []string{"loopscope.trace.v1+json"}}
		conn, res, err := d.DialContext(ctx, strings.Replace(s.base, "https", "wss", 1)+"/live", header)
		if err != nil && res != nil {
			err = fmt.Errorf("%w: %d", err, res.StatusCode)
		}
		return conn, err
	}
	for status, refused := range map[string]func() (*websocket.Conn, error){
		"403 of an outsider": func() (*websocket.Conn, error) { return dial(s.outsider, "") },
		"403 of anonymous":   func() (*websocket.Conn, error) { return dial(s.anonymous, "") },
		"403 of a site":      func() (*websocket.Conn, error) { return dial(s.viewer, "https://evil.example") },
		"401 of a token":     func() (*websocket.Conn, error) { return dial(somebody{token: "invented"}, "") },
	} {
		if _, err := refused(); err == nil || !strings.HasSuffix(err.Error(), status[:3]) {
			t.Errorf("%s: %v", status, err)
		}
	}
	kept, err := dial(s.viewer, s.base)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	conn, err := dial(somebody{token: token}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := s.client.CoreV1().Secrets(namespace).Delete(ctx, "short", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	_ = conn.SetReadDeadline(revoked.Add(time.Minute))
	for err = nil; err == nil; {
		_, _, err = conn.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Errorf("after %s it ends with %v", time.Since(revoked), err)
	}
	t.Logf("the websocket ended %s after its token", time.Since(revoked).Round(time.Second))
	_ = kept.SetReadDeadline(time.Now().Add(time.Second))
	if _, _, err := kept.ReadMessage(); websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Errorf("the other one ended, too: %v", err)
	}
}

// TestSecurePortAsUpstream: what kube-controller-manager answers where authorization does not work
// or is not asked for.
func TestSecurePortAsUpstream(t *testing.T) {
	t.Parallel()
	s := secure(t)
	broken := writeKubeconfig(t, &clientcmdapi.Cluster{Server: "https://" + freeAddress(t)}, &clientcmdapi.AuthInfo{Token: "x"})
	m := s.start(t, "--authorization-kubeconfig="+broken)
	s.anonymous.wants(t, 200, "GET", s.base+"/healthz")
	s.viewer.wants(t, 500, "GET", s.base+"/metrics")
	admin := somebody{name: "admin", certificate: s.pair(t, "admin")}
	testplane.Until(t, time.Minute, "certificates of clients", func() error { // The authorities are watched for.
		if status, body := admin.ask(t, "GET", s.base+"/metrics"); status != http.StatusOK {
			return errors.New(body)
		}
		return nil
	})
	if err := m.stop(30 * time.Second); err != nil {
		t.Errorf("it ends with %v", err)
	}
	m = s.start(t, "--authorization-always-allow-paths=/healthz,/metrics", "--tls-min-version=VersionTLS13", "--disable-http2-serving")
	s.anonymous.wants(t, 200, "GET", s.base+"/metrics")
	s.anonymous.wants(t, 403, "GET", s.base+"/metrics/slis")
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}}} //nolint:gosec // It is to be refused.
	if res, err := old.Get(s.base + "/healthz"); err == nil {
		t.Errorf("TLS 1.2 is answered: %s", res.Status)
	}
	address, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	for want, flags := range map[string][]string{
		"no such file or directory": {"--authentication-kubeconfig=/does/not/exist"},
		"/does/not/too":             {"--authorization-kubeconfig=/does/not/too", "--authentication-kubeconfig=" + s.delegating},
		"address already in use":    {"--secure-port=" + address.Port()},
		"extension-apiserver-authentication": {"--authentication-kubeconfig=" + writeKubeconfig(t, &clientcmdapi.Cluster{Server: s.plane.Config(t).Host, CertificateAuthorityData: rest.CopyConfig(s.plane.Config(t)).CAData,
			CertificateAuthority: s.plane.Config(t).CAFile}, &clientcmdapi.AuthInfo{Token: s.outsider.token})},
	} {
		_, free, _ := strings.Cut(freeAddress(t), ":")
		cmd := exec.Command(testplane.Loopscope(t), append([]string{"manager", "--listen=127.0.0.1:0", "--console-auth=none", "--history=off", "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=" + free}, flags...)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+s.plane.LoopscopeKubeconfig)
		if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), want) {
			t.Errorf("%v: %v, no %q in\n%s", flags, err, want, said)
		}
	}
	if err := m.stop(30 * time.Second); err != nil {
		t.Errorf("it ends with %v", err)
	}
}
