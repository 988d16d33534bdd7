package web

import (
	"context"
	"net"
	"net/http"
	"strings"
)

// guard says which names the console may be asked by. A page on the internet
// can make a browser send requests to loopback, under its own name (DNS
// rebinding) or across origins; neither gets an answer with content.
type guard struct {
	hosts map[string]string // scheme by name, as the browser sees both
}

func newGuard(hosts []string) guard {
	g := guard{hosts: map[string]string{}}
	for _, h := range hosts {
		scheme, name := "http", strings.TrimPrefix(strings.ToLower(h), "http://")
		if rest, ok := strings.CutPrefix(name, "https://"); ok {
			scheme, name = "https", rest
		}
		if bare, _ := hostPort(name); bare != "" { // An empty name would be that of a request that has none.
			g.hosts[name] = scheme
		}
	}
	return g
}

// host reports whether a Host header names this console: loopback with the
// port that was asked, or a listed name.
func (g guard) host(host string, local net.Addr) bool {
	if g.listed(host) != "" {
		return true
	}
	name, port := hostPort(host)
	return loopback(name) && samePort(port, local)
}

// listed is the scheme of a listed name, "" for any other.
func (g guard) listed(host string) string {
	if scheme := g.hosts[strings.ToLower(host)]; scheme != "" {
		return scheme
	}
	name, _ := hostPort(host)
	return g.hosts[name]
}

// namedKey is the key of what says by which names a handler of Named is asked.
type namedKey struct{}

// Named serves the console where others than this machine may ask, over TLS, to whom something
// before it has said that they may read what they ask for. Of objects they see what the viewer of
// their request may, and none where that is nil. named says which names are its own, without a port:
// loopback and Options.Hosts play no part. Health checks do not say there why they fail, as anybody
// may ask for them.
func (s *Server) Named(named func(host string) bool, viewer func(*http.Request) Viewer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), namedKey{}, named))
		if OpenToAll(r) { // It is of no object, and waits for nobody's rights.
			s.handler.ServeHTTP(w, r)
			return
		}
		s.viewers.serve(w, r, viewer(r))
	})
}

// namesOf is what Named was given, nil where the console is asked by its own handler.
func namesOf(r *http.Request) func(host string) bool {
	named, _ := r.Context().Value(namedKey{}).(func(string) bool)
	return named
}

// publicKey marks requests of whom nobody has said who they are.
type publicKey struct{}

// OpenToAll reports whether anybody may ask for that, whoever may read the pages.
func OpenToAll(r *http.Request) bool {
	return r.URL.RawPath == "" && (r.URL.Path == "/healthz" || r.URL.Path == "/livez" || r.URL.Path == "/readyz")
}

// Public answers what is OpenToAll. Health checks do not say there why they fail.
func (s *Server) Public() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), publicKey{}, true)))
	})
}

// withheld reports whether whoever asks is not told why a check fails.
func withheld(r *http.Request) bool {
	return namesOf(r) != nil || r.Context().Value(publicKey{}) != nil
}

// asked reports whether a request names this console.
func (g guard) asked(r *http.Request) bool {
	if named := namesOf(r); named != nil {
		name, _ := hostPort(r.Host)
		return name != "" && named(name)
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return g.host(r.Host, local)
}

// opened says how the console is opened by one of its names.
func opened(r *http.Request) string {
	if namesOf(r) != nil {
		return "Open it by its address, or by a name that its certificate has (--tls-cert-file, --tls-sni-cert-key). A proxy's name is listed with --console-hosts."
	}
	return "Open it by the address that loopscope printed at start (127.0.0.1 or localhost, with its port), or list the name in the allowed hosts."
}

// hostPort is a Host header in small letters.
func hostPort(host string) (name, port string) {
	host = strings.ToLower(host)
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return strings.Trim(host, "[]"), "80"
	}
	return name, port
}

func loopback(name string) bool {
	if strings.TrimSuffix(name, ".") == "localhost" {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// samePort compares with the port that the connection was accepted on. A
// handler that is called without a connection has none to compare with.
func samePort(port string, local net.Addr) bool {
	if local == nil {
		return true
	}
	_, listening, err := net.SplitHostPort(local.String())
	return err != nil || port == listening
}

// origin reports whether a request comes from this console's own pages or from
// no page at all. A link on another site may open a page here, so that a
// permalink in a chat works: nothing can be written, and nothing can be framed.
// It may not open what is for programs: that would be downloaded, or take one of the
// few places for it, without anybody having asked.
func (g guard) origin(r *http.Request) bool {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		return r.Host != "" && len(origins) == 1 && strings.EqualFold(origins[0], g.scheme(r)+"://"+r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && r.Header.Get("Upgrade") == "" && !forPrograms(r.URL.Path)
}

// scheme is that of the console's own pages, as the browser sees it.
func (g guard) scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	if scheme := g.listed(r.Host); scheme != "" {
		return scheme
	}
	return "http"
}

// forPrograms reports whether what is at a path is no page for a person.
func forPrograms(path string) bool {
	switch path {
	case "/live", "/metrics", "/metrics/slis", "/configz", "/flagz", "/statusz", "/debug":
		return true
	}
	return strings.HasPrefix(path, "/debug/") || strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".jsonl")
}

func (g guard) admit(s *Server) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !g.asked(r):
				s.pages.Refuse(w, r, http.StatusMisdirectedRequest, "host", "This host name is not allowed.", opened(r))
			case !g.origin(r):
				s.pages.Refuse(w, r, http.StatusForbidden, "origin",
					"This request came from another site. It may link to pages of the console, but only the console's own pages may load anything else, such as exports, metrics and JSON.",
					"Open the address directly in a new window. Programs send no Origin header.")
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// headers are sent with every answer, errors included.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "accelerometer=(), camera=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// readOnly turns away every method that could be meant to change something, but for what
// a program may change of this process. No browser may: no page of the console does, and
// whatever else runs in one was not asked by anybody here.
func (s *Server) readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			next.ServeHTTP(w, r)
		case r.Method != s.changes[r.URL.Path]:
			s.wrongMethod(w, r)
		case len(r.Header.Values("Origin")) > 0 || len(r.Header.Values("Sec-Fetch-Site")) > 0:
			s.pages.Refuse(w, r, http.StatusForbidden, "browser",
				"No browser may change anything here.",
				"Use a program that is none, such as curl.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// wrongMethod refuses a method that an address does not take.
func (s *Server) wrongMethod(w http.ResponseWriter, r *http.Request) {
	switch takes := s.changes[r.URL.Path]; takes {
	case "":
		w.Header().Set("Allow", "GET, HEAD")
		s.pages.Refuse(w, r, http.StatusMethodNotAllowed, "method",
			"The console only reads: it answers GET and HEAD.",
			"Use kubectl to change something; the change appears here.")
	case http.MethodPut: // There is nothing to GET: Kubernetes' components answer 406.
		w.Header().Set("Allow", takes)
		s.pages.Refuse(w, r, http.StatusNotAcceptable, "method",
			"This address takes PUT, and nothing else.",
			"Send a number from 0 to 10: curl -X PUT --data 4 "+s.guard.scheme(r)+"://"+r.Host+r.URL.Path)
	default:
		w.Header().Set("Allow", "GET, HEAD, "+takes)
		s.pages.Refuse(w, r, http.StatusMethodNotAllowed, "method",
			"This address answers GET, HEAD and "+takes+".",
			"GET shows what there is, DELETE begins again.")
	}
}
