package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/tracefile"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/slots"
)

const (
	// maxExports is how many exports run at once.
	maxExports = 2
	// exportLimit is how many syncs an export has unless it asks for another
	// number, mostExported the highest number it may ask for.
	exportLimit, mostExported = 100_000, 1_000_000
	// exportBatch is how many syncs are sent without a rest, exportRate how many in a
	// second, and exportRest how many times longer than a page an export rests while
	// syncs are under way: the loops come first.
	exportBatch, exportRate, exportRest = 64, 8_000, 3
	// The trailers say how many syncs were sent, and whether there are more.
	trailerCount, trailerMore = "Loopscope-Syncs", "Loopscope-More"
)

// exportKeys are the words of an export's query.
var exportKeys = []string{"loop", "namespace", "name", "since", "until", "limit"}

// exportQuery reads which syncs are asked for.
func exportQuery(args url.Values, now time.Time) (telemetry.Query, error) {
	q := telemetry.Query{Loop: args.Get("loop"), Namespace: args.Get("namespace"), Name: args.Get("name"), Limit: exportLimit, OldestFirst: true}
	for key := range args {
		if !slices.Contains(exportKeys, key) {
			return q, badExport(fmt.Sprintf("%q is not a parameter of an export", prose.Clip(key, 60)))
		}
	}
	var err error
	for key, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if text := args.Get(key); text != "" {
			if *at, err = telemetry.ParseMoment(text, now); err != nil {
				return q, badExport(key + ": " + err.Error())
			}
		}
	}
	if text := args.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > mostExported {
			return q, badExport(fmt.Sprintf("limit has to be a number from 1 to %d", mostExported))
		}
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until) {
		return q, badExport("since has to be before until")
	}
	return q, nil
}

func badExport(what string) error {
	return answer.NewProblem(http.StatusBadRequest, "bad-export", "That export cannot be read.",
		views.Say(prose.Upper(what)+"."), views.Say("Valid parameters: ").Code(strings.Join(exportKeys, ", ")).Plain("."))
}

// export streams kept syncs as a recording, oldest first.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	if len(r.URL.RawQuery) > page.MaxQuery {
		s.pages.Fail(w, r, true, answer.NewProblem(http.StatusRequestURITooLong, "query-too-long", "That address is too long."))
		return
	}
	q, err := exportQuery(r.URL.Query(), s.src.Opts.Now())
	if err != nil {
		s.pages.Fail(w, r, true, err)
		return
	}
	select {
	case s.exports <- struct{}{}:
		defer func() { <-s.exports }()
	default:
		w.Header().Set("Retry-After", "10")
		s.pages.Fail(w, r, true, answer.NewProblem(http.StatusServiceUnavailable, "too-many-exports", "Other exports are running.",
			views.Sayf("At most %d run at once. Try again in a moment.", maxExports)))
		return
	}
	s.exportHeaders(w.Header())
	if r.Method == http.MethodHead {
		return
	}
	if err := s.sendExport(r.Context(), w, q); err != nil {
		s.src.Opts.Logger.Warn("Export ended early", "err", err)
		panic(http.ErrAbortHandler) // What was sent must not look complete.
	}
}

func (s *Server) exportHeaders(h http.Header) {
	h.Set("Content-Type", "application/x-ndjson; charset=utf-8")
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "loopscope-"+s.src.Opts.Now().UTC().Format("20060102T150405Z")+".jsonl"))
	h.Set("Trailer", trailerCount+", "+trailerMore)
}

// pacedWriter writes to a reader that has to keep up.
type pacedWriter struct {
	http.ResponseWriter
	within time.Duration
}

// Write gives up on a reader that does not take it in time.
func (o pacedWriter) Write(p []byte) (int, error) {
	// An HTTP/1 connection has deadlines, and a recorder in a test needs none.
	_ = http.NewResponseController(o.ResponseWriter).SetWriteDeadline(time.Now().Add(o.within))
	return o.ResponseWriter.Write(p)
}

// sending is one export under way.
type sending struct {
	to    *tracefile.Writer
	limit int
	more  bool
	began time.Time
	batch time.Time // when the one under way began
}

// errEnough ends an export that has as many syncs as it may.
var errEnough = errors.New("enough")

func (s *Server) sendExport(ctx context.Context, w http.ResponseWriter, q telemetry.Query) error {
	to, err := tracefile.NewWriter(pacedWriter{w, s.src.Opts.WriteTimeout}, tracefile.Header{Cluster: s.src.Opts.Cluster, Program: s.src.Opts.Version, Exported: s.src.Opts.Now(), Loops: s.src.Loops})
	if err != nil {
		return err
	}
	x := &sending{to: to, limit: q.Limit, began: time.Now(), batch: time.Now()}
	q.Limit = 0 // One more than the limit tells that there are more.
	err = s.src.Opts.Archive.Each(ctx, q, func(t *telemetry.Trace) error { return s.sendOne(ctx, x, t) })
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	w.Header().Set(trailerCount, strconv.Itoa(to.Count()))
	w.Header().Set(trailerMore, strconv.FormatBool(x.more))
	return nil
}

// sendOne writes a sync, and rests where that went too fast.
func (s *Server) sendOne(ctx context.Context, x *sending, t *telemetry.Trace) error {
	if x.more = x.to.Count() == x.limit; x.more {
		return errEnough
	}
	err := x.to.Write(t)
	if errors.Is(err, tracefile.ErrTooLarge) {
		s.src.Opts.Logger.Warn("A sync is left out of an export", "err", err)
		return nil
	}
	if n := x.to.Count(); err == nil && n%exportBatch == 0 {
		paced := time.Until(x.began.Add(time.Duration(n) * time.Second / exportRate))
		err = slots.Pause(ctx, max(paced, exportRest*s.pages.Slots.Rest(time.Since(x.batch))))
		x.batch = time.Now()
	}
	return err
}
