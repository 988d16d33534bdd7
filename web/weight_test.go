package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/static"
)

// The limits of what goes over the wire, compressed.
const (
	maxFirst  = 60 << 10
	maxNext   = 25 << 10
	maxStyle  = 8 << 10
	maxScript = 8 << 10
)

// TestWeight measures what goes over the wire.
func TestWeight(t *testing.T) {
	_, base := told(t)
	size := func(path string) int {
		req, err := http.NewRequest(http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %s, encoding %q", path, res.Status, res.Header.Get("Content-Encoding"))
		}
		if path == static.Style.Path && !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s may not be kept: %s", path, res.Header.Get("Cache-Control"))
		}
		return int(res.ContentLength)
	}
	style, script := size(static.Style.Path), size(static.Script.Path)+len(static.Theme.Gzip())
	overview, page := size("/deployments"), size("/deployments/shop/web")
	loop := size("/decisions/deployment")
	t.Logf("gzip: style %d, script %d, overview of 100 rows %d, Deployment %d, a loop %d, first load at most %d", style, script, overview, page, loop, style+script+max(overview, page))
	for name, x := range map[string][2]int{"style": {style, maxStyle}, "script": {script, maxScript}, "overview": {overview, maxNext}, "Deployment": {page, maxNext}, "loop": {loop, maxNext},
		"first load": {style + script + max(overview, page, loop), maxFirst}} {
		if x[0] > x[1] {
			t.Errorf("%s has %d bytes, at most %d", name, x[0], x[1])
		}
	}
}
