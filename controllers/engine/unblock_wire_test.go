package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestActingUnblock: what may end what keeps pods is listed once and watched from there. A
// right that is missing ends it for good, anything else only this watch.
func TestActingUnblock(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(lab.WatchesOf)), slices.Sorted(maps.Keys(enders))); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	for code, path := range lab.WatchesOf {
		for _, answer := range []string{"taken", "401 unauthorized", "403 by RBAC", "404 not found", "429 once, Retry-After 0", "500 of etcd", "503 unavailable", "connection cut before the commit"} {
			t.Run(code+"/"+answer, func(t *testing.T) {
				t.Parallel()
				s := lab.NewServer(t, true)
				if a := lab.AnswerNamed(answer); answer != "taken" {
					s.Script(max(a.Times, 0), a.Reply, func(x *lab.Sent) bool { return !strings.Contains(x.Query, "watch=") })
				}
				s.Script(0, answerMetadata, func(*lab.Sent) bool { return true })
				u, woken := unblockerOn(t, s)
				u.follow(keptBy(code))
				limit := 1
				if enders[code].labelsOnly {
					limit = listPage
				}
				want := []string{fmt.Sprintf("GET %s?limit=%d", path, limit)}
				switch answer {
				case "taken":
					want = append(want, "GET "+path+"?allowWatchBookmarks=true&resourceVersion=7&watch=true")
				case "429 once, Retry-After 0":
					want = append(want, want[0], "GET "+path+"?allowWatchBookmarks=true&resourceVersion=7&watch=true")
				}
				awaitRequests(t, s, want)
				if len(want) > 1 {
					if got := <-woken; got.key != "shop/web" || !strings.HasSuffix(got.cause.Object, " full") {
						t.Errorf("woke %s because of %s", got.key, got.cause.Object)
					}
				}
				forbidden := answer == "403 by RBAC" || answer == "404 not found"
				lab.Await(t, "the end of the watch", func() bool { return u.isDenied(code) == forbidden })
			})
		}
	}
}

func (u *unblocker) isDenied(code string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.denied[code] && len(u.places) == 0
}

// answerMetadata answers a list, and a watch with one object that came.
func answerMetadata(w http.ResponseWriter, r *http.Request, _ func() lab.Response) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[]}`)
		return
	}
	fmt.Fprintln(w, `{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"full","resourceVersion":"8"}}}`)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// unblockerOn is one on an API server, with the client of a manager.
func unblockerOn(t *testing.T, s *lab.Server) (*unblocker, <-chan woken) {
	t.Helper()
	tried := make(chan woken, 8)
	u := &unblocker{client: s.Metadata(t), logger: slog.New(slog.DiscardHandler), wake: func(key string, c telemetry.Cause) { tried <- woken{key, c} }}
	ctx, end := context.WithCancel(context.Background())
	u.run(ctx)
	t.Cleanup(func() { end(); u.wait() })
	return u, tried
}

// refusals are the API server's words, by the code that they are read as.
var refusals = map[string]string{
	"quota":           `pods "web-1" is forbidden: exceeded quota: full, requested: pods=1, used: pods=3, limited: pods=3`,
	"limit-range":     `pods "web-1" is forbidden: maximum cpu usage per Container is 1, but limit is 2`,
	"service-account": `pods "web-1" is forbidden: error looking up service account shop/full: serviceaccount "full" not found`,
	"priority-class":  `pods "web-1" is forbidden: no PriorityClass with name full was found`,
}

// keptBy is a sync whose pods are refused, or wait for what "full" is.
func keptBy(code string) *telemetry.Trace {
	if refusals[code] != "" {
		return refusedWith("shop/web", refusals[code])
	}
	x := syncOfKey("shop/web", decision.Round{})
	x.Diagnosis = decision.Diagnosis{Findings: []decision.Finding{{Code: code, Message: `"full" not found`}}}
	return x
}

// awaitRequests waits for exactly these requests of the unblocker.
func awaitRequests(t *testing.T, s *lab.Server, want []string) {
	t.Helper()
	var got []string
	lab.Await(t, "requests", func() bool {
		got = nil
		for _, x := range s.All() {
			got = append(got, x.Method+" "+x.Path+"?"+x.Query)
		}
		return len(got) >= len(want)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
