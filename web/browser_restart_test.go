package web

import (
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/telemetry"
)

// TestBrowserRestart starts another run of the program under an open page: it
// says that numbers start again, and shows those of the new run.
func TestBrowserRestart(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-time.Hour)
	first, second := newWorld(t, began), newWorld(t, began)
	second.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "beef"})
	first.pump()
	second.pump()
	first.rollout("web").begin()
	second.rollout("web").begin()
	x := second.journal.Of(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, 1)[0]

	s := first.server(func(o *Options) { o.Now = time.Now })
	h := httptest.NewServer(s.Handler())
	address := h.Listener.Addr().String()
	ctx := browser(t)
	c := listen(t, ctx)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments/shop/web"))
	until(t, ctx, isLive)
	c.none(t)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.CloseClientConnections()
	h.Close()

	var listener net.Listener
	eventually(t, "the address is free again", func() bool { l, err := net.Listen("tcp", address); listener = l; return err == nil })
	back := &httptest.Server{Listener: listener, Config: HTTPServer(second.server(func(o *Options) { o.Now = time.Now }).Handler(), nil)}
	back.Start()
	t.Cleanup(back.Close)
	until(t, ctx, `document.querySelector('#told').innerText.includes('Another run is shown') && !document.querySelector('#told').hidden`)
	until(t, ctx, stepIs(x.Seq))
	do(t, ctx, chromedp.Click(chromedp.CSS("#told button")))
	until(t, ctx, `document.querySelector('#told').hidden`)
}
