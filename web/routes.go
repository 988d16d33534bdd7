package web

import (
	"net/http"
	"net/http/pprof"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loopscope/loopscope/static"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/plan"
)

// routes is every address that the console answers, and nothing else is
// answered. The order of the wrappers matters: a panic anywhere becomes a page,
// a foreign host is turned away before anything is looked up, and nothing but
// GET and HEAD comes through.
func (s *Server) routes() chi.Router {
	r := chi.NewRouter()
	r.Use(s.recoverer, headers, s.guard.admit(s), s.readOnly, middleware.GetHead)
	r.NotFound(s.page(s.notFound))
	get := func(pattern string, b builder, parameters ...string) {
		s.pages[pattern] = route{build: b, parameters: parameters}
		r.Get(pattern, s.page(b))
	}
	live := func(pattern string, b builder, parameters ...string) {
		get(pattern, b, parameters...)
		s.pages[pattern] = route{b, parameters, true}
	}
	object := []string{"sync", "epoch", "at", "window", "pod", "all"}
	planned := append([]string{"sync", "epoch", "at", "ready", "fails"}, plan.Fields()...)

	r.Method(http.MethodGet, "/", http.HandlerFunc(s.front))
	// Of every loop, and of those that nobody declared: a recording may have some.
	for _, l := range append(slices.Clone(s.loops), decision.Loop{Listed: true}) {
		of, by := decision.PathOf(l.Name), func(b builder) builder { return b }
		if l.Name == "" {
			of, by = "/{objects}", s.undeclared
		}
		one := of + "/{namespace}/{name}"
		if l.Listed {
			live(of, by(s.overview), "q", "after")
			get(of+".json", by(s.overview), "q", "after")
		}
		live(one, by(s.object), object...)
		if l.Owner == "" {
			get(one+"/story", by(s.story), "sync", "epoch", "at", "all")
			get(one+"/story.json", by(s.story), "sync", "epoch", "at", "all")
		}
		if canPlan(&l) {
			get(one+"/what-if", s.whatIf, planned...)
			get(one+"/what-if.json", s.whatIf, planned...)
		}
		sync := one + "/syncs/{epoch}/{seq}"
		get(sync, by(s.syncDoc))
		get(sync+"/chain", by(s.chain))
		get(sync+"/chain.json", by(s.chain))
	}
	live("/queues", s.queues)
	get("/queues.json", s.queues)
	live("/decisions", s.decisions)
	get("/decisions.json", s.decisions)
	live("/decisions/{loop}", s.decisions)
	get("/about", s.about)
	get("/about.json", s.about)
	get("/reasons", s.reasons)
	get("/reasons.json", s.reasons)
	get("/reasons/{loop}", s.reasons) // a code takes the place of a loop
	get("/rules", s.rules)
	get("/rules.json", s.rules)
	live("/shadow", s.shadow)
	get("/shadow.json", s.shadow)
	get("/history", s.history, "q", "after")
	get("/history.json", s.history, "q", "after")
	r.Get("/live", s.serveLive)
	r.Get("/export.jsonl", s.export)

	r.Method(http.MethodGet, "/metrics", s.inSlot(promhttp.HandlerFor(s.opts.Gatherer, promhttp.HandlerOpts{
		EnableOpenMetrics: true, ErrorLog: promLog{s.opts.Logger}, ErrorHandling: promhttp.HTTPErrorOnError,
	})))
	r.Get("/healthz", s.healthz)
	r.Get("/livez", s.healthz)
	r.Get("/readyz", s.readyz)

	r.Get("/debug/controllers", s.page(s.debugIndex))
	r.Get("/debug/controllers/{loop}", s.page(s.debugLoop))
	r.Get("/debug/controllers/{loop}/{namespace}/{name}", s.page(s.debugObject))

	if s.opts.Profiling {
		profiles(r)
	}
	r.Get(static.Prefix+"{file}", s.staticFile)
	return r
}

// front leads to the first list.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, s.all().Href, http.StatusFound)
}

// route is what is served at a pattern.
type route struct {
	build      builder
	parameters []string // that the page knows
	live       bool     // it can be watched
}

// lists are the parameters that may be given more than once, flags those whose value
// says nothing.
var lists, flags = []string{"ready", "fails"}, []string{"all"}

// known are the parameters of an address that make a difference to the page.
func (x route) known(args url.Values) url.Values {
	known := url.Values{}
	for _, name := range x.parameters {
		values := slices.DeleteFunc(args[name], func(v string) bool { return v == "" })
		switch {
		case slices.Contains(flags, name):
			if args.Has(name) {
				known.Set(name, "")
			}
		case slices.Contains(lists, name):
			if len(values) > 0 {
				known[name] = values
			}
		case len(values) > 0:
			known.Set(name, values[0])
		}
	}
	return known
}

// profiles serves what "go tool pprof" reads, as Kubernetes' components do.
func profiles(r chi.Router) {
	r.Get("/debug/pprof/cmdline", pprof.Cmdline)
	r.Get("/debug/pprof/profile", pprof.Profile)
	r.Get("/debug/pprof/symbol", pprof.Symbol)
	r.Get("/debug/pprof/trace", pprof.Trace)
	r.Get("/debug/pprof/*", pprof.Index)
}

func (s *Server) staticFile(w http.ResponseWriter, r *http.Request) {
	f, ok := static.Find(chi.URLParam(r, "file"))
	if !ok {
		s.page(s.notFound)(w, r)
		return
	}
	f.ServeHTTP(w, r)
}
