package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// TestHostileServer: what an API server says in refusing a probe reaches no reader with a
// credential, a character that is not for reading, or a line of its own.
func TestHostileServer(t *testing.T) {
	const said = "no \x1b[2J\u009b31m\n[+]forged ok password=hunter2 Bearer abcdef12345678"
	config := answering(t, metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: said})
	a, err := New(Options{Config: config, Listen: "127.0.0.1:0", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	a.journal.Record(&telemetry.Trace{Version: telemetry.TraceVersion, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"},
		Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, At: now, Object: "Deployment web"}}, Queued: now, Started: now, Ended: now, Result: telemetry.ResultWrote})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	deadline := time.Now().Add(time.Minute)
	for a.cluster.server().Reachable && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	for _, path := range []string{"/readyz", "/deployments", "/deployments.json", "/deployments/shop/web/story.json", "/deployments/shop/web/story"} {
		_, body := get(t, client, a.URL()+path)
		clean(t, path, body)
	}
	clean(t, "a websocket", frameOf(t, a))
}

func clean(t *testing.T, where, body string) {
	t.Helper()
	if strings.ContainsFunc(body, safetext.Hidden) || strings.Contains(body, "\n[+]forged") || strings.Contains(body, "hunter2") || strings.Contains(body, "abcdef12345678") {
		t.Errorf("%s has what the server said: %q", where, body)
	}
	if !strings.Contains(body, "forged ok") {
		t.Errorf("%s has nothing of it:\n%.2000s", where, body)
	}
}

// frameOf is the notice that a websocket gets.
func frameOf(t *testing.T, a *App) string {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{"loopscope.page.v1"}, HandshakeTimeout: time.Minute}
	conn, _, err := dialer.Dial(strings.Replace(a.URL(), "http", "ws", 1)+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WriteJSON(map[string]string{"page": "/deployments", "epoch": a.journal.Epoch()}); err != nil {
		t.Fatal(err)
	}
	var update struct {
		Frags []struct{ HTML string }
	}
	_, raw, err := conn.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &update); err != nil {
		t.Fatal(err)
	}
	var html strings.Builder
	for _, f := range update.Frags {
		html.WriteString(f.HTML)
	}
	return html.String()
}
