// Package live is the live stream: websockets that keep open pages up to date, and those
// that read traces. One goroutine draws a page for all who watch it, and one follows the
// journal for all pages. PROTOCOL.md in package web describes the messages. It knows no
// page in particular: it reaches them through Site.
package live

import (
	"context"
	"net/http"

	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/slots"
	"github.com/loopscope/loopscope/web/source"
)

// Site is the console as the stream sees it. Its methods must be safe for concurrent use.
type Site interface {
	// Find leads to the page at a path, and says why it cannot be watched.
	Find(path string) (*Target, error)
	// Origin reports whether a request may open a websocket.
	Origin(r *http.Request) bool
	// Fail answers a request that becomes no websocket.
	Fail(w http.ResponseWriter, r *http.Request, err error)
}

// Target is a page that can be watched.
type Target struct {
	// Address is the one that all spellings of the same page share, Path is without its query.
	Address, Path string
	// Build makes the page as it is now.
	Build func(ctx context.Context) (*page.Page, error)
}

// Stream serves websockets. It is safe for concurrent use.
type Stream struct {
	*source.Source
	slots   *slots.Slots
	site    Site
	draws   watchedPages
	encoded encoded
	crowd   *Crowd
}

// New returns a stream of that site, which draws in those slots, for readers who are part of that
// crowd. It starts nothing; websockets run until the crowd's Shutdown.
func New(src *source.Source, places *slots.Slots, crowd *Crowd, s Site) *Stream {
	return &Stream{Source: src, slots: places, crowd: crowd, site: s}
}
