package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"

	"github.com/a-h/templ"

	"github.com/loopscope/loopscope/telemetry/safebytes"
	"github.com/loopscope/loopscope/views"
)

// Fragment is a part as it is sent.
type Fragment struct {
	ID   string
	Wire []byte // its JSON, made once for all readers
	Sum  uint64 // digest of that
}

// Draw renders the parts without the time of day, so that two drawings differ
// only where something has changed.
func (p *Page) Draw(ctx context.Context) ([]Fragment, error) {
	frags := make([]Fragment, 0, len(p.Parts))
	for _, x := range p.Parts {
		f, err := Render(ctx, x.ID, x.View)
		if err != nil {
			return nil, err
		}
		frags = append(frags, f)
	}
	return frags, nil
}

// Digest is that of all parts and rows, by which a reader's page is known to be what was
// drawn. The counter in the header is not in it, which every trace changes.
func (p *Page) Digest(ctx context.Context, frags []Fragment) (string, error) {
	all := NewDigest()
	for i := range frags {
		if frags[i].ID != "f-window" {
			maphash.WriteComparable(&all, frags[i].Sum)
		}
	}
	for _, r := range p.Rows {
		f, err := r.Paint(ctx)
		if err != nil {
			return "", err
		}
		maphash.WriteComparable(&all, f.Sum)
	}
	return strconv.FormatUint(all.Sum64(), 36), nil
}

// scratch is what parts are written into before their size is known: a list in a
// burst renders a hundred of them a second.
var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxScratch bounds a buffer that is kept, in bytes.
const maxScratch = 64 << 10

func takeScratch() (b *bytes.Buffer, free func()) {
	b = scratch.Get().(*bytes.Buffer)
	b.Reset()
	return b, func() {
		if b.Cap() <= maxScratch {
			scratch.Put(b)
		}
	}
}

// Render makes a fragment. Its markup stays as it is in the JSON: no message is ever part
// of a page.
func Render(ctx context.Context, id string, view templ.Component) (Fragment, error) {
	markup, free := takeScratch()
	defer free()
	if err := view.Render(ctx, markup); err != nil {
		return Fragment{}, fmt.Errorf("render %s: %w", id, err)
	}
	text, done := takeScratch()
	defer done()
	e := json.NewEncoder(text)
	e.SetEscapeHTML(false)
	if err := e.Encode(Swap{id, string(safebytes.Text(markup.Bytes()))}); err != nil {
		return Fragment{}, fmt.Errorf("encode %s: %w", id, err)
	}
	wire := bytes.Clone(bytes.TrimSpace(safebytes.JSON(text.Bytes())))
	return Fragment{id, wire, maphash.Bytes(digests, wire)}, nil
}

// digests are compared within this process alone, so that the runtime's own hash
// will do: every reader of a list computes one of a hundred numbers for each message.
var digests = maphash.MakeSeed()

// NewDigest is a hash whose sums can be compared within this process alone.
func NewDigest() (h maphash.Hash) {
	h.SetSeed(digests)
	return h
}

// Row is a row of a list, which many drawings have in common. It is rendered once,
// when somebody needs it. Two rows are the same if their pointers are.
type Row struct {
	ID   string
	View func() templ.Component
	once sync.Once
	f    Fragment
	err  error
}

// Paint renders the row. It is safe for concurrent use.
func (r *Row) Paint(ctx context.Context) (Fragment, error) {
	r.once.Do(func() {
		r.f, r.err = Render(views.WithPath(context.WithoutCancel(ctx), "/"), r.ID, r.View()) // Every list stands right below the root.
	})
	return r.f, r.err
}

// Painted reports whether the row was rendered already.
func (r *Row) Painted() bool { return r.f.Wire != nil }

// Swap is a fragment in a message: the markup that takes the place of the element with
// that id.
type Swap struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}
