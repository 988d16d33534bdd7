package web

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

// answer is a response that is complete before any of it is sent. It is a
// http.ResponseWriter.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// answerWithin is how long a reader may take over an answer, from when it is complete.
const answerWithin = 30 * time.Second

// write sends the answer.
func (a *answer) write(w http.ResponseWriter, r *http.Request) {
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

// jsonAnswer is a value as JSON.
func jsonAnswer(r *http.Request, status int, v any) (*answer, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(true)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %s: %w", r.URL.Path, err)
	}
	return newAnswer(r, status, "application/json", b.Bytes()), nil
}

// marshal is a value as JSON without hidden characters, for a message.
func marshal(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	return safebytes.JSON(raw), err
}

var squeezers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// smallest is the size from which compressing pays.
const smallest = 1024

// newAnswer is a body without hidden characters, compressed where the reader takes that.
// status is 0 for 200.
func newAnswer(r *http.Request, status int, mediaType string, body []byte) *answer {
	if mediaType == "application/json" {
		body = safebytes.JSON(body)
	} else {
		body = safebytes.Text(body)
	}
	a := &answer{status: status, header: http.Header{"Content-Type": {mediaType}, "Vary": {"Accept-Encoding, Accept"}}}
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
