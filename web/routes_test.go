package web

import (
	"flag"
	"net/http"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
)

var updateGoldens = flag.Bool("update", false, "write the goldens anew")

// TestRoutes keeps the list of addresses in one reviewed place.
func TestRoutes(t *testing.T) {
	s := newWorld(t, storyNow).server(ofAProcess)
	var list []string
	err := chi.Walk(s.handler, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		list = append(list, method+" "+route)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(list)
	got := strings.Join(list, "\n") + "\n"
	const file = "testdata/routes.txt"
	if *updateGoldens {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("routes differ (-want +got), run with -update to accept:\n%s", diff)
	}
}
