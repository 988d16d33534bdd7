package web

import (
	"io"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
)

// verbosity is the address that changes how much is logged.
const verbosity = "/debug/flags/v"

// component serves what this process tells of itself, at the addresses that Kubernetes'
// components have for it [M-6]. It comes last: one of them names all others.
func (s *Server) component(r chi.Router) {
	c := s.src.Opts.Component
	if c == nil {
		return
	}
	if c.Configz != nil {
		r.Method(http.MethodGet, "/configz", c.Configz)
	}
	if c.Flagz != nil {
		r.Method(http.MethodGet, "/flagz", c.Flagz)
	}
	if c.SLIs != nil {
		s.changes["/metrics/slis"] = http.MethodDelete
		r.Get("/metrics/slis", s.slis)
		r.Method(http.MethodDelete, "/metrics/slis", c.SLIs)
	}
	if c.SetVerbosity != nil && s.src.Opts.Profiling {
		s.changes[verbosity] = http.MethodPut
		r.Get("/debug/flags", s.pages.Serve(s.debugFlags))
		r.Get("/debug/flags/", s.pages.Serve(s.debugFlags))
		r.Put(verbosity, s.setVerbosity)
		r.Get(verbosity, s.wrongMethod)
	}
	if c.Statusz != nil {
		r.Method(http.MethodGet, "/statusz", c.Statusz(append(paths(r), "/statusz")))
	}
}

// paths are the addresses of a router that lead to one thing each, without twins.
func paths(r chi.Router) (list []string) {
	// It returns what the function returns.
	_ = chi.Walk(r, func(_, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if path = strings.TrimSuffix(path, "*"); !strings.Contains(path, "{") && !strings.HasSuffix(path, ".json") {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// slis shows what the health checks find now: whoever reads it learns that also where nobody
// probes.
func (s *Server) slis(w http.ResponseWriter, r *http.Request) {
	for _, p := range s.probes() {
		for _, c := range p.checks() {
			s.count(p, c)
		}
	}
	s.src.Opts.Component.SLIs.ServeHTTP(w, r)
}

// debugFlags lists the flags that can be changed while the process runs.
func (s *Server) debugFlags(q *page.Query) (*page.Page, error) {
	v := views.Debug{Headline: "Flags that can be changed while this process runs", Then: "A PUT of the new value changes one."}
	v.Lines = []views.Line{{Label: "v", Text: views.Say("how much is logged, from 0 to 10: ").Code("curl -X PUT --data 4 ADDRESS" + verbosity)}}
	p := &page.Page{Status: http.StatusOK, Frame: s.pages.Frame(q, "Debug"), Body: views.DebugBody(v), Data: []endpoint{{"verbosity", verbosity, "how much is logged, from 0 to 10"}}}
	p.Frame.Crumbs, p.Frame.Keys = []views.Link{{Text: "debug", Href: "/debug"}, {Text: "flags"}}, page.CommonKeys
	return p, nil
}

// maxLevel bounds the body that says how much is logged.
const maxLevel = 64

func (s *Server) setVerbosity(w http.ResponseWriter, r *http.Request) {
	level, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLevel))
	if err != nil {
		s.pages.Refuse(w, r, http.StatusBadRequest, "body", "That is no number: "+err.Error()+".", "Send a number from 0 to 10.")
		return
	}
	said, err := s.src.Opts.Component.SetVerbosity(strings.TrimSpace(string(level)))
	if err != nil {
		s.pages.Refuse(w, r, http.StatusBadRequest, "verbosity", prose.Clip(err.Error(), 200), "Send a number from 0 to 10.")
		return
	}
	sendText(w, r, http.StatusOK, said+"\n")
}

// endpoint is an address that is for programs.
type endpoint struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Says string `json:"says"`
}

// endpoints are those that this console has.
func (s *Server) endpoints() (list []endpoint) {
	served := map[string]bool{}
	for _, path := range paths(s.handler) {
		served[path] = true
	}
	for _, a := range []endpoint{
		{"metrics", "/metrics", "everything that is counted, for Prometheus"},
		{"checks", "/metrics/slis", "what each health check finds, for Prometheus; DELETE begins the counts again"},
		{"health", "/healthz", "whether this process has to be started again; ?verbose lists the checks"},
		{"alive", "/livez", "the same"},
		{"ready", "/readyz", "whether the loops work on current caches; ?verbose lists the checks"},
		{"status", "/statusz", "version and age of this process"},
		{"flags", "/flagz", "the flags that it was started with"},
		{"configuration", "/configz", "its configuration"},
		{"recording", "/export.jsonl", "a recording of all syncs that are kept"},
		{"stream", "/live", "the trace of every sync as it ends, over a websocket"},
		{"controllers", "/debug/controllers", "queues, keys and the newest verdicts of each loop"},
		{"verbosity", "/debug/flags", "flags that can be changed while it runs"},
		{"profiles", "/debug/pprof/", "Go's profiles"},
	} {
		if served[a.Path] {
			list = append(list, a)
		}
	}
	return list
}
