package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/telemetry"
)

func TestParseRelease(t *testing.T) {
	for body, want := range map[string]telemetry.Release{
		`{"major":"1","minor":"30","gitVersion":"v1.30.14"}`:             {Version: "v1.30.14", Minor: 30},
		`{"major":"1","minor":"33+","gitVersion":"v1.33.5-eks-3025e55"}`: {Version: "v1.33.5-eks-3025e55", Minor: 33},
		`{"gitVersion":"v1.31.6+k3s1"}`:                                  {Version: "v1.31.6+k3s1", Minor: 31},
		`{"gitVersion":"v1.36.0-alpha.1.12+7c41"}`:                       {Version: "v1.36.0-alpha.1.12+7c41", Minor: 36},
	} {
		if is, err := parseRelease([]byte(body)); err != nil || is != want {
			t.Errorf("%s is %+v (%v), want %+v", body, is, err, want)
		}
	}
	for body, want := range map[string]string{
		``: "/version: ", `[]`: "/version: ", `{}`: "gitVersion: ", `{"gitVersion":"latest"}`: "gitVersion: ", `{"gitVersion":"v2.0.0"}`: "is not of Kubernetes 1", `{"gitVersion":"v1.18446744073709551615.0"}`: "is not of Kubernetes 1",
		`{"gitVersion":"v1.30.0-` + strings.Repeat("x", longestRelease) + `"}`: "too long",
	} {
		if is, err := parseRelease([]byte(body)); err == nil || !strings.Contains(err.Error(), want) || is != (telemetry.Release{}) {
			t.Errorf("%.60s is %+v (%v), want an error with %q", body, is, err, want)
		}
	}
}

func FuzzParseRelease(f *testing.F) {
	for _, body := range []string{`{"gitVersion":"v1.30.14"}`, `{"gitVersion":"v1.33.5-eks-3025e55"}`, `{"gitVersion":""}`, `null`, `{"gitVersion":"v1.99999999999999999999.0"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		is, err := parseRelease(body)
		if err != nil {
			return
		}
		if !strings.HasPrefix(is.Version, "v1.") || is.Minor < 0 || len(is.Version) > longestRelease+1 {
			t.Errorf("%q is %+v", body, is)
		}
		again, err := json.Marshal(map[string]string{"gitVersion": is.Version})
		if err != nil {
			t.Fatal(err)
		}
		if same, err := parseRelease(again); err != nil || same != is {
			t.Errorf("%+v is read as %+v (%v)", is, same, err)
		}
	})
}

// versioned is a cluster whose API server answers as answer says.
func versioned(t *testing.T, answer http.HandlerFunc) (*cluster, *logged) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	now := probed
	return &cluster{release: newRelease(), health: client.RESTClient(), logger: slog.New(slog.NewTextHandler(log, nil)), now: func() time.Time { now = now.Add(releaseEvery / 2); return now }}, log
}

// [C-3]: the release is asked for at once, and then every minute; what cannot be read changes nothing.
func TestTheReleaseIsAskedFor(t *testing.T) {
	var asked []string
	body := `{"gitVersion":"v1.34.4"}`
	c, log := versioned(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if body == "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, body)
	})
	look := func(want telemetry.Release, times int, said string) {
		t.Helper()
		c.askRelease(t.Context())
		if got := c.release.now(); got != want || len(asked) != times || !strings.Contains(log.take(), said) {
			t.Errorf("%+v after %v, want %+v and %q", got, asked, want, said)
		}
	}
	old, upgraded := telemetry.Release{Version: "v1.34.4", Minor: 34}, telemetry.Release{Version: "v1.35.0", Minor: 35}
	look(old, 1, "rules=\"those of Kubernetes v1.36, 2 rules as in v1.34\"")
	if !c.rehashes() {
		t.Error("another release is said to give the same hashes")
	}
	body = `{"gitVersion":"v1.35.0"}`
	look(old, 1, "") // It is not a minute yet.
	look(upgraded, 2, "version=v1.35.0 rules=\"those of Kubernetes v1.36\"")
	body = ""
	look(upgraded, 2, "")
	look(upgraded, 3, "so the rules stay as they are")
	if asked[0] != "/version" {
		t.Errorf("it asks for %s", asked[0])
	}
}

// An API server that does not answer is asked again in the next second, and nobody is told anything yet.
func TestTheReleaseOfNobody(t *testing.T) {
	c, _ := versioned(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	c.askRelease(t.Context())
	if !c.release.awaited() {
		t.Error("it is said to have told its release")
	}
	if !c.release.due(probed) {
		t.Error("it is not asked again")
	}
	if c.rehashes() {
		t.Error("a release that is not known is another one")
	}
}

// An API server that answers all but health checks is asked, too: caches wait for its release.
func TestTheReleaseWithoutHealthChecks(t *testing.T) {
	c, _ := versioned(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"gitVersion":"v1.34.4"}`)
	})
	c.answers = make(chan struct{})
	c.state.begin(probed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- c.probe(ctx) }()
	select {
	case <-c.release.told:
	case <-ctx.Done():
		t.Error("it is not asked for its release")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// [C-3]: what fills caches is held back until the release is known, and errors are not.
func TestAnswersWaitForTheRelease(t *testing.T) {
	r := newRelease()
	answers := make(chan error)
	ask := func(next transport) {
		go func() {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/pods", nil)
			answer, err := untilTold{next, r}.RoundTrip(request)
			if err == nil {
				err = answer.Body.Close()
			}
			answers <- err
		}()
	}
	ask(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	if err := <-answers; err == nil {
		t.Error("an error is lost")
	}
	arrived := make(chan struct{})
	ask(func(*http.Request) (*http.Response, error) {
		close(arrived)
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	<-arrived
	select {
	case err := <-answers:
		t.Errorf("it is let through before the release is known: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	r.note(telemetry.Release{Version: "v1.30.14", Minor: 30}, nil)
	if err := <-answers; err != nil {
		t.Error(err)
	}
}

// transport answers requests.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
