package tracefile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
)

// Reader reads one recording from its beginning to its end. It is not safe for
// concurrent use.
type Reader struct {
	header Header
	from   *bufio.Reader
	file   *os.File // nil where the caller has it
	line   int      // number of the line read last
	size   int      // its length
	bad    int      // lines so far that are no traces
	failed error    // what ended the reading; io.EOF at the end
}

// Open begins to read a file. Reading ends with ctx.
func Open(ctx context.Context, path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		if at := (*fs.PathError)(nil); errors.As(err, &at) {
			err = at.Err // The path is told in quotes: it may hold anything.
		}
		return nil, fmt.Errorf("open recording %q: %w", path, err)
	}
	r, err := NewReader(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Join(err, file.Close()))
	}
	r.file = file
	return r, nil
}

// NewReader reads the header. It finds out by itself whether the recording is compressed.
// Reading ends with ctx: how long it takes is up to whoever made the recording.
func NewReader(ctx context.Context, from io.Reader) (*Reader, error) {
	plain, err := unpacked(from)
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	r := &Reader{from: bufio.NewReaderSize(&cancellable{ctx, plain}, 64<<10)}
	line, err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("read recording: it is empty: export one with `loopscope export -o FILE`")
	case err != nil:
		return nil, fmt.Errorf("read recording: %w", err)
	}
	if r.header, err = parseHeader(line); err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return r, nil
}

// unpacked is the text of a recording, which begins with a brace.
func unpacked(from io.Reader) (io.Reader, error) {
	packed := &counted{from: from}
	head := bufio.NewReaderSize(packed, 64<<10)
	if magic, err := head.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return head, nil // Too short to be compressed, or not compressed.
	}
	text, err := gzip.NewReader(head)
	if err != nil {
		return nil, fmt.Errorf("it looks compressed and is not: %w", err)
	}
	return &bounded{from: text, packed: packed}, nil
}

// cancellable ends a text when its context does.
type cancellable struct {
	ctx  context.Context
	from io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.from.Read(p)
}

// counted counts what was read.
type counted struct {
	from io.Reader
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// bounded ends a text that is far longer than what it was unpacked from.
type bounded struct {
	from   io.Reader
	packed *counted
	n      int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.n > ratioFrom && b.n/maxRatio > b.packed.n {
		return 0, fmt.Errorf("its text is more than %d times as long as the compressed file: unpack it with gunzip if you trust it", maxRatio)
	}
	n, err := b.from.Read(p)
	b.n += int64(n)
	return n, err
}

// parseHeader takes unknown fields, which a newer header of this version may have.
func parseHeader(line []byte) (Header, error) {
	var h Header
	if err := measure(line); err != nil {
		return h, fmt.Errorf("line 1: %w", err)
	}
	err := json.Unmarshal(line, &h)
	switch {
	case err != nil || h.Format != Format:
		return h, fmt.Errorf("line 1 is not a header of a recording: it begins with {\"format\":%q,\"v\":%d}; make one with `loopscope export`", Format, Version)
	case h.Version > Version:
		return h, fmt.Errorf("it is of version %d, and this program reads version %d: use a newer Loopscope", h.Version, Version)
	case h.Version < 1:
		return h, fmt.Errorf("its version is %d, and the first is 1: export it again", h.Version)
	}
	if err := checkLoops(h.Loops); err != nil {
		return h, fmt.Errorf("line 1: %w", err)
	}
	return h, nil
}

// Header is the first line.
func (r *Reader) Header() Header { return r.header }

// Line is the number of the line that Next read last.
func (r *Reader) Line() int { return r.line }

// Size is the length of the line that Next read last, in bytes.
func (r *Reader) Size() int { return r.size }

// Next reads one trace and skips blank lines. It returns io.EOF at the end, a *LineError
// for a line that is not a trace, after which it can be called again, and an error that
// wraps ErrTruncated where the end is missing. Any other error ends the reading: one that
// wraps ErrBadLines comes after MaxBadLines, and that of the context when it has ended.
func (r *Reader) Next() (*telemetry.Trace, error) {
	line, err := r.next()
	for err == nil && len(bytes.TrimSpace(line)) == 0 {
		line, err = r.next()
	}
	var t *telemetry.Trace
	if err == nil {
		t, err = r.trace(line)
	}
	if bad := (&LineError{}); errors.As(err, &bad) {
		if r.bad++; r.bad > MaxBadLines {
			r.failed = fmt.Errorf("line %d: %w", r.line, ErrBadLines)
			return nil, r.failed
		}
	}
	return t, err
}

func (r *Reader) trace(line []byte) (*telemetry.Trace, error) {
	t, err := parse(line)
	if err != nil && r.failed != nil { // The last line, and its end is missing.
		return nil, fmt.Errorf("line %d: %w", r.line, ErrTruncated)
	}
	if err != nil {
		return nil, &LineError{r.line, err}
	}
	return t, nil
}

// next reads a line without its end, which is good until the next one is read. A last line
// without an end is returned, and r.failed says io.EOF then.
func (r *Reader) next() ([]byte, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	r.line++
	line, err := r.measured()
	r.size = len(line)
	switch {
	case err == nil:
		return bytes.TrimSuffix(line, []byte("\r")), nil
	case errors.Is(err, errLong):
		return nil, &LineError{r.line, err}
	case errors.Is(err, io.EOF) && len(line) == 0:
		r.failed = io.EOF
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		r.failed = io.EOF
		return line, nil
	case errors.Is(err, io.ErrUnexpectedEOF): // A compressed file that was cut off.
		r.failed = io.EOF
		return nil, fmt.Errorf("line %d: %w", r.line, ErrTruncated)
	default:
		r.failed = fmt.Errorf("line %d: %w", r.line, err)
		return nil, r.failed
	}
}

var errLong = fmt.Errorf("it is longer than the %d MiB that are read", MaxLine>>20)

// measured reads up to the end of a line, and keeps no more than is allowed.
func (r *Reader) measured() ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := r.from.ReadSlice('\n')
		if err == nil && line == nil { // In one piece, as most are.
			return piece[:len(piece)-1], nil
		}
		if long = long || len(line)+len(piece) > MaxLine+1; !long {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil && long:
			return nil, errLong
		case err == nil:
			return line[:len(line)-1], nil
		default:
			return line, err
		}
	}
}

// Close closes the file where Open opened one.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close recording: %w", err)
	}
	return nil
}

// ParseTrace reads a trace that did not come in a recording: what a newer release added to it is
// left out.
func ParseTrace(text []byte) (*telemetry.Trace, error) {
	return decode(text, json.NewDecoder(bytes.NewReader(text)))
}

// parse builds the trace of a line.
func parse(line []byte) (*telemetry.Trace, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return decode(line, d)
}

// decode refuses a trace that no loop could have left.
func decode(text []byte, d *json.Decoder) (*telemetry.Trace, error) {
	if err := measure(text); err != nil {
		return nil, err
	}
	t := &telemetry.Trace{}
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("it is not a trace: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the trace")
	}
	return t, check(t)
}

// measure counts brackets and commas outside strings, before anything is built.
func measure(line []byte) error {
	if len(line) > MaxLine {
		return errLong
	}
	depth, elements, inString := 0, 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			elements++
			if depth++; depth > MaxDepth {
				return fmt.Errorf("it is nested deeper than %d", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		case c == ',':
			elements++
		}
	}
	if elements > MaxElements {
		return fmt.Errorf("it has %d elements, more than the %d that are read", elements, MaxElements)
	}
	return nil
}
