package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/address"
)

// TestStoryPage reads the story of the stuck rollout as a page and as its twin.
func TestStoryPage(t *testing.T) {
	_, base := told(t)
	_, body := get(t, base, "/deployments/shop/web/story")
	d := parse(t, body)
	if got := d.one("h1"); !strings.HasPrefix(got, "shop/web is waiting: ") || !strings.Contains(d.one(".then"), "is not settled yet") {
		t.Errorf("headline: %q", got)
	}
	for _, want := range []string{"Deployment web was changed by kubectl", "held back", "of waiting (", "created Pod"} {
		if !strings.Contains(d.one("ol.story"), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	var twin struct {
		Page struct{ Story *telemetry.Story }
	}
	_, raw := get(t, base, "/deployments/shop/web/story.json")
	if err := json.Unmarshal([]byte(raw), &twin); err != nil {
		t.Fatal(err)
	}
	s := twin.Page.Story
	if s == nil || s.Counts.Syncs == 0 || s.Counts.Writes == 0 || !s.Settled.IsZero() {
		t.Fatalf("twin: %+v", s)
	}
	if _, earlier := get(t, base, "/deployments/shop/web/story?at="+s.Began.Add(-time.Second).Format(time.RFC3339)); strings.Contains(earlier, "shop/web is waiting") {
		t.Error("the story before the change is the one after it")
	}
}

// TestChainPage goes from the newest sync of the stuck rollout back to who changed the image.
func TestChainPage(t *testing.T) {
	w, base := told(t)
	x, _ := w.journal.Board().Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"})
	_, body := get(t, base, address.Sync(x)+"/chain")
	text := parse(t, body).one("main")
	for _, want := range []string{"What led to it", "Effects", "by kubectl"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	var twin struct {
		Page struct{ Chain telemetry.Chain }
	}
	_, raw := get(t, base, address.Sync(x)+"/chain.json")
	if err := json.Unmarshal([]byte(raw), &twin); err != nil {
		t.Fatal(err)
	}
	if twin.Page.Chain.Sync.Seq != x.Seq || len(twin.Page.Chain.Origins.Links) == 0 {
		t.Errorf("twin: sync %d with %d links", twin.Page.Chain.Sync.Seq, len(twin.Page.Chain.Origins.Links))
	}
}
