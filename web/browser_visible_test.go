package web

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// TestBrowserSight scrolls a long list: the script names the rows in sight and no
// others, and what comes into sight is up to date.
func TestBrowserSight(t *testing.T) {
	w := newWorld(t, time.Now().Add(-2*time.Hour))
	for i := range page.MaxRows {
		w.journal.Record(plain("shop", "d-"+words.Digits(100+i)))
	}
	w.pump()
	_, h := w.serve(func(o *Options) { o.Now = time.Now })
	ctx := browser(t)
	c := listen(t, ctx)
	sent := make(chan live.Subscribe, 100)
	err := chromedp.Listen(ctx, func(event any) {
		if frame, ok := event.(*network.EventWebSocketFrameSent); ok {
			var sub live.Subscribe
			if json.Unmarshal([]byte(frame.Response.PayloadData), &sub) == nil {
				sent <- sub
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	subscribed := func() live.Subscribe {
		t.Helper()
		select {
		case sub := <-sent:
			return sub
		case <-time.After(time.Minute):
			t.Fatal("the page sent nothing")
			return live.Subscribe{}
		}
	}
	do(t, ctx, called(network.Enable, network.EnableParams{}), chromedp.EmulateViewport(1920, 1080), chromedp.Navigate(h.URL+"/deployments"))
	until(t, ctx, isLive)
	first := subscribed()
	t.Logf("of %d rows, %d are followed in a window of 1920 by 1080", len(first.Rows), first.Sight)
	if len(first.Rows) != page.MaxRows || first.Sight < 20 || first.Sight > 40 {
		t.Errorf("%d rows, the first %d of them in sight; want all, and a screen of them", len(first.Rows), first.Sight)
	}

	last := "d-" + words.Digits(100+page.MaxRows-1)
	w.journal.Record(says(last, "it is old")) // The first of the rows out of sight need not wait.
	text := `document.getElementById('` + address.Row(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: last}) + `').textContent`
	until(t, ctx, text+`.includes('It is old')`)
	w.journal.Record(says(last, "it is older"))
	run(t, ctx, chromedp.Evaluate[bool](`(scrollTo(0, document.body.scrollHeight), true)`))
	began := time.Now()
	until(t, ctx, text+`.includes('It is older')`)
	if took := time.Since(began); took > live.CalmEvery/2 {
		t.Errorf("what came into sight was brought up to date %s later", took)
	}
	if again := subscribed(); !again.Scrolled || again.Sight < 20 || again.Sight > 40 {
		t.Errorf("having scrolled, the page sent %+v", again)
	}
	c.none(t)
}
