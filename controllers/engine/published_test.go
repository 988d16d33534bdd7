package engine

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// piles are a loop that predicts events, and its events come from pile-controller.
var piles = []Registration{{
	Loop:     decision.Loop{Name: "pile", Kind: "Pile", Predicts: []decision.Predictable{{Aspect: decision.AspectEvent, Of: "Pile"}}},
	Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "piles"}, Settings: Settings{Component: "pile-controller"},
}}

// following are publications on an API server, with what they are told of.
func following(t *testing.T, s *lab.Server) (p *Publications, heard chan *telemetry.Published, follows chan string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.ConfigFor("loopscope/test events"))
	lab.Check(t, err)
	heard, follows = make(chan *telemetry.Published, 9), make(chan string, 9)
	return &Publications{Client: client, Namespace: "shop", Of: piles, Clock: clock.RealClock{}, Logger: slog.New(slog.DiscardHandler),
		Heard: func(e *telemetry.Published) { heard <- e }, Follows: func(events bool, why string) { follows <- fmt.Sprint(events, " ", why) }}, heard, follows
}

// published is an event of a watch, as the API server sends it.
func published(kind, group, component, message string) string {
	return fmt.Sprintf(`{"type":"ADDED","object":{"kind":"Event","apiVersion":"v1","metadata":{"name":"web.1","namespace":"shop","resourceVersion":"9"},"type":"Normal","reason":"Piled",`+
		`"involvedObject":{"kind":%q,"apiVersion":%q,"namespace":"shop","name":"web","uid":"u"},"source":{"component":%q},"message":%q,"lastTimestamp":"2026-11-24T10:00:00Z"}}`, kind, group, component, message)
}

// TestPublications: of what is published after it began, that of a loop's own controller about its objects
// is heard, and events of pods are not even sent.
func TestPublications(t *testing.T) {
	s := lab.NewServer(t, true)
	s.Script(0, func(w http.ResponseWriter, r *http.Request, _ func() lab.Response) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			fmt.Fprint(w, `{"kind":"EventList","apiVersion":"v1","metadata":{"resourceVersion":"8"},"items":[]}`)
			return
		}
		for _, line := range []string{
			published("Pile", "apps/v1", "somebody", "other"), published("Heap", "apps/v1", "pile-controller", "other"), published("Pile", "x/v1", "pile-controller", "other"), published("Pile", "a/b/c", "pile-controller", "other"),
			strings.Replace(published("Pile", "apps/v1", "pile-controller", "gone"), "ADDED", "DELETED", 1), published("Pile", "apps/v1", "pile-controller", combined+"Piled up web-1"),
		} {
			fmt.Fprintln(w, line)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, func(*lab.Sent) bool { return true })
	p, heard, follows := following(t, s)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	e := lab.Within(t, heard, "the event")
	if e.Object != (telemetry.Object{Loop: "pile", Namespace: "shop", Name: "web"}) || e.UID != "u" || e.Named != "web.1" || e.Component != "pile-controller" || e.Stamped.IsZero() || e.At.IsZero() ||
		e.Type != "Normal" || e.Reason != "Piled" || e.Message != "Piled up web-1" {
		t.Errorf("heard %+v", e)
	}
	if got := lab.Within(t, follows, "the beginning"); got != "true " {
		t.Errorf("follows: %q", got)
	}
	end()
	lab.Check(t, lab.Within(t, ended, "the end"))
	for _, x := range s.Requests() {
		if x.Path != "/api/v1/namespaces/shop/events" || strings.Contains(x.Query, "watch") && !strings.Contains(x.Query, "fieldSelector=involvedObject.kind%21%3DPod") || strings.Contains(x.Query, "watch") == strings.Contains(x.Query, "limit=1") {
			t.Errorf("%s %s?%s", x.Method, x.Path, x.Query)
		}
	}
}

// TestPublicationsForbidden: whoever may not list or watch events is told why none is compared.
func TestPublicationsForbidden(t *testing.T) {
	for name, match := range map[string]func(*lab.Sent) bool{
		"list":  func(*lab.Sent) bool { return true },
		"watch": func(x *lab.Sent) bool { return strings.Contains(x.Query, "watch=true") },
	} {
		s := lab.NewServer(t, true)
		s.Script(0, lab.AnswerNamed("403 by RBAC").Reply, match)
		s.Script(0, func(w http.ResponseWriter, _ *http.Request, _ func() lab.Response) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind":"EventList","apiVersion":"v1","metadata":{"resourceVersion":"8"},"items":[]}`)
		}, func(*lab.Sent) bool { return true })
		p, _, follows := following(t, s)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		if got := lab.Within(t, follows, "the refusal"); !strings.HasPrefix(got, "false ") || !strings.Contains(got, "orbidden") {
			t.Errorf("%s: %q", name, got)
		}
		end()
		lab.Check(t, lab.Within(t, ended, "the end"))
	}
}
