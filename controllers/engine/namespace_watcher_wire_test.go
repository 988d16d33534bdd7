package engine

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// TestActingNamespaces: the metadata of namespaces is watched, and nothing else of them. A
// right that is missing ends it for good, and nothing else does.
func TestActingNamespaces(t *testing.T) {
	for _, answer := range []string{"taken", "401 unauthorized", "403 by RBAC", "404 not found", "500 of etcd", "503 unavailable", "connection cut before the commit"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			s := lab.NewServer(t, true)
			forbidden := answer == "403 by RBAC" || answer == "404 not found"
			if answer != "taken" {
				times := 0
				if !forbidden {
					times = 2 // Of a watch and of the list instead of it; it goes on with the next.
				}
				s.Script(times, lab.AnswerNamed(answer).Reply, func(*lab.Sent) bool { return true })
			}
			s.Script(0, namespaceEnding, func(*lab.Sent) bool { return true })
			e, known := endings(t, s)
			ctx, end := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { e.run(ctx); close(ended) }()
			if forbidden {
				<-ended
			} else {
				lab.Await(t, "the namespace", func() bool { return !known.since("shop", lab.At.Add(-time.Hour)).IsZero() })
			}
			end()
			<-ended
			for _, x := range s.Requests() {
				if x.Path != "/api/v1/namespaces" || x.UserAgent != "loopscope/test unblock" {
					t.Errorf("%s %s by %s", x.Method, x.Path, x.UserAgent)
				}
			}
		})
	}
}

// namespaceEnding is a watch that begins with all there is: one that is being deleted.
func namespaceEnding(w http.ResponseWriter, r *http.Request, _ func() lab.Response) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"8"},"items":[`+endingNamespace+`]}`)
		return
	}
	fmt.Fprintln(w, `{"type":"ADDED","object":`+endingNamespace+`}`)
	fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

const endingNamespace = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"shop","uid":"n","resourceVersion":"8","deletionTimestamp":"2026-11-24T10:00:00Z"}}`

// endings is one on an API server, with the client of a manager.
func endings(t *testing.T, s *lab.Server) (*namespaceWatcher, *terminatingNamespaces) {
	t.Helper()
	client := s.Metadata(t)
	known := &terminatingNamespaces{}
	return &namespaceWatcher{client: client, known: known, clock: testclock.NewFakeClock(lab.At), logger: slog.New(slog.DiscardHandler)}, known
}
