package secure

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

// TestBounded: a body has a bounded time to arrive. An answer may take longer than that, and its
// reader is not taken for one who has left.
func TestBounded(t *testing.T) {
	const within = 20 * time.Millisecond
	ended, failed := make(chan error, 1), make(chan error, 1)
	h := httptest.NewServer(bounded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		failed <- err
		wait, cancel := context.WithTimeout(r.Context(), 10*within)
		defer cancel()
		<-wait.Done()
		ended <- context.Cause(wait)
	}), within, time.Minute))
	defer h.Close()
	for _, c := range []struct {
		name       string
		body       io.Reader
		read, ends error
	}{
		{"nothing to arrive", nil, nil, context.DeadlineExceeded},
		{"a body", io.LimitReader(zeros{}, 9), nil, context.DeadlineExceeded},
		{"a body that never comes", never{t.Context()}, os.ErrDeadlineExceeded, nil},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, h.URL, c.body)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := http.DefaultClient.Do(r); err == nil {
			_ = res.Body.Close()
		}
		if err := <-failed; !errors.Is(err, c.read) {
			t.Errorf("%s: reading it ends with %v, want %v", c.name, err, c.read)
		}
		if err := <-ended; c.ends != nil && !errors.Is(err, c.ends) {
			t.Errorf("%s: while it is answered its context ends with %v", c.name, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// never is a body of which nothing comes before the test ends.
type never struct{ until context.Context }

func (n never) Read([]byte) (int, error) { <-n.until.Done(); return 0, io.EOF }
