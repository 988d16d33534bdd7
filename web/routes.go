package web

import (
	"net/http"
	"net/http/pprof"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loopscope/loopscope/static"
)

// routes is every address that the console answers, and nothing else is
// answered. The order of the wrappers matters: a panic anywhere becomes a page,
// a foreign host is turned away before anything is looked up, and nothing but
// GET and HEAD comes through.
func (s *Server) routes() chi.Router {
	r := chi.NewRouter()
	r.Use(s.recoverer, headers, s.guard.admit(s), s.readOnly, middleware.GetHead)
	r.NotFound(s.page(s.notFound))
	get := func(pattern string, b builder) {
		s.builders[pattern] = b
		r.Get(pattern, s.page(b))
	}

	r.Method(http.MethodGet, "/", http.RedirectHandler("/deployments", http.StatusFound))
	get("/deployments", s.overview)
	get("/deployments.json", s.overview)
	get("/deployments/{namespace}/{name}", s.deployment)
	get("/deployments/{namespace}/{name}/story", s.story)
	get("/deployments/{namespace}/{name}/story.json", s.story)
	get("/deployments/{namespace}/{name}/what-if", s.whatIf)
	get("/deployments/{namespace}/{name}/what-if.json", s.whatIf)
	get("/replicasets/{namespace}/{name}", s.replicaSet)
	get("/replicationcontrollers/{namespace}/{name}", s.replicaSet)
	for _, of := range []string{"/deployments", "/replicasets", "/replicationcontrollers"} {
		sync := of + "/{namespace}/{name}/syncs/{epoch}/{seq}"
		get(sync, s.syncDoc)
		get(sync+"/chain", s.chain)
		get(sync+"/chain.json", s.chain)
	}
	get("/queues", s.queues)
	get("/queues.json", s.queues)
	get("/decisions", s.decisions)
	get("/decisions.json", s.decisions)
	get("/decisions/{loop}", s.decisions)
	get("/about", s.about)
	get("/about.json", s.about)
	get("/reasons", s.reasons)
	get("/reasons.json", s.reasons)
	get("/reasons/{loop}", s.reasons) // a code takes the place of a loop
	get("/shadow", s.shadow)
	get("/shadow.json", s.shadow)
	get("/history", s.history)
	get("/history.json", s.history)
	r.Get("/live", s.serveLive)
	r.Get("/export.jsonl", s.export)

	r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(s.opts.Gatherer, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: 4, ErrorLog: promLog{s.opts.Logger}, ErrorHandling: promhttp.HTTPErrorOnError,
	}))
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

// profiles serves what "go tool pprof" reads, as Kubernetes' components do ([1.5]).
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
