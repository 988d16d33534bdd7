package tracefile

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/safebytes"
)

// Writer writes one recording. It is not safe for concurrent use.
type Writer struct {
	out   io.Writer
	to    *bufio.Writer
	close func() error // of a file that Create opened
	count int
}

// NewWriter begins a recording with its header. Format and Version are set by
// it, and of the loops those are declared that have to be. What is written reaches out with Flush or Close, or when it is enough.
func NewWriter(out io.Writer, h Header) (*Writer, error) {
	w := &Writer{out: out, to: bufio.NewWriterSize(out, 64<<10), close: func() error { return nil }}
	h.Format, h.Version = Format, Version
	h.Exported, h.Loops = h.Exported.UTC().Round(0), h.Loops.Shown()
	line, err := marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write header: %w", err)
	}
	return w, w.line(line)
}

// Create begins a recording in a new file, as CreateFile makes it.
func Create(path string, h Header) (*Writer, error) {
	file, err := CreateFile(path)
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(file, h)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	w.close = file.Close
	return w, nil
}

// CreateFile opens a file for a recording, which must not be there yet. What is
// written to it is compressed where the name ends in ".gz".
func CreateFile(path string) (io.WriteCloser, error) {
	// Names of objects and images are for whoever may read the cluster.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return nil, fmt.Errorf("create recording: %s is there already: choose another name, or remove it first", path)
	case err != nil:
		return nil, fmt.Errorf("create recording: %w", err)
	case strings.HasSuffix(path, ".gz"):
		return packed{gzip.NewWriter(file), file}, nil
	}
	return file, nil
}

// packed closes what it packs into as well.
type packed struct {
	*gzip.Writer
	file *os.File
}

func (p packed) Close() error { return errors.Join(p.Writer.Close(), p.file.Close()) }

// Write adds a trace. An error that wraps ErrTooLarge, or another one of the
// trace itself, leaves the recording as it was, so that the next can be written.
func (w *Writer) Write(t *telemetry.Trace) error {
	line, err := marshal(t)
	if err != nil {
		return fmt.Errorf("write trace %s/%d: %w", t.Epoch, t.Seq, err)
	}
	if err := measure(line); err != nil {
		return fmt.Errorf("write trace %s/%d: %w (%w)", t.Epoch, t.Seq, ErrTooLarge, err)
	}
	if err := w.line(line); err != nil {
		return fmt.Errorf("write trace %s/%d: %w", t.Epoch, t.Seq, err)
	}
	w.count++
	return nil
}

// marshal leaves no hidden character as it is: a recording may be shown by a terminal.
func marshal(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	return safebytes.JSON(line), err
}

func (w *Writer) line(line []byte) error {
	_, _ = w.to.Write(line) // It keeps its error, and gives it again.
	return w.to.WriteByte('\n')
}

// Count is the number of traces written so far.
func (w *Writer) Count() int { return w.count }

// Flush hands on everything that was written, so that a reader can have it.
func (w *Writer) Flush() error {
	err := w.to.Flush()
	if f, packs := w.out.(interface{ Flush() error }); packs && err == nil {
		err = f.Flush()
	}
	if err != nil {
		return fmt.Errorf("flush recording: %w", err)
	}
	return nil
}

// Close hands on the rest, and closes the file where Create opened one.
func (w *Writer) Close() error {
	if err := errors.Join(w.to.Flush(), w.close()); err != nil {
		return fmt.Errorf("close recording: %w", err)
	}
	return nil
}
