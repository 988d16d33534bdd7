// Package answer is what goes out over HTTP: answers that are complete before any of
// them is sent, as pages or as JSON, and problems that the reader can do something
// about. It knows no page.
package answer

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry/safebytes"
)

// Answer is a response that is complete before any of it is sent. It is a
// http.ResponseWriter.
type Answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Blank is an answer that a handler has yet to write.
func Blank() *Answer { return &Answer{header: http.Header{}} }

// Header is what is sent before the body.
func (a *Answer) Header() http.Header { return a.header }

// WriteHeader sets the status; the last one counts.
func (a *Answer) WriteHeader(status int) { a.status = status }

// Write adds to the body and never fails.
func (a *Answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// answerWithin is how long a reader may take over an answer, from when it is complete.
const answerWithin = 30 * time.Second

// Send sends the answer.
func (a *Answer) Send(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	if a.status == 0 {
		a.status = http.StatusOK
	}
	// It may have waited for a slot. An HTTP/1 connection has deadlines, and a recorder in a test needs none.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerWithin))
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body.Bytes()) // a reader that went away is no error of ours
	}
}

// JSON is a value as JSON.
func JSON(r *http.Request, status int, v any) (*Answer, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(true)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %s: %w", r.URL.Path, err)
	}
	return New(r, status, "application/json", b.Bytes()), nil
}

// Marshal is a value as JSON without hidden characters, for a message.
func Marshal(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	return safebytes.JSON(raw), err
}

var squeezers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// smallest is the size from which compressing pays.
const smallest = 1024

// New is a body without hidden characters, compressed where the reader takes that.
// status is 0 for 200.
func New(r *http.Request, status int, mediaType string, body []byte) *Answer {
	if mediaType == "application/json" {
		body = safebytes.JSON(body)
	} else {
		body = safebytes.Text(body)
	}
	a := &Answer{status: status, header: http.Header{"Content-Type": {mediaType}, "Vary": {"Accept-Encoding, Accept"}}}
	if len(body) < smallest || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		a.body = *bytes.NewBuffer(body)
		return a
	}
	a.header.Set("Content-Encoding", "gzip")
	z := squeezers.Get().(*gzip.Writer)
	defer squeezers.Put(z)
	z.Reset(&a.body)
	_, _ = z.Write(body) // into memory
	_ = z.Close()
	return a
}
