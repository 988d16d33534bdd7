// Package tracefile writes and reads recordings: a header on the first line and
// one trace on each line after it, as JSON, with or without gzip. It may not
// decide, render, or trust what it reads: a recording comes from somewhere else,
// so its lines are measured before anything is built from them.
package tracefile

import (
	"errors"
	"fmt"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Format and Version stand in the header of every recording.
const (
	Format  = "loopscope.traces"
	Version = 1
)

// The limits of a recording. What this package writes stays within them.
const (
	// MaxLine bounds one line, in bytes without its end.
	MaxLine = 16 << 20
	// MaxDepth bounds how deep the JSON of a line nests; ours nests to 12.
	MaxDepth = 32
	// MaxElements bounds the objects, arrays and members of one line: a small
	// element of a line can take a hundred times its length of memory.
	MaxElements = 500_000
	// MaxLoops bounds the loops that a header declares.
	MaxLoops = 64
	// MaxBadLines bounds the lines that are no traces: a file with more of them is no recording.
	MaxBadLines = 100
	// maxRatio bounds by how much a compressed recording may grow; ratioFrom is
	// how many bytes are read before that is looked at.
	maxRatio, ratioFrom = 400, 16 << 20
)

// Header is the first line of a recording.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"v"`
	// Cluster is the name of the cluster that was recorded, Program the version
	// of the Loopscope that wrote the file. Both may be empty.
	Cluster string `json:"cluster,omitempty"`
	Program string `json:"version,omitempty"`
	// Exported is when the file was begun.
	Exported time.Time `json:"exported"`
	// Loops declares those whose syncs cannot be decided again: no other program knows
	// their questions and reasons.
	Loops decision.Loops `json:"loops,omitempty"`
}

var (
	// ErrTruncated is wrapped where a recording ends in the middle of a line, as
	// one does whose writer was killed. The traces before it are good.
	ErrTruncated = errors.New("the recording ends in the middle of a line: it was cut off, and the traces before it are kept")
	// ErrBadLines is wrapped where so many lines are no traces that the reading ends.
	ErrBadLines = fmt.Errorf("more than %d lines up to here are no traces, and the rest is not read: export the recording again with `loopscope export -o FILE`", MaxBadLines)
	// ErrTooLarge is wrapped where a trace is larger than a reader would take.
	ErrTooLarge = errors.New("the trace is too large for a recording")
)

// LineError is what is wrong with one line. The lines after it can still be read.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error names the line and says what to do about it.
func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %v; take the line out, or export the recording again", e.Line, e.Err)
}

// Unwrap is what is wrong.
func (e *LineError) Unwrap() error { return e.Err }
