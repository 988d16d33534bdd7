package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// hiddenMark is in the name of everything that most may not see, and absentMark in that of what nobody has made.
const hiddenMark, absentMark = "zqhidden", "zqabsent"

// visible: what a viewer may not get is not seen, by the rights that a real API server knows [M-6].
func (s *secured) visible(t *testing.T) {
	shown := newNamespace(t, s.client, "shown")
	hidden := newNamespace(t, s.client, hiddenMark)
	s.plane.Kubectl(t, "-n", shown, "create", "deployment", "web", "--image=nginx", "--replicas=2")
	s.plane.Kubectl(t, "-n", hidden, "create", "deployment", hiddenMark, "--image="+hiddenMark, "--replicas=2")
	one, all, paths := s.account(t, shown, "of-one", "loopscope-viewer", s.processReader(t)), s.account(t, shown, "of-all", "loopscope-viewer", "view"), s.account(t, shown, "of-paths")
	s.plane.Kubectl(t, "-n", shown, "create", "rolebinding", "of-one", "--clusterrole=view", "--serviceaccount="+shown+":of-one")
	s.plane.Kubectl(t, "create", "clusterrole", "few-paths", "--verb=get", "--non-resource-url=/live", "--non-resource-url=/queues")
	s.plane.Kubectl(t, "create", "clusterrolebinding", "few-paths", "--clusterrole=few-paths", "--serviceaccount="+shown+":of-paths")
	testplane.Until(t, time.Minute, "both Deployments are synced, and their readers have their rights", func() error {
		_, ofAll := all.ask(t, "GET", s.base+"/debug/controllers/replicaset-controller")
		_, ofOne := one.ask(t, "GET", s.base+"/debug/controllers/replicaset-controller")
		if !strings.Contains(ofAll, hidden+"/"+hiddenMark) || !strings.Contains(ofAll, shown+"/web") || !strings.Contains(ofOne, shown+"/web") {
			return errors.New(ofAll + "\nand to one of them\n" + ofOne)
		}
		return nil
	})
	for _, who := range []somebody{one, s.viewer} {
		s.walkFor(t, who, shown, hidden)
		s.tracesFor(t, who, who.name == one.name)
	}
	if body := all.wants(t, 200, "GET", s.base+"/deployments"); !strings.Contains(body, hiddenMark) || strings.Contains(body, "that you may see") {
		t.Errorf("whoever may see all has %.2000s", body)
	}
	if body := one.wants(t, 200, "GET", s.base+"/deployments"); !strings.Contains(body, "The only Deployment that you may see") {
		t.Errorf("whoever may see one namespace has %.2000s", body)
	}
	if err := s.watches(t, paths, "/queues").read(); err != nil {
		t.Errorf("a page whose path may be read ends with %v", err)
	}
	if err := s.watches(t, paths, "/decisions").read(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Errorf("a page whose path may not be read ends with %v", err)
	}
	s.ended(t, one, shown)
}

// walkFor asks for every address as somebody, with what is hidden in it.
func (s *secured) walkFor(t *testing.T, who somebody, shown, hidden string) {
	t.Helper()
	text, err := os.ReadFile("../../../web/testdata/routes.txt")
	if err != nil {
		t.Fatal(err)
	}
	routes, asked := strings.Fields(string(text)), 0
	for i := 0; i+1 < len(routes); i += 2 {
		if routes[i] != http.MethodGet || routes[i+1] == "/live" {
			continue
		}
		for _, in := range [][]string{{shown, "web"}, {hidden, hiddenMark}} {
			path := strings.NewReplacer("{objects}", "deployments", "{check}", "ping", "{file}", "console.js", "*", "", "{loop}", "deployment", "{namespace}", in[0], "{name}", in[1], "{epoch}", "x", "{seq}", "1").Replace(routes[i+1])
			queries := []string{"", "?q=" + hiddenMark, "?sync=1", "?namespace=" + hidden}
			if strings.HasPrefix(path, "/debug/pprof/") { // They take as long as they are asked to.
				queries = []string{"?seconds=1"}
			}
			for _, query := range queries {
				asked++
				status, body := who.ask(t, http.MethodGet, s.base+path+query)
				if !strings.Contains(path+query, hiddenMark) {
					if at := strings.Index(body, hiddenMark); at >= 0 {
						t.Errorf("%s: %s%s: %d …%s…", who.name, path, query, status, body[max(0, at-200):min(len(body), at+100)])
					}
				} else if strings.Contains(path, hiddenMark) {
					absent, same := who.ask(t, http.MethodGet, s.base+strings.ReplaceAll(path+query, hiddenMark, absentMark))
					if same = strings.ReplaceAll(same, absentMark, hiddenMark); !strings.Contains(body, `"f-window"`) && (status != absent || body != same) {
						t.Errorf("%s: %s%s: %d %.300s\nand what does not exist: %d %.300s", who.name, path, query, status, body, absent, same)
					} else if status != absent {
						t.Errorf("%s: %s%s: %d, and what does not exist: %d", who.name, path, query, status, absent)
					}
				}
			}
		}
	}
	t.Logf("%s: %d answers", who.name, asked)
}

// tracesFor reads the traces that somebody gets.
func (s *secured) tracesFor(t *testing.T, who somebody, some bool) {
	t.Helper()
	w := s.opens(t, who, "?after=0", "loopscope.trace.v1+json")
	got := ""
	_ = w.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	for {
		_, raw, err := w.conn.ReadMessage()
		if err != nil {
			break
		}
		got += string(raw)
	}
	if strings.Contains(got, hiddenMark) || strings.Contains(got, `"trace"`) != some {
		t.Errorf("%s: the traces are %.500s", who.name, got)
	}
}

// ended: a page that is open ends with the right to its object.
func (s *secured) ended(t *testing.T, one somebody, shown string) {
	w := s.watches(t, one, "/deployments/"+shown+"/web")
	if err := w.read(); err != nil || !strings.Contains(w.got, "web") {
		t.Fatalf("it has %.300s, %v", w.got, err)
	}
	if err := s.client.RbacV1().RoleBindings(shown).Delete(context.Background(), "of-one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	taken := time.Now()
	_ = w.conn.SetReadDeadline(taken.Add(time.Minute))
	for w.got = ""; !strings.Contains(w.got, `"gone":"There is no Deployment `); {
		if err := w.read(); err != nil {
			t.Fatalf("after %s: %v", time.Since(taken), err)
		}
	}
	t.Logf("the page ended %s after the right to its object", time.Since(taken).Round(time.Second))
	one.wants(t, 404, "GET", s.base+"/deployments/"+shown+"/web")
}

// socket is a websocket of somebody, with the last message that came.
type socket struct {
	conn *websocket.Conn
	got  string
}

func (w *socket) read() error {
	_, raw, err := w.conn.ReadMessage()
	w.got = string(raw)
	return err
}

// opens opens a websocket.
func (s *secured) opens(t *testing.T, who somebody, query, protocol string) *socket {
	t.Helper()
	d := websocket.Dialer{TLSClientConfig: who.tls(), Subprotocols: []string{protocol}, HandshakeTimeout: time.Minute}
	conn, res, err := d.DialContext(t.Context(), strings.Replace(s.base, "https", "wss", 1)+"/live"+query, http.Header{"Authorization": {"Bearer " + who.token}})
	if err != nil {
		t.Fatalf("%s: %v, %v", who.name, err, res)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	return &socket{conn: conn}
}

// watches opens a page as its script does.
func (s *secured) watches(t *testing.T, who somebody, path string) *socket {
	t.Helper()
	w := s.opens(t, who, "", "loopscope.page.v1")
	if err := w.conn.WriteJSON(map[string]string{"page": path}); err != nil {
		t.Fatal(err)
	}
	return w
}
