package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// plant is one mistake that can be planted. What it is called by (everything but
// its place) outlives changes elsewhere in the file.
type plant struct {
	pkg  string // directory below the module's root, with slashes
	name string // of the package
	file string // the same, with the file's name
	fn   string // the function, as "(*turn).hold", or "var name"
	kind string
	// before and after are the lines that the mistake is in, on one line.
	before, after string
	nth           int // counts plants that are otherwise called the same, from 1

	line       int
	start, end int    // bytes of the file that it replaces
	text       string // by this
}

func (p plant) String() string {
	return fmt.Sprintf("%s:%d: %s in %s: %s → %s", p.file, p.line, p.kind, p.fn, p.before, p.after)
}

// id names a plant on the command line and in the state.
func (p plant) id() string { return p.hash(0)[:12] }

func (p plant) hash(seed uint64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s\n%s\n%s\n%s\n%d", seed, p.file, p.fn, p.kind, p.before, p.after, p.nth))
	return hex.EncodeToString(sum[:])
}

// drawn orders plants by chance, each by its own name and the seed. So the first n
// stay the same, but for plants in code that is new or has changed: a survivor that a
// change brings into the sample is one of its own.
func drawn(plants []plant, seed uint64) []plant {
	hashes := make(map[string]string, len(plants))
	for _, p := range plants {
		hashes[p.id()] = p.hash(seed)
	}
	order := slices.Clone(plants)
	slices.SortFunc(order, func(a, b plant) int { return strings.Compare(hashes[a.id()], hashes[b.id()]) })
	return order
}

// outside reports whether a plant is in no function.
func (p plant) outside() bool { return strings.HasPrefix(p.fn, "var ") }

// lines is the text of the lines that bytes start to end are in, on one line.
func lines(source []byte, start, end int) string {
	from := strings.LastIndexByte(string(source[:start]), '\n') + 1
	to := len(source)
	if i := strings.IndexByte(string(source[end:]), '\n'); i >= 0 {
		to = end + i
	}
	return oneLine(string(source[from:to]))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
