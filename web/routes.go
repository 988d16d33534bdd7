package web

import (
	"net/http"
	"net/http/pprof"
	"os"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loopscope/loopscope/static"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/whatif"
)

// routes is every address that the console answers, and nothing else is
// answered. The order of the wrappers matters: a panic anywhere becomes a page,
// a foreign host is turned away before anything is looked up, and nothing but
// GET, HEAD and what is in s.changes comes through.
func (s *Server) routes() chi.Router {
	r := chi.NewRouter()
	r.Use(s.pages.Recoverer, headers, s.guard.admit(s), s.readOnly, middleware.GetHead)
	r.NotFound(s.pages.Serve(s.pages.NotFound))
	r.MethodNotAllowed(s.wrongMethod)
	get := func(pattern string, b page.Builder, parameters ...string) {
		s.pages.Routes[pattern] = page.Route{Build: b, Parameters: parameters}
		r.Get(pattern, s.pages.Serve(b))
	}
	live := func(pattern string, b page.Builder, parameters ...string) {
		get(pattern, b, parameters...)
		s.pages.Routes[pattern] = page.Route{Build: b, Parameters: parameters, Live: true}
	}
	object := []string{"sync", "epoch", "at", "window", "pod", "all"}

	r.Method(http.MethodGet, "/", http.HandlerFunc(s.front))
	// Of every loop, and of those that nobody declared: a recording may have some.
	for _, l := range append(slices.Clone(s.src.Loops), decision.Loop{Listed: true}) {
		of, by := decision.PathOf(l.Name), func(b page.Builder) page.Builder { return b }
		if l.Name == "" {
			of, by = "/{objects}", s.undeclared
		}
		one := of + "/{namespace}/{name}"
		if l.HasList() {
			live(of, by(s.lists.Overview), "q", "after")
			get(of+".json", by(s.lists.Overview), "q", "after")
		}
		live(one, by(s.objects.Page), object...)
		if l.Owner == "" {
			get(one+"/story", by(s.stories.Story), "sync", "epoch", "at", "all")
			get(one+"/story.json", by(s.stories.Story), "sync", "epoch", "at", "all")
		}
		if whatif.CanPlan(&l) {
			planned := append([]string{"sync", "epoch", "at", "ready", "fails"}, whatif.Fields(&l)...)
			for _, pattern := range []string{one + "/what-if", one + "/what-if.json"} {
				get(pattern, s.whatIfs.Page, planned...)
				s.pages.Routes[pattern] = page.Route{Build: s.whatIfs.Page, Parameters: planned, MaxQuery: whatif.MaxQuery}
			}
		}
		sync := one + "/syncs/{epoch}/{seq}"
		get(sync, by(s.stories.Sync))
		get(sync+"/chain", by(s.stories.Chain))
		get(sync+"/chain.json", by(s.stories.Chain))
	}
	live("/queues", s.abouts.Queues)
	get("/queues.json", s.abouts.Queues)
	live("/decisions", s.abouts.Decisions)
	get("/decisions.json", s.abouts.Decisions)
	live("/decisions/{loop}", s.abouts.Decisions)
	get("/about", s.abouts.About)
	get("/about.json", s.abouts.About)
	get("/reasons", s.abouts.Reasons)
	get("/reasons.json", s.abouts.Reasons)
	get("/reasons/{loop}", s.abouts.Reasons) // a code takes the place of a loop
	get("/rules", s.abouts.Rules)
	get("/rules.json", s.abouts.Rules)
	live("/shadow", s.abouts.Shadow)
	get("/shadow.json", s.abouts.Shadow)
	get("/history", s.lists.History, "q", "after")
	get("/history.json", s.lists.History, "q", "after")
	r.Get("/live", s.live.Serve)
	r.Get("/export.jsonl", s.export)

	r.Method(http.MethodGet, "/metrics", s.pages.InSlot(promhttp.HandlerFor(s.src.Opts.Gatherer, promhttp.HandlerOpts{
		EnableOpenMetrics: true, ErrorLog: promLog{s.src.Opts.Logger}, ErrorHandling: promhttp.HTTPErrorOnError,
	})))
	for _, p := range s.probes() {
		r.Get("/"+p.name, s.probed(p))
		r.Get("/"+p.name+"/{check}", s.probedOne(p))
	}

	r.Get("/debug", s.pages.Serve(s.debug))
	r.Get("/debug/controllers", s.pages.Serve(s.debugIndex))
	r.Get("/debug/controllers/{loop}", s.pages.Serve(s.debugLoop))
	r.Get("/debug/controllers/{loop}/", s.pages.Serve(s.debugLoop))
	r.Get("/debug/controllers/{loop}/graph", s.debugGraph)
	r.Get("/debug/controllers/{loop}/{namespace}/{name}", s.pages.Serve(s.debugObject))

	if s.src.Opts.Profiling {
		profiles(r)
	}
	r.Get(static.Prefix+"{file}", s.staticFile)
	s.component(r)
	return r
}

// front leads to the first list, with what is asked of it.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	// http.Redirect would lead to the root of the host, where the console may not be.
	to := string(views.At(views.WithPath(r.Context(), "/"), s.src.All().Href))
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
}

// profiles serves what "go tool pprof" reads, as Kubernetes' components do.
func profiles(r chi.Router) {
	r.Get("/debug/pprof/cmdline", cmdline)
	r.Get("/debug/pprof/profile", pprof.Profile)
	r.Get("/debug/pprof/symbol", pprof.Symbol)
	r.Get("/debug/pprof/trace", pprof.Trace)
	r.Get("/debug/pprof/*", pprof.Index)
}

// cmdline is how the process was started, without the credentials that its flags may carry.
func cmdline(w http.ResponseWriter, r *http.Request) {
	sendText(w, r, http.StatusOK, redact.Line(strings.Join(os.Args, " ")))
}

func (s *Server) staticFile(w http.ResponseWriter, r *http.Request) {
	f, ok := static.Find(chi.URLParam(r, "file"))
	if !ok {
		s.pages.Serve(s.pages.NotFound)(w, r)
		return
	}
	f.ServeHTTP(w, r)
}

// undeclared are the pages of a loop that nobody declared. Those of the others have
// addresses of their own.
func (s *Server) undeclared(build page.Builder) page.Builder {
	return func(q *page.Query) (*page.Page, error) {
		if q.Object.Loop == "" || s.src.Loops.Has(q.Object.Loop) {
			return s.pages.NotFound(q)
		}
		return build(q)
	}
}
