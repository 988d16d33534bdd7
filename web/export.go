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
	// maxExports is how many exports run at once, exportsOfOne how many of one viewer.
	maxExports, exportsOfOne = 2, 1
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
	leave, err := s.exports.Take(r.Context())
	if err != nil {
		w.Header().Set("Retry-After", "10")
		s.pages.Fail(w, r, true, tooManyExports(err))
		return
	}
	defer leave()
	if r.Method == http.MethodHead {
		s.exportHeaders(w.Header())
		return
	}
	x := &sending{begin: func() (*tracefile.Writer, error) {
		s.exportHeaders(w.Header())
		return tracefile.NewWriter(pacedWriter{w, s.src.Opts.WriteTimeout}, tracefile.Header{Cluster: s.src.Opts.Cluster, Program: s.src.Opts.Version, Exported: s.src.Opts.Now(), Loops: s.src.Loops})
	}}
	switch err := s.sendExport(r.Context(), x, q); {
	case err != nil && x.to == nil:
		s.pages.Fail(w, r, true, page.NoArchive(err))
	case err != nil:
		s.src.Opts.Logger.Warn("Export ended early", "err", err)
		panic(http.ErrAbortHandler) // What was sent must not look complete.
	default:
		w.Header().Set(trailerCount, strconv.Itoa(x.to.Count()))
		w.Header().Set(trailerMore, strconv.FormatBool(x.more))
	}
}

// tooManyExports says why another one has to wait.
func tooManyExports(err error) *answer.Problem {
	if errors.Is(err, slots.ErrShare) {
		return answer.NewProblem(http.StatusTooManyRequests, "too-many-of-one", "Another export of yours is running.", views.Say("Try again when it has ended."))
	}
	return answer.NewProblem(http.StatusServiceUnavailable, "too-many-exports", "Other exports are running.",
		views.Sayf("At most %d run at once. Try again in a moment.", maxExports))
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
	begin func() (*tracefile.Writer, error)
	to    *tracefile.Writer // nil before it has begun
	limit int
	more  bool
	began time.Time
	batch time.Time // when the one under way began
}

// writer is where it goes: it begins with what there is to send, so that what fails before can still be said.
func (x *sending) writer() (_ *tracefile.Writer, err error) {
	if x.to == nil {
		x.to, err = x.begin()
	}
	return x.to, err
}

// errEnough ends an export that has as many syncs as it may.
var errEnough = errors.New("enough")

func (s *Server) sendExport(ctx context.Context, x *sending, q telemetry.Query) error {
	x.limit, x.began, x.batch = q.Limit, time.Now(), time.Now()
	q.Limit = 0 // One more than the limit tells that there are more.
	err := s.src.Opts.Archive.Each(ctx, q, func(t *telemetry.Trace) error { return s.sendOne(ctx, x, t) })
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	to, err := x.writer()
	if err != nil {
		return err
	}
	return to.Close()
}

// sendOne writes a sync, and rests where that went too fast.
func (s *Server) sendOne(ctx context.Context, x *sending, t *telemetry.Trace) error {
	to, err := x.writer()
	if err != nil {
		return err
	}
	if x.more = to.Count() == x.limit; x.more {
		return errEnough
	}
	err = to.Write(t)
	if errors.Is(err, tracefile.ErrTooLarge) {
		s.src.Opts.Logger.Warn("A sync is left out of an export", "err", err)
		return nil
	}
	if n := to.Count(); err == nil && n%exportBatch == 0 {
		paced := time.Until(x.began.Add(time.Duration(n) * time.Second / exportRate))
		err = slots.Pause(ctx, max(paced, exportRest*s.pages.Slots.Rest(time.Since(x.batch))))
		x.batch = time.Now()
	}
	return err
}
