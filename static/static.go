// Package static holds the console's style sheet, script and icon. It may not
// import anything of ours, read a disk, or know a page: it embeds files and
// serves each under a name that carries the hash of its content, so that a
// browser may keep it forever and a new release is never mixed with an old one.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the files below
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Prefix is where Handler expects to be mounted.
const Prefix = "/static/"

// The style sheet is served as one: what all pages share, then the rules of
// single pages, which go before where both are as strong.
//
//go:embed console.css
var sharedCSS []byte

//go:embed pages.css
var pagesCSS []byte

//go:embed flow.css
var flowCSS []byte

var consoleCSS = slices.Concat(sharedCSS, pagesCSS, flowCSS)

//go:embed console.js
var consoleJS []byte

//go:embed theme.js
var themeJS []byte

//go:embed icon.svg
var iconSVG []byte

// FlowStyle is the style of a drawing that stands alone: the rules it has on a page,
// with the colours written out for programs that know no variables.
func FlowStyle() string {
	_, rules, _ := strings.Cut(string(flowCSS), "*/\n")
	names := strings.NewReplacer("var(--sans)", "system-ui,sans-serif", "var(--mono)", "ui-monospace,monospace")
	light, dark := names.Replace(rules), names.Replace(rules)
	for _, m := range token.FindAllStringSubmatch(string(sharedCSS), -1) {
		light = strings.ReplaceAll(light, "var(--"+m[1]+")", "#"+m[2])
		dark = strings.ReplaceAll(dark, "var(--"+m[1]+")", "#"+m[3])
		if m[1] == "bg" {
			light, dark = "svg{background:#"+m[2]+"}\n"+light, "svg{background:#"+m[3]+"}\n"+dark
		}
	}
	return light + "@media(prefers-color-scheme:dark){\n" + dark + "}\n"
}

// token is a colour of both themes.
var token = regexp.MustCompile(`--([a-z]+):light-dark\(#([0-9a-f]{6}),#([0-9a-f]{6})\)`)

// File is one embedded file, ready to be sent.
type File struct {
	// Path is where it is served: Prefix, its name, its hash, its extension.
	Path string
	// Type is its media type.
	Type string
	// Body is the content.
	Body []byte
	// Gzip is the content compressed. The first call does that, so that no command does
	// which serves nothing. It may be called from several goroutines.
	Gzip func() []byte
}

// The files of the console.
var (
	Style  = load("console.css", "text/css; charset=utf-8", consoleCSS)
	Script = load("console.js", "text/javascript; charset=utf-8", consoleJS)
	// Theme is run before the first paint, Script after the page is there.
	Theme = load("theme.js", "text/javascript; charset=utf-8", themeJS)
	Icon  = load("icon.svg", "image/svg+xml", iconSVG)
)

// files finds a File by the last element of its Path.
var files = map[string]File{
	path.Base(Style.Path):  Style,
	path.Base(Script.Path): Script,
	path.Base(Theme.Path):  Theme,
	path.Base(Icon.Path):   Icon,
}

func load(name, mediaType string, body []byte) File {
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	return File{
		Path: Prefix + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:5]) + ext,
		Type: mediaType,
		Body: body,
		Gzip: sync.OnceValue(func() []byte { return squeeze(body) }),
	}
}

// squeeze compresses as hard as gzip can. Writing into memory
// cannot fail, so an error here is a defect of the program.
func squeeze(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(body)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("static: compress: %v", err))
	}
	return b.Bytes()
}

// Find returns the file that is served under that name within Prefix.
func Find(name string) (File, bool) {
	f, ok := files[name]
	return f, ok
}

// ServeHTTP sends the file, compressed where the reader takes it, and lets it be kept forever.
func (f File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.Type)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := f.Body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.Gzip()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // a reader that went away is no error of ours
}
