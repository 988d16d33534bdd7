package web

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry/safetext"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
)

const hidden = "a\x1b[2J\u009b31m\u202eb\u200bc\u2028d\U000e0041e\x7f"

// TestNothingHiddenIsEchoed: what an address says comes back without the characters that
// are not for reading, and so does the name of the cluster.
func TestNothingHiddenIsEchoed(t *testing.T) {
	w := planWorld(t)
	w.pump()
	_, h := w.serve(func(o *Options) { o.Cluster = hidden })
	q := "?q=" + url.QueryEscape(hidden)
	for _, path := range []string{"/deployments" + q, "/deployments.json" + q, "/history" + q, "/history.json" + q, "/" + url.PathEscape(hidden), "/deployments/shop/" + url.PathEscape(hidden) + ".json",
		"/debug/controllers/" + url.PathEscape(hidden), "/export.jsonl?" + url.QueryEscape(hidden) + "=1", "/export.jsonl"} {
		_, body := get(t, h.URL, path)
		if i := strings.IndexFunc(body, safetext.Hidden); i >= 0 {
			t.Errorf("%s has %q", path, body[max(0, i-40):min(len(body), i+40)])
		}
		if path == "/deployments.json"+q && !strings.Contains(body, `"cluster": "a\u001b[2J\u009b31m\u202eb\u200bc\u2028d\udb40\udc41e\u007f"`) {
			t.Errorf("%s has not the very name: %.300s", path, body)
		}
	}
	for _, c := range []struct {
		protocol string
		ask      *live.Subscribe
	}{{live.TraceProtocol, nil}, {page.PageProtocol, &live.Subscribe{Page: "/deployments" + q, Epoch: "7c41"}}} {
		said := message(t, h, c.protocol, c.ask)
		if i := strings.IndexFunc(said, safetext.Hidden); i >= 0 || !strings.Contains(said, "31m") {
			t.Errorf("%s says %.300q", c.protocol, said[max(0, i-40):])
		}
	}
}

// message is the first one of a websocket.
func message(t *testing.T, h *httptest.Server, protocol string, ask *live.Subscribe) string {
	t.Helper()
	conn := dial(t, h.URL, "", protocol)
	if ask != nil {
		if err := conn.WriteJSON(ask); err != nil {
			t.Fatal(err)
		}
	}
	_, raw, err := conn.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
