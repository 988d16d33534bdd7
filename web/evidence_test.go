package web

import (
	"context"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
)

// TestEventsAreReadAsAPageIsOpened: who follows a page on which pods come to be stuck is told where
// their events are, which are read for whoever opens it, and not for drawing it anew.
func TestEventsAreReadAsAPageIsOpened(t *testing.T) {
	const path, event = "/deployments/shop/web", "no such image"
	w := newWorld(t, storyNow)
	w.journal.Record(plain("shop", "web"))
	_, h := w.serve(func(o *Options) {
		o.Warnings = func(context.Context, string, []string) ([]telemetry.Warning, error) {
			return []telemetry.Warning{{At: storyNow, Count: 1, Object: "Pod web-1", Reason: "Failed", Message: event}}, nil
		}
	})
	w.pump()
	conn := dial(t, h.URL, "", page.PageProtocol)
	if err := conn.WriteJSON(live.Subscribe{Page: path, Epoch: "7c41"}); err != nil {
		t.Fatal(err)
	}
	stuck := plain("shop", "web")
	stuck.Diagnosis.Findings = []decision.Finding{{Code: "image-pull", Count: 1, Pods: []string{"web-1"}}}
	w.journal.Record(stuck)
	followed := ""
	for !strings.Contains(followed, "Why pods are not available") {
		for _, f := range receive[live.Update](t, conn).Frags {
			if f.ID == "f-findings" {
				followed = f.HTML
			}
		}
	}
	if !strings.Contains(followed, path+`">read them now</a>`) || strings.Contains(followed, event) {
		t.Errorf("who follows the page has\n%s", followed)
	}
	if _, opened := get(t, h.URL, path); !strings.Contains(opened, `">read them again</a>`) || !strings.Contains(opened, event) {
		t.Errorf("who opens the page has\n%s", opened)
	}
}
