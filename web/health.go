package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/answer"
)

// probe is a health endpoint, and what it checks.
type probe struct {
	name   string
	checks func() []telemetry.Check
}

func (s *Server) probes() []probe {
	return []probe{{"healthz", s.alive}, {"livez", s.alive}, {"readyz", s.ready}}
}

// alive says that the process answers: no more is meant by it, as a probe
// that fails restarts the program, and no restart fixes an API server.
func (s *Server) alive() []telemetry.Check {
	checks := []telemetry.Check{{Name: "ping"}}
	if s.src.Opts.Leadership().Elected {
		checks = append(checks, telemetry.Check{Name: "leaderElection", Err: s.src.Opts.Healthy()})
	}
	return checks
}

// ready says whether the loops work on current caches.
func (s *Server) ready() []telemetry.Check {
	server := telemetry.Check{Name: "api-server"}
	switch st := s.src.Opts.Server(); {
	case st.Reachable && st.Awaited:
		server.Err = errors.New("it has not answered yet")
	case !st.Reachable:
		server.Err = fmt.Errorf("it %s %s: %s", st.Lack.Since(), st.Since.UTC().Format("15:04:05"), st.Error)
	}
	return append([]telemetry.Check{{Name: "ping"}, server}, s.src.Opts.Checks()...)
}

// probed answers as Kubernetes' own components do: ok, or the list with ?verbose
// or where something fails; ?exclude leaves a check out.
func (s *Server) probed(p probe) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		status := http.StatusOK
		query := r.URL.Query()
		unknown := slices.Compact(slices.Sorted(slices.Values(query["exclude"])))
		for _, c := range p.checks() {
			if at := slices.Index(unknown, c.Name); at >= 0 {
				unknown = slices.Delete(unknown, at, at+1)
				fmt.Fprintf(&b, "[+]%s excluded: ok\n", c.Name)
				continue
			}
			if s.count(p, c); c.Err != nil {
				status = http.StatusServiceUnavailable
			}
			b.WriteString(found(r, c))
		}
		if len(unknown) > 0 {
			fmt.Fprintf(&b, "warn: nothing is called %q, so that it cannot be excluded\n", unknown)
		}
		switch {
		case status != http.StatusOK:
			fmt.Fprintf(&b, "%s check failed\n", p.name)
		case query.Has("verbose"):
			fmt.Fprintf(&b, "%s check passed\n", p.name)
		default:
			b.Reset()
			b.WriteString("ok")
		}
		sendText(w, r, status, b.String())
	}
}

// probedOne answers for one check alone.
func (s *Server) probedOne(p probe) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var names []string
		for _, c := range p.checks() {
			if c.Name != chi.URLParam(r, "check") {
				names = append(names, c.Name)
				continue
			}
			if s.count(p, c); c.Err != nil {
				sendText(w, r, http.StatusServiceUnavailable, found(r, c))
				return
			}
			sendText(w, r, http.StatusOK, "ok")
			return
		}
		sendText(w, r, http.StatusNotFound, fmt.Sprintf("/%s has no such check: it has %s\n", p.name, strings.Join(names, ", ")))
	}
}

// count takes the outcome of a check into the metrics of the probes.
func (s *Server) count(p probe, c telemetry.Check) {
	if o := s.src.Opts.Component; o != nil && o.SLIs != nil {
		o.SLIs.Checked(c.Name, p.name, c.Err)
	}
}

// found is the line of a check. Whom anybody may ask does not say why one fails.
func found(r *http.Request, c telemetry.Check) string {
	switch {
	case c.Err == nil:
		return "[+]" + c.Name + " ok\n"
	case withheld(r):
		return "[-]" + c.Name + " failed: reason withheld\n"
	}
	return "[-]" + c.Name + " failed: " + strings.ReplaceAll(c.Err.Error(), "\n", "; ") + "\n" // No error passes for another line.
}

func sendText(w http.ResponseWriter, r *http.Request, status int, text string) {
	answer.New(r, status, "text/plain; charset=utf-8", []byte(text)).Send(w, r)
}

// promLog hands errors of /metrics to the log.
type promLog struct {
	log interface{ Error(string, ...any) }
}

func (p promLog) Println(v ...any) {
	p.log.Error("metrics", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}
