package web

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
)

// galleryAt is a flag of the test binary. The gallery lives among the tests
// because it is made of their fixtures: so no release has it, none can be built
// with it by mistake, and CI draws it with every change.
var galleryAt = flag.String("gallery", "", "address to serve the gallery on, until the test is interrupted: 127.0.0.1:8078")

// exhibit is one page in one state, drawn by a console of its own.
type exhibit struct {
	id, group, title string
	// path is where its console shows it; body stands in for pages that only
	// the gallery has.
	path   string
	body   templ.Component
	server *Server
	// live answers the page's websocket; nil for the console itself.
	live http.HandlerFunc
	// lead is a name that has many like it: the whole matrix draws it, a sample does not.
	like bool
	// status is what the page is answered with, and grumbles what the browser
	// logs of that by itself.
	status   int
	grumbles string
}

// exhibition serves every exhibit under /gallery/ID, and its console's stream
// to whoever looked at it last.
type exhibition struct {
	list []exhibit
	main *Server
}

func (x *exhibition) find(id string) (exhibit, bool) {
	for _, e := range x.list {
		if e.id == id {
			return e, true
		}
	}
	return exhibit{}, false
}

func (x *exhibition) handler() http.Handler {
	r := chi.NewRouter()
	r.Get("/gallery", func(w http.ResponseWriter, r *http.Request) { x.draw(w, r, x.main, "Gallery", x.index()) })
	r.Get("/gallery/{id}", x.show)
	r.Get("/live", func(w http.ResponseWriter, r *http.Request) {
		serve := x.main.Handler().ServeHTTP
		if c, err := r.Cookie("exhibit"); err == nil {
			if e, ok := x.find(c.Value); ok && e.server != nil {
				serve = e.server.Handler().ServeHTTP
				if e.live != nil {
					serve = e.live
				}
			}
		}
		serve(w, r)
	})
	r.NotFound(x.main.Handler().ServeHTTP)
	return r
}

// show answers with the page of another address. A script asks for the stream
// without saying where it stands, so a cookie does.
func (x *exhibition) show(w http.ResponseWriter, r *http.Request) {
	e, ok := x.find(chi.URLParam(r, "id"))
	if !ok {
		x.main.Handler().ServeHTTP(w, r)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: "exhibit", Value: e.id, Path: "/live", SameSite: http.SameSiteStrictMode})
	if e.body != nil {
		x.draw(w, r, e.server, e.title, e.body)
		return
	}
	to, err := url.Parse(e.path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	ctx := context.WithValue(r.Context(), chi.RouteCtxKey, nil)
	as := r.Clone(ctx)
	as.URL, as.RequestURI = to, e.path
	as.Header.Del("Accept-Encoding")
	page := httptest.NewRecorder()
	e.server.Handler().ServeHTTP(page, as)
	maps.Copy(w.Header(), page.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(page.Code)
	_, _ = io.WriteString(w, resolved(page.Body.String(), to)) // It is shown elsewhere than where it stands.
}

func (x *exhibition) draw(w http.ResponseWriter, r *http.Request, s *Server, title string, body templ.Component) {
	q := &page.Query{URL: r.URL, Path: r.URL.Path, Now: s.src.Opts.Now()}
	f := s.pages.Frame(q, title)
	f.Crumbs, f.Keys = []views.Link{{Text: "Gallery", Href: "/gallery"}, {Text: title}}, page.CommonKeys
	headers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := views.Page(f, body).Render(views.WithNow(r.Context(), q.Now), w); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})).ServeHTTP(w, r)
}

// index lists what there is, by group.
func (x *exhibition) index() templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		fmt.Fprintf(w, "<h1>%d pages and states</h1>", len(x.list))
		group := ""
		for _, e := range x.list {
			if e.group != group {
				if group != "" {
					fmt.Fprint(w, "</ul></section>")
				}
				group = e.group
				fmt.Fprintf(w, "<section><h2 class=rule>%s</h2><ul>", html.EscapeString(group))
			}
			fmt.Fprintf(w, `<li class=sub><a href="/gallery/%s">%s</a> <span class=dim>%s</span></li>`, e.id, html.EscapeString(e.title), html.EscapeString(e.path))
		}
		_, err := fmt.Fprint(w, "</ul></section>")
		return err
	})
}

// TestGallery draws every exhibit and finds every page of the console among
// them. With -gallery it serves them until it is interrupted.
func TestGallery(t *testing.T) {
	longUnderRace(t)
	x := gallery(t)
	h := x.serve(t)
	shown := map[string]bool{}
	for _, e := range x.list {
		res, body := get(t, h.URL, "/gallery/"+e.id)
		if want := max(e.status, http.StatusOK*btoi(e.status == 0)); res.StatusCode != want {
			t.Errorf("%s: %s, want %d", e.id, res.Status, want)
		}
		if e.body == nil {
			parse(t, body).sound()
			route := chi.NewRouteContext()
			path, _, _ := strings.Cut(e.path, "?")
			if e.server.handler.Match(route, http.MethodGet, path) {
				shown[route.RoutePattern()] = true
			}
		}
		if t.Failed() {
			t.Fatalf("stopped at %s", e.id)
		}
	}
	for route := range x.main.pages.Routes {
		if !strings.HasSuffix(route, ".json") && !shown[route] {
			t.Errorf("no exhibit shows %s: add one to pages in exhibits_test.go", route)
		}
	}
	_, body := get(t, h.URL, "/gallery")
	parse(t, body).sound()
	t.Logf("%d exhibits", len(x.list))
	if *galleryAt != "" {
		x.open(t, *galleryAt)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// serve is the exhibition behind a real listener.
func (x *exhibition) serve(t testing.TB) *httptest.Server {
	t.Helper()
	h := httptest.NewUnstartedServer(x.handler())
	h.Config = HTTPServer(x.handler(), nil)
	h.Start()
	t.Cleanup(h.Close)
	return h
}

// open serves the exhibition for people.
func (x *exhibition) open(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	h := HTTPServer(x.handler(), nil)
	go func() { <-ctx.Done(); _ = h.Close() }()
	fmt.Printf("gallery: http://%s/gallery\n", l.Addr())
	if err := h.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Fatal(err)
	}
}

// references are the attributes that name an id within a page.
var references = regexp.MustCompile(` (id|for|aria-labelledby|aria-describedby|aria-controls|href)="(#?[a-z][A-Za-z0-9-]*)"`)

// sheet shows the same part of many pages below each other, each with the ids
// of its page made its own.
func sheet(parts []hung) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		fmt.Fprint(w, "<p class=tiny>One component in every situation that the loops know.</p>")
		for i, p := range parts {
			var b strings.Builder
			if err := p.view.Render(ctx, &b); err != nil {
				return fmt.Errorf("%s: %w", p.title, err)
			}
			own := references.ReplaceAllStringFunc(b.String(), func(at string) string {
				if strings.Contains(at, `href="#g-`) {
					return at
				}
				return strings.TrimSuffix(at, `"`) + fmt.Sprintf(`-%d"`, i)
			})
			fmt.Fprintf(w, "<section><p class=\"rule s\">%s</p>%s</section>", html.EscapeString(p.title), own)
		}
		return nil
	})
}

// hung is a part of a page with the name of its situation.
type hung struct {
	title string
	view  templ.Component
}

// stands is a clock that stands.
func stands(at time.Time) func() time.Time { return func() time.Time { return at } }
