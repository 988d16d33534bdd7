package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/tracefile"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/words"
)

// exported reads a recording to its end, with the trailers that follow it.
func exported(t *testing.T, base, query string) (http.Header, []*telemetry.Trace, http.Header) {
	t.Helper()
	res, err := http.Get(base + "/export.jsonl" + query)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", query, res.Status)
	}
	r, err := tracefile.NewReader(t.Context(), res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if h := r.Header(); h.Cluster != "dev-1" || h.Program != "v0.1.0" || !h.Exported.Equal(storyNow) {
		t.Errorf("header %+v", h)
	}
	var traces []*telemetry.Trace
	for {
		x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return res.Header, traces, res.Trailer
		}
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, x)
	}
}

// An export holds everything that is kept, oldest first, or what was asked for.
func TestExport(t *testing.T) {
	longUnderRace(t)
	w, base := told(t)
	all := w.journal.Kept(0, 1<<20)
	header, traces, trailer := exported(t, base, "")
	if len(traces) != len(all) || traces[0].Seq != all[0].Seq || traces[len(all)-1].Seq != w.journal.Last() {
		t.Errorf("%d syncs of %d", len(traces), len(all))
	}
	if got := header.Get("Content-Disposition"); got != `attachment; filename="loopscope-20261121T031304Z.jsonl"` || header.Get("Content-Type") != "application/x-ndjson; charset=utf-8" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", header)
	}
	if trailer.Get(trailerCount) != words.Digits(len(all)) || trailer.Get(trailerMore) != "false" {
		t.Errorf("trailers %v", trailer)
	}
	middle := all[len(all)/2].Started.UTC().Format(time.RFC3339Nano)
	for query, wants := range map[string]func(*telemetry.Trace) bool{
		"?loop=replicaset":            func(x *telemetry.Trace) bool { return x.Loop == "replicaset" },
		"?namespace=shop&name=web":    func(x *telemetry.Trace) bool { return x.Key() == "shop/web" },
		"?since=" + middle:            func(x *telemetry.Trace) bool { return !x.Started.Before(all[len(all)/2].Started) },
		"?until=" + middle:            func(x *telemetry.Trace) bool { return x.Started.Before(all[len(all)/2].Started) },
		"?namespace=none":             func(*telemetry.Trace) bool { return false },
		"?since=10000h&limit=1000000": func(*telemetry.Trace) bool { return true },
	} {
		want := 0
		for _, x := range all {
			if wants(x) {
				want++
			}
		}
		_, traces, _ := exported(t, base, query)
		if len(traces) != want {
			t.Errorf("%s: %d syncs, want %d", query, len(traces), want)
		}
		for _, x := range traces {
			if !wants(x) {
				t.Errorf("%s: sync %d of %s", query, x.Seq, x.Key())
			}
		}
	}
	if _, traces, trailer := exported(t, base, "?limit=3"); len(traces) != 3 || trailer.Get(trailerMore) != "true" {
		t.Errorf("%d syncs, trailers %v", len(traces), trailer)
	}
}

func TestExportRefuses(t *testing.T) {
	w := newWorld(t, storyNow)
	s, h := w.serve(nil)
	for query, want := range map[string]string{
		"?limit=0": "limit has to be", "?limit=x": "limit has to be", "?limit=1000001": "limit has to be", "?since=yesterday": "is not a time",
		"?until=-1h": "is not a time", "?namespaces=a": "is not a parameter of an export", "?since=1h&until=2h": "before until",
	} {
		res, body := get(t, h.URL, "/export.jsonl"+query)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(strings.ToLower(body), strings.ToLower(want)) || !strings.Contains(body, "bad-export") {
			t.Errorf("%s: %s %s", query, res.Status, body)
		}
	}
	if res, _ := get(t, h.URL, "/export.jsonl?name="+strings.Repeat("x", 2000)); res.StatusCode != http.StatusRequestURITooLong {
		t.Errorf("a long query: %s", res.Status)
	}
	var leave func()
	for range maxExports {
		var err error
		if leave, err = s.exports.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if res, body := get(t, h.URL, "/export.jsonl"); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(body, "too-many-exports") {
		t.Errorf("one too many: %s %s", res.Status, body)
	}
	leave()
	res, err := http.Head(h.URL + "/export.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Disposition") == "" {
		t.Errorf("HEAD: %s %v", res.Status, res.Header)
	}
}

// shut is an archive that cannot be read.
type shut struct{ telemetry.Archive }

func (shut) Each(context.Context, telemetry.Query, func(*telemetry.Trace) error) error {
	return errors.New("history: the file is not open yet")
}

func (shut) State() telemetry.ArchiveState { return telemetry.ArchiveState{} }

func (shut) Search(context.Context, telemetry.Query) (telemetry.Hits, error) {
	return telemetry.Hits{}, errors.New("history: the file is not open yet")
}

// An export that cannot begin says why, and so does a search.
func TestNothingReadable(t *testing.T) {
	_, h := newWorld(t, storyNow).serve(func(o *Options) { o.Archive = shut{} })
	for _, path := range []string{"/export.jsonl", "/history", "/history.json"} {
		res, body := get(t, h.URL, path)
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Content-Disposition") != "" || res.Header.Get("Retry-After") == "" || !strings.Contains(body, "the file is not open yet") {
			t.Errorf("%s: %s, %v: %s", path, res.Status, res.Header, body)
		}
	}
}

// endless is an archive that has a sync more each time, and fails where it is told to.
type endless struct {
	telemetry.Archive
	fail  int
	ended chan error
}

func (e endless) Each(_ context.Context, q telemetry.Query, visit func(*telemetry.Trace) error) error {
	for n := uint64(1); ; n++ {
		x := &telemetry.Trace{Version: 1, Epoch: "e", Seq: n, Object: telemetry.Object{Loop: "deployment", Namespace: q.Namespace, Name: "web"}, Result: telemetry.ResultUnchanged, Started: storyNow, Ended: storyNow}
		if err := visit(x); err != nil {
			e.ended <- err
			return err
		}
		if n == uint64(e.fail) {
			return errors.New("disk on fire")
		}
	}
}

// Where there is an archive it is exported, and its query is what was asked.
func TestExportOfAnArchive(t *testing.T) {
	archive := endless{ended: make(chan error, 1)}
	_, h := newWorld(t, storyNow).serve(func(o *Options) { o.Archive = archive })
	if _, traces, trailer := exported(t, h.URL, "?namespace=shop&limit=700"); len(traces) != 700 || traces[0].Namespace != "shop" || trailer.Get(trailerMore) != "true" {
		t.Errorf("%d syncs, trailers %v", len(traces), trailer)
	}
}

// An export that fails on its way does not look like a whole one.
func TestExportThatFails(t *testing.T) {
	_, h := newWorld(t, storyNow).serve(func(o *Options) { o.Archive = endless{fail: 500, ended: make(chan error, 1)} })
	res, err := http.Get(h.URL + "/export.jsonl?namespace=shop")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the body ended as if all were well")
	}
}

// A client that stops reading is given up, and its place is free again.
func TestExportIsNotReadByTheClient(t *testing.T) {
	archive := endless{ended: make(chan error, 1)}
	s, h := newWorld(t, storyNow).serve(func(o *Options) { o.Archive, o.WriteTimeout = archive, 200*time.Millisecond })
	conn, err := net.Dial("tcp", h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /export.jsonl?namespace="+strings.Repeat("n", 250)+"&limit=1000000 HTTP/1.1\r\nHost: "+h.Listener.Addr().String()+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(io.LimitReader(conn, 64)).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("answer %q, %v", line, err)
	}
	select {
	case err := <-archive.ended:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the export still writes")
	}
	eventually(t, "its place is free again", func() bool { return s.exports.Used() == 0 })
}

// The console on a recording has the same pages, says that it is one, and keeps
// its clocks and its numbers.
func TestRecordingPages(t *testing.T) {
	longUnderRace(t)
	w, base := told(t)
	_, traces, _ := exported(t, base, "")
	journal, err := telemetry.LoadJournal(telemetry.JournalOptions{Loops: testLoops}, traces)
	if err != nil {
		t.Fatal(err)
	}
	recording := &Recording{From: storyNow.Add(-time.Hour), To: storyNow, Note: "Its file was cut off."}
	_, h := w.serve(func(o *Options) { o.Journal, o.Recording, o.Loops, o.Server = journal, recording, nil, nil })
	web := address.Sync(traces[len(traces)-1])
	for _, path := range []string{"/deployments", "/deployments/shop/web", web, "/queues"} {
		res, body := get(t, h.URL, path)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, res.Status)
		}
		d := parse(t, body)
		d.sound()
		if head := text(d.all("header")[0]); !strings.Contains(head, "recording, not live: 2026-11-21 02:13:04 to 03:13:04") {
			t.Errorf("%s: header %q", path, head)
		}
		for _, want := range []string{"data-still", "Its file was cut off."} {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not have %q", path, want)
			}
		}
		if strings.Contains(body, "data-page=") {
			t.Errorf("%s wants to be live", path)
		}
	}
	if _, body := get(t, h.URL, "/history"); !strings.Contains(body, "everything that the recording has") {
		t.Error("the history page does not say what it lists")
	}
	if _, body := get(t, h.URL, "/queues"); !strings.Contains(body, "A recording has no queues.") {
		t.Error("the queues page does not say so")
	}
	if _, body := get(t, h.URL, "/queues.json"); !strings.Contains(body, "no-queues") {
		t.Errorf("the twin does not say so: %s", body)
	}
	// Sentence for sentence it is the console that was recorded.
	for _, x := range w.journal.Board().List("deployment") {
		_, live := get(t, base, address.Of(x.Object))
		_, then := get(t, h.URL, address.Of(x.Object))
		if a, b := parse(t, live).one("h1"), parse(t, then).one("h1"); a != b {
			t.Errorf("%s: live %q, recorded %q", x.Key(), a, b)
		}
	}
}
