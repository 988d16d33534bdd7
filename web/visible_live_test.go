package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
)

// dialAs opens a websocket as somebody.
func (p *planted) dialAs(t *testing.T, who, query, protocol string) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{protocol}, HandshakeTimeout: time.Minute}
	conn, res, err := d.Dial(strings.Replace(p.base, "http", "ws", 1)+"/live"+query, http.Header{"Who": {who}})
	if err != nil {
		t.Fatalf("%s: %v %v", who, err, res)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	return conn
}

// TestFramesShowNothingHidden: each page that can be watched, and the traces.
func TestFramesShowNothingHidden(t *testing.T) {
	p := plantedConsole(t)
	for who := range identities() {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			for pattern, route := range p.server.pages.Routes {
				if !route.Live {
					continue
				}
				for i, path := range p.addresses(t, pattern) {
					if !testing.Short() || i%5 == 0 {
						p.checkFrame(t, who, path)
					}
				}
			}
			p.checkTraces(t, who)
		})
	}
}

func (p *planted) checkFrame(t *testing.T, who, path string) {
	t.Helper()
	frame, asked := p.frame(t, who, path), strings.Contains(path, hiddenMark)
	switch {
	case sees[who]:
	case !asked && strings.Contains(frame, hiddenMark):
		t.Errorf("%s has %.300s", path, frame)
	case asked:
		same := strings.ReplaceAll(p.frame(t, who, strings.ReplaceAll(path, hiddenMark, absentMark)), absentMark, hiddenMark)
		if same != frame {
			t.Errorf("%s has %.300s\nand what does not exist %.300s", path, frame, same)
		}
	}
}

// checkTraces reads all traces, up to one that is recorded last.
func (p *planted) checkTraces(t *testing.T, who string) {
	t.Helper()
	conn := p.dialAs(t, who, "?after=0", live.TraceProtocol)
	p.journal.Record(plant(t, plain("a", "web")))
	end := plain(shownSpace, "end-of-"+strings.ReplaceAll(who, " ", "-"))
	p.journal.Record(end)
	got, stop := "", end.Name
	if sees[who] {
		stop = hiddenMark
	}
	for (sees[who] || who == "viewer of one") && !strings.Contains(got, stop) {
		_, raw, err := conn.ReadMessage()
		if err != nil {
			t.Fatalf("%v after %d bytes", err, len(got))
		}
		got += string(raw)
	}
	if strings.Contains(got, hiddenMark) != sees[who] {
		t.Errorf("traces: %.300s", got)
	}
}

// frame is what somebody is sent first of a page, without its times.
func (p *planted) frame(t *testing.T, who, path string) string {
	t.Helper()
	conn := p.dialAs(t, who, "", page.PageProtocol)
	defer func() { _ = conn.Close() }()
	if err := conn.WriteJSON(live.Subscribe{Page: path, Epoch: "7c41", After: p.journal.Last()}); err != nil {
		t.Fatal(err)
	}
	_, raw, err := conn.ReadMessage()
	if err != nil {
		return err.Error()
	}
	return regexp.MustCompile(`"(now|seq)":\d+`).ReplaceAllString(string(raw), "")
}
