package secure

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loopscope/loopscope/web/slots"
)

// A connection for which there is no place is closed, and its place is another's once it is given back.
func TestLimitedListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	places := slots.NewShares(4, 2)
	var refused atomic.Uint64
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := (limited{l, places, &refused}).Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		t.Helper()
		conn, err := net.DialTimeout("tcp", l.Addr().String(), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dial()
	dial()
	first := <-accepted
	<-accepted
	third := dial()
	_ = third.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := third.Read(make([]byte, 1)); err == nil || errors.As(err, new(net.Error)) && err.(net.Error).Timeout() {
		t.Errorf("the third connection of an address that may have two: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	_ = first.Close() // A place is given back once.
	dial()
	<-accepted
	if n := places.Used(); n != 2 || refused.Load() != 1 {
		t.Errorf("%d places are taken, %d connections were refused", n, refused.Load())
	}
	_ = l.Close()
	if conn, open := <-accepted; open {
		t.Errorf("one more is accepted: %s", conn.RemoteAddr())
	}
}

// What a request says of itself is bounded, its address included, before it is looked at.
func TestBrief(t *testing.T) {
	h := brief(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }))
	for _, c := range []struct {
		name, path string
		header     http.Header
		status     int
	}{
		{"a token", "/", http.Header{"Authorization": {"Bearer " + strings.Repeat("x", 8<<10)}}, http.StatusOK},
		{"a user of 500 groups", "/", http.Header{"X-Remote-Group": strings.Split(strings.Repeat("oidc:engineering-of-a-large-company-in-europe ", 500), " ")}, http.StatusOK},
		{"a long header", "/", http.Header{"Cookie": {strings.Repeat("x", mostHeader)}}, http.StatusRequestHeaderFieldsTooLarge},
		{"many headers", "/", http.Header{"X": strings.Split(strings.Repeat("x ", mostHeader/2), " ")}, http.StatusRequestHeaderFieldsTooLarge},
		{"a long host", "/", nil, http.StatusRequestHeaderFieldsTooLarge},
		{"a long address", "/" + strings.Repeat("x", mostHeader), nil, http.StatusRequestHeaderFieldsTooLarge},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Header = c.header
		w := httptest.NewRecorder()
		if c.name == "a long host" {
			r.Host = strings.Repeat("x", mostHeader)
		}
		if h.ServeHTTP(w, r); w.Code != c.status || (w.Body.String() == "page") != (c.status == http.StatusOK) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
}
