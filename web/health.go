package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/loopscope/loopscope/web/answer"
)

// healthz says that the process answers: no more is meant by it, as a probe
// that fails restarts the program, and no restart fixes an API server.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	checks := []check{{"ping", nil}}
	if s.src.Opts.Leadership().Elected {
		checks = append(checks, check{"leaderElection", s.src.Opts.Healthy()})
	}
	s.check(w, r, checks)
}

// readyz says whether the loops work on current caches.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	var server error
	if st := s.src.Opts.Server(); !st.Reachable {
		server = fmt.Errorf("not reachable since %s", st.Since.UTC().Format("15:04:05"))
	}
	s.check(w, r, []check{{"ping", nil}, {"api-server", server}, {"loops", s.src.Opts.Ready()}})
}

type check struct {
	name string
	err  error
}

// check answers as Kubernetes' own components do: ok, or the list with ?verbose
// or where something fails.
func (s *Server) check(w http.ResponseWriter, r *http.Request, checks []check) {
	var b strings.Builder
	status := http.StatusOK
	for _, c := range checks {
		if c.err != nil {
			status = http.StatusServiceUnavailable
			fmt.Fprintf(&b, "[-]%s failed: %s\n", c.name, strings.ReplaceAll(c.err.Error(), "\n", "; ")) // No error passes for another line.
			continue
		}
		fmt.Fprintf(&b, "[+]%s ok\n", c.name)
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case status != http.StatusOK:
		fmt.Fprintf(&b, "%s check failed\n", name)
	case r.URL.Query().Has("verbose"):
		fmt.Fprintf(&b, "%s check passed\n", name)
	default:
		b.Reset()
		b.WriteString("ok")
	}
	answer.New(r, status, "text/plain; charset=utf-8", []byte(b.String())).Send(w, r)
}

// promLog hands errors of /metrics to the log.
type promLog struct {
	log interface{ Error(string, ...any) }
}

func (p promLog) Println(v ...any) {
	p.log.Error("metrics", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}
