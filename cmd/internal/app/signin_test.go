package app

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/cmd/internal/signin"
)

// TestEveryAddressAsksForTheToken walks what the console answers as somebody who has no token: nothing but
// health without its reasons and static files is answered, and a new address is not either.
func TestEveryAddressAsksForTheToken(t *testing.T) {
	door := signin.New(signin.NewToken(), "Run `loopscope open`.")
	a := served(t, func(o *Options) { o.Door = door })
	base, token := signin.Split(a.URL())
	list, err := os.ReadFile("../../../web/testdata/routes.txt") // A test there keeps it.
	if err != nil {
		t.Fatal(err)
	}
	routes := strings.Fields(strings.NewReplacer("{objects}", "claims", "{namespace}", "shop", "{name}", "web", "{epoch}", "x", "{seq}", "1", "{loop}", "deployment",
		"{check}", "ping", "{file}", "none", "*", "heap").Replace(string(list)))
	if len(routes) < 100 {
		t.Fatalf("only %d routes are known", len(routes)/2)
	}
	ask := func(method, path string, header ...string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	open := map[string]bool{"/healthz": true, "/livez": true, "/readyz": true}
	for i := 0; i < len(routes); i += 2 {
		method, path := routes[i], routes[i+1]
		for _, header := range [][]string{nil, {"Authorization", "Bearer none"}, {"Accept", "text/html"}} {
			status, body := ask(method, path, header...)
			if (status == http.StatusUnauthorized) == open[path] {
				t.Errorf("%s %s %v: %d %s", method, path, header, status, body)
			}
		}
	}
	if status, said := ask(http.MethodGet, "/%68ealthz", "Accept", "text/html"); status != http.StatusUnauthorized {
		t.Errorf("in other letters: %d %s", status, said)
	}
	if _, said := ask(http.MethodGet, "/readyz"); !strings.Contains(said, "[-]api-server failed: reason withheld") {
		t.Errorf("somebody without a token is told %s", said)
	}
	if _, said := ask(http.MethodGet, "/readyz", "Authorization", "Bearer "+token); strings.Contains(said, "withheld") {
		t.Errorf("somebody with the token is told %s", said)
	}
	if status, _ := ask(http.MethodGet, "/about.json", "Authorization", "Bearer "+token); status != http.StatusOK {
		t.Errorf("with the token: %d", status)
	}
}
