package main

import (
	"io"
	"sync"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry/safetext"
)

// safeWriter passes text on as safetext.Text would, in whatever pieces it comes. It is safe for
// concurrent use.
type safeWriter struct {
	mu   sync.Mutex
	to   io.Writer
	left []byte // the beginning of a character whose end has not come yet
}

// newSafeWriter returns a safeWriter to w.
func newSafeWriter(w io.Writer) *safeWriter { return &safeWriter{to: w} }

// Write writes all of p but the beginning of a character at its end.
func (w *safeWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.left, p...)
	whole := len(text) - unfinished(text)
	w.left = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.to, safetext.Text(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfinished is how many bytes at the end begin a character that may still be whole.
func unfinished(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
