package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/loopscope/loopscope/cmd/internal/signin"
	"github.com/loopscope/loopscope/web"
)

// served is a console that asks for a token, and its address with that.
func served(t *testing.T) (address string, end func()) {
	t.Helper()
	door := signin.New(signin.NewToken(), "Run it.")
	console := httptest.NewServer(door.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"cluster":"first"}`)
	}), web.OpenToAll, http.NotFoundHandler()))
	t.Cleanup(console.Close)
	return door.Address(console.URL), console.Close
}

// Of several consoles of a cluster the newest that answers is found, however the others end.
func TestFindsTheConsoleThatIsLeft(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	flags := newConsoleFlags()
	*flags.kubeconfig.KubeConfig = contexts(t, "http://127.0.0.1:1")
	log := slog.New(slog.DiscardHandler)
	first, _ := served(t)
	second, kill := served(t)
	finds := func(when, want string) {
		t.Helper()
		f := flags.find(t.Context(), "")
		if got := f.address(); got != want || !f.announced || f.cluster != "first" {
			t.Errorf("%s: it finds %+v, want %s", when, f, want)
		}
	}
	goneFirst := announce(at("first"), first, log)
	goneSecond := announce(at("first"), second, log)
	finds("both run", second)
	goneSecond()
	finds("the second has ended", first)
	announce(at("first"), second, log)
	announce(at("first"), second, log) // It is remembered once.
	kill()
	finds("the second was killed", first)
	goneFirst()
	finds("only the second is remembered", second)
	for port := range 2 * mostAnnounced {
		announce(at("first"), fmt.Sprintf("http://127.0.0.1:%d", port), log)
	}
	path, err := at("first").file(os.Getenv)
	if n := len(announced(path)); err != nil || n != mostAnnounced {
		t.Errorf("%d are remembered, %v", n, err)
	}
}

// A console that ends leaves the address of its successor, which has its port already, also where both
// have the same token or none.
func TestFindsTheSuccessorAtTheSamePort(t *testing.T) {
	const one, two, none = "http://127.0.0.1:8077/?token=one", "http://127.0.0.1:8077/?token=two", "http://127.0.0.1:8077"
	for _, c := range [][2]string{{one, two}, {one, one}, {none, none}} {
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		flags := newConsoleFlags()
		*flags.kubeconfig.KubeConfig = contexts(t, "http://127.0.0.1:1")
		log := slog.New(slog.DiscardHandler)
		gone := announce(at("first"), c[0], log)
		last := announce(at("first"), c[1], log)
		gone()
		if f := flags.find(t.Context(), ""); f.address() != c[1] || !f.announced {
			t.Errorf("%v: it finds %+v", c, f)
		}
		last()
		if f := flags.find(t.Context(), ""); f.announced {
			t.Errorf("%v: after both, it finds %+v", c, f)
		}
	}
}

// Consoles that start and end at once do not forget each other.
func TestAnnouncesAtOnce(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	log := slog.New(slog.DiscardHandler)
	var all sync.WaitGroup
	for port := range mostAnnounced / 2 {
		all.Go(func() {
			announce(at("first"), fmt.Sprintf("http://127.0.0.1:%d", 1000+port), log)
			announce(at("first"), fmt.Sprintf("http://127.0.0.1:%d", 2000+port), log)()
		})
	}
	all.Wait()
	path, err := at("first").file(os.Getenv)
	if list := announced(path); err != nil || len(list) != mostAnnounced/2 {
		t.Errorf("%q are remembered, %v", list, err)
	}
}

// A console without a token is there where it says of which cluster it is: its port may be that of
// another by now.
func TestFindsTheConsoleWithoutToken(t *testing.T) {
	answers := func(text string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, text) }))
		t.Cleanup(s.Close)
		return s
	}
	console, second, other := answers(`{"cluster":"first"}`), answers(`{"cluster":"second"}`), answers("<h1>Hello</h1>")
	f := newest(t.Context(), []string{"http://127.0.0.1:1", "http://a b", second.URL, other.URL, console.URL}, "first", "")
	if f.server != console.URL {
		t.Errorf("it finds %+v", f)
	}
	if f := newest(t.Context(), []string{"http://127.0.0.1:1", "http://127.0.0.1:9"}, "first", ""); f.server != "http://127.0.0.1:1" {
		t.Errorf("where none answers: %+v", f)
	}
}
