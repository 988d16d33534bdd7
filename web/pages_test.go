package web

import (
	"io"
	"net/http"
	"testing"
	"time"
)

func get(t testing.TB, base, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := (&http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func TestPagesAnswer(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	stuckRollout(w)
	_, h := w.serve(nil)
	for _, path := range []string{"/deployments", "/deployments/shop/web", "/queues", "/deployments.json", "/deployments/shop/web.json"} {
		res, body := get(t, h.URL, path)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s\n%s", path, res.Status, body)
		}
	}
}
