package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestBadInputToCommands gives both binaries what they cannot use. Each must
// end with an error that says what is wrong and what to do.
func TestBadInputToCommands(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	dir := t.TempDir()
	broken := write(t, dir, "broken", "this: is: no kubeconfig\n")
	nobody := write(t, dir, "nobody", kubeconfigOf("https://"+freeAddress(t)))
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, c := range []struct {
		name       string
		kubeconfig string
		args       []string
		want       []string
	}{
		{"kubeconfig that is not there", filepath.Join(dir, "missing"), []string{"manager"}, []string{"--kubeconfig", "make sandbox"}},
		{"--kubeconfig that is not there", "", []string{"manager", "--kubeconfig", filepath.Join(dir, "missing")}, []string{"missing: no such file or directory"}},
		{"kubeconfig that is none", broken, []string{"manager"}, []string{broken}},
		{"explain, kubeconfig that is none", broken, []string{"explain", "deployment/x"}, []string{broken}},
		{"context that is not there", plane.Kubeconfig, []string{"manager", "--context", "elsewhere"}, []string{`"elsewhere"`}},
		{"unreachable cluster", nobody, []string{"open", "--no-browser"}, []string{"does not answer", "connection refused", "--kubeconfig"}},
		{"explain, unreachable cluster", nobody, []string{"explain", "deployment/x"}, []string{"does not answer", "connection refused"}},
		{"unknown flag", "", []string{"manager", "--lisen=127.0.0.1:1"}, []string{"unknown flag: --lisen", "loopscope manager --help"}},
		{"unknown command", "", []string{"mangaer"}, []string{`"mangaer"`, "loopscope --help"}},
		{"unknown output", plane.Kubeconfig, []string{"explain", "deployment/stuck", "-n", "demo", "-o", "xml"}, []string{`"xml"`, "choose json, yaml or kyaml"}},
		{"unknown kind", plane.Kubeconfig, []string{"explain", "pod/x"}, []string{`"pod/x"`, "--at or --sync"}},
		{"no name", plane.Kubeconfig, []string{"explain", "stuck"}, []string{`"stuck"`, "KIND/NAME"}},
		{"unknown Deployment", plane.Kubeconfig, []string{"explain", "deployment/stack", "-n", "demo"}, []string{"no Deployment stack in namespace demo", "stuck"}},
		{"unknown namespace", plane.Kubeconfig, []string{"explain", "deployment/stuck", "-n", "nowhere"}, []string{"namespace nowhere", "-n"}},
		{"console for all the world", plane.Kubeconfig, []string{"manager", "--listen", "0.0.0.0:0"}, []string{"0.0.0.0:0 is not a loopback address", "127.0.0.1:8077", "ssh -L"}},
		{"console of another host", plane.Kubeconfig, []string{"manager", "--listen", "192.0.2.1:80"}, []string{"not a loopback address"}},
		{"console nowhere", plane.Kubeconfig, []string{"manager", "--listen", "8077"}, []string{`"8077" is not an address`, "host:port"}},
		{"busy port", plane.Kubeconfig, []string{"manager", "--listen", busy.Addr().String()}, []string{"address already in use", "--listen"}},
		{"no workers", plane.Kubeconfig, []string{"manager", "--concurrent-rc-syncs=0"}, []string{"--concurrent-rc-syncs", "positive"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errOut, err := loopscope(t.Context(), t, c.kubeconfig, c.args...)
			checkRefusal(t, out, errOut, err, c.want)
		})
	}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"sandbox: unknown flag", []string{"--lop=own"}, []string{"unknown flag: --lop"}},
		{"sandbox: unknown loops", []string{"--loops=mine"}, []string{"--loops=mine", "own, upstream or none"}},
		{"sandbox: console for all the world", []string{"--listen=0.0.0.0:8077"}, []string{"only loopback addresses"}},
		{"sandbox: busy explicit port", []string{"--demo=false", "--listen=" + busy.Addr().String()}, []string{"cannot be used", "choose another port"}},
		{"sandbox: no nodes", []string{"--nodes=0"}, []string{"--nodes=0", "1 to 200"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := plane.Sandbox(t.Context(), c.args...)
			text := ""
			if err != nil {
				text = err.Error()
			}
			checkRefusal(t, out, text, err, c.want)
		})
	}
}

// checkRefusal wants an error in a few lines, without a stack or a usage page.
func checkRefusal(t *testing.T, out, errOut string, err error, want []string) {
	t.Helper()
	if err == nil {
		t.Fatalf("it succeeded and printed %q", out)
	}
	for _, w := range want {
		if !strings.Contains(errOut, w) {
			t.Errorf("no %q in its error:\n%s", w, errOut)
		}
	}
	if strings.Contains(errOut, "goroutine ") || strings.Count(errOut, "\n") > 6 || strings.Contains(out, "Usage:") {
		t.Errorf("its error is not a few lines:\n%s%s", out, errOut)
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func kubeconfigOf(server string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {token: none}}]\n", server)
}

// TestBadInputToConsole asks the running sandbox's console for what it must not
// or cannot answer.
func TestBadInputToConsole(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	var twin struct{ Epoch string }
	fetchJSON(t, plane.Dashboard+"/deployments.json", &twin)
	host := strings.TrimPrefix(plane.Dashboard, "http://")
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		header     []string
		status     int
		want       string
	}{
		{"unknown Deployment", "/deployments/demo/nobody", nil, 404, "demo/nobody"},
		{"unknown Deployment, JSON", "/deployments/demo/nobody.json", nil, 404, `"status": 404`},
		{"unknown page", "/nothing", nil, 404, "There is no such page."},
		{"unknown sync", "/deployments/demo/healthy/syncs/" + twin.Epoch + "/999999999", nil, 404, "999999999"},
		{"unknown sync, JSON", "/deployments/demo/healthy/syncs/" + twin.Epoch + "/999999999.json", nil, 404, `"status": 404`},
		{"sync that is no number", "/deployments/demo/healthy/syncs/" + twin.Epoch + "/abc", nil, 400, "abc"},
		{"sync of another run", "/deployments/demo/healthy/syncs/ffff/1", nil, 410, "ffff"},
		{"foreign origin", "/deployments", []string{"Origin", "http://evil.example"}, 403, "came from another site"},
		{"foreign site, embedded", "/deployments", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403, "came from another site"},
		{"rebinding host", "/deployments", []string{"Host", "evil.example:" + port}, 421, "host name is not allowed"},
		{"loopback with another port", "/deployments", []string{"Host", "127.0.0.1:1"}, 421, "host name is not allowed"},
		{"localhost is its name, too", "/deployments", []string{"Host", "localhost:" + port}, 200, "<h1"},
		{"path traversal", "/static/..%2f..%2fgo.mod", nil, 404, "no such page"},
		{"path traversal, dots", "/static/../../../../etc/passwd", nil, 404, "no such page"},
		{"path traversal in a name", "/deployments/demo/..%2f..%2fhealthy", nil, 404, ""},
		{"query without end", "/deployments?q=" + strings.Repeat("x", 5000), nil, 414, "too long"},
		{"page of the websocket", "/live", nil, 426, "This is a websocket"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, text := fetch(t, plane.Dashboard+c.path, c.header...)
			if status != c.status || !strings.Contains(text, c.want) {
				t.Errorf("status %d, want %d and %q in:\n%.600s", status, c.status, c.want, text)
			}
			if strings.Contains(text, "root:x:") || strings.Contains(text, "module github.com") {
				t.Errorf("a file of the machine was served:\n%.300s", text)
			}
		})
	}
	t.Run("a request that would change something", func(t *testing.T) {
		response, err := console.Post(plane.Dashboard+"/deployments", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST: %s, Allow %q", response.Status, response.Header.Get("Allow"))
		}
	})
}

// TestBadFrames sends a websocket what it must not take. The connection is
// closed with the documented code, and the console goes on.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	for _, c := range []struct {
		name, protocol string
		kind           int
		message        string
		code           int
	}{
		{"oversized", "loopscope.page.v1", websocket.TextMessage, `{"page":"/` + strings.Repeat("x", 1<<20) + `"}`, websocket.CloseMessageTooBig},
		{"malformed JSON", "loopscope.page.v1", websocket.TextMessage, `{"page":`, websocket.ClosePolicyViolation},
		{"unknown field", "loopscope.page.v1", websocket.TextMessage, `{"page":"/deployments","evil":1}`, websocket.ClosePolicyViolation},
		{"bytes", "loopscope.page.v1", websocket.BinaryMessage, "\x00\xff", websocket.ClosePolicyViolation},
		{"page of elsewhere", "loopscope.page.v1", websocket.TextMessage, `{"page":"http://evil.example/"}`, websocket.ClosePolicyViolation},
		{"a reader of traces that talks", "loopscope.trace.v1+json", websocket.TextMessage, `{"page":"/deployments"}`, websocket.ClosePolicyViolation},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := dial(t, plane.Plane, c.protocol)
			// The console may close before it has read all: that is no failure.
			_ = conn.WriteMessage(c.kind, []byte(c.message))
			if err := readToEnd(conn); !websocket.IsCloseError(err, c.code) {
				t.Errorf("closed with %v, want code %d", err, c.code)
			}
		})
	}
	t.Run("not a frame at all", func(t *testing.T) {
		conn := dial(t, plane.Plane, "loopscope.page.v1")
		if _, err := conn.NetConn().Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if err := readToEnd(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the connection is still open")
		}
	})
	for name, header := range map[string]http.Header{
		"foreign origin": {"Origin": {"http://evil.example"}},
		"rebinding host": {"Host": {"evil.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			dialer := websocket.Dialer{Subprotocols: []string{"loopscope.trace.v1+json"}}
			conn, response, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(plane.Dashboard, "http")+"/live", header)
			if err == nil {
				_ = conn.Close()
				t.Fatal("the websocket was accepted")
			}
			if response == nil || response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("refused with %v, %v; want 403 or 421", response, err)
			}
		})
	}
	if status, text := fetch(t, plane.Dashboard+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz after all this: %d %s", status, text)
	}
}

func dial(t *testing.T, plane *testplane.Plane, protocol string) *websocket.Conn {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{protocol}, HandshakeTimeout: time.Minute}
	conn, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(plane.Dashboard, "http")+"/live", nil)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func readToEnd(conn *websocket.Conn) error {
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			return err
		}
	}
}
