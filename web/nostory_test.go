package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/address"
)

// damaged is an archive that cannot be read.
type damaged struct{ telemetry.Archive }

func (damaged) AsOf(context.Context, telemetry.Object, time.Time) (*telemetry.Trace, error) {
	return nil, errors.New("database disk image is malformed")
}

// TestNoStoryIsNoClaim: that every sync found an object settled is said only where all that is kept was
// read, and not of a time of which nothing is kept or of a history that cannot be read.
func TestNoStoryIsNoClaim(t *testing.T) {
	w := planWorld(t)
	w.goldens()
	settled := address.Of(w.journal.Board().Rows("replicationcontroller")[0].Trace.Object)
	_, sound := w.serve(nil)
	_, broken := w.serve(func(o *Options) { o.Archive = damaged{o.Archive} })
	const claim, earlier = "found it settled", "from that time is kept"
	const toCome = "still to come.<"
	for _, c := range []struct {
		server, path string
		status       int
		says         string
	}{
		{sound.URL, settled + "/story", http.StatusNotFound, claim},
		{sound.URL, "/deployments/shop/stuck/story?at=2001-01-01T00:00:00Z", http.StatusNotFound, earlier},
		{sound.URL, "/deployments/shop/stuck/story?at=2999-01-01", http.StatusBadRequest, toCome},
		{sound.URL, "/deployments/shop/stuck?at=2999-01-01", http.StatusBadRequest, toCome},
		{broken.URL, settled + "/story", http.StatusInternalServerError, ""},
		{broken.URL, "/deployments/shop/stuck/story?at=2001-01-01T00:00:00Z", http.StatusInternalServerError, ""},
		{broken.URL, "/deployments/shop/stuck/story", http.StatusOK, ""}, // Its beginning is in the journal.
	} {
		res, body := get(t, c.server, c.path)
		if res.StatusCode != c.status || !strings.Contains(body, c.says) || strings.Contains(body, claim) != (c.says == claim) {
			t.Errorf("%s%s: %s, want %d and %q:\n%.2000s", c.server, c.path, res.Status, c.status, c.says, body)
		}
	}
}
