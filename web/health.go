package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/answer"
)

// healthz says that the process answers: no more is meant by it, as a probe
// that fails restarts the program, and no restart fixes an API server.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	checks := []telemetry.Check{{Name: "ping"}}
	if s.src.Opts.Leadership().Elected {
		checks = append(checks, telemetry.Check{Name: "leaderElection", Err: s.src.Opts.Healthy()})
	}
	s.check(w, r, checks)
}

// readyz says whether the loops work on current caches.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	server := telemetry.Check{Name: "api-server"}
	if st := s.src.Opts.Server(); !st.Reachable {
		server.Err = fmt.Errorf("not reachable since %s: %s", st.Since.UTC().Format("15:04:05"), st.Error)
	}
	s.check(w, r, append([]telemetry.Check{{Name: "ping"}, server}, s.src.Opts.Checks()...))
}

// check answers as Kubernetes' own components do: ok, or the list with ?verbose
// or where something fails; ?exclude leaves a check out.
func (s *Server) check(w http.ResponseWriter, r *http.Request, checks []telemetry.Check) {
	var b strings.Builder
	status := http.StatusOK
	query := r.URL.Query()
	exclude := query["exclude"]
	for _, c := range checks {
		if at := slices.Index(exclude, c.Name); at >= 0 {
			exclude = slices.Delete(exclude, at, at+1)
			fmt.Fprintf(&b, "[+]%s excluded: ok\n", c.Name)
			continue
		}
		if c.Err != nil {
			status = http.StatusServiceUnavailable
			fmt.Fprintf(&b, "[-]%s failed: %s\n", c.Name, strings.ReplaceAll(c.Err.Error(), "\n", "; ")) // No error passes for another line.
			continue
		}
		fmt.Fprintf(&b, "[+]%s ok\n", c.Name)
	}
	if len(exclude) > 0 {
		fmt.Fprintf(&b, "warn: nothing is called %q, so that it cannot be excluded\n", exclude)
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case status != http.StatusOK:
		fmt.Fprintf(&b, "%s check failed\n", name)
	case query.Has("verbose"):
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
