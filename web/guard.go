package web

import (
	"net"
	"net/http"
	"strings"
)

// guard says which names the console may be asked by. A page on the internet
// can make a browser send requests to loopback, under its own name (DNS
// rebinding) or across origins; neither gets an answer with content.
type guard struct {
	hosts map[string]bool
}

func newGuard(hosts []string) guard {
	g := guard{hosts: map[string]bool{}}
	for _, h := range hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	return g
}

// host reports whether a Host header names this console: loopback with the
// port that was asked, or a listed name.
func (g guard) host(host string, local net.Addr) bool {
	host = strings.ToLower(host)
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
	}
	if g.hosts[host] || g.hosts[name] {
		return true
	}
	return loopback(name) && samePort(port, local)
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
func (g guard) origin(r *http.Request) bool {
	if o := r.Header.Get("Origin"); o != "" {
		return strings.EqualFold(o, "http://"+r.Host) || strings.EqualFold(o, "https://"+r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && r.Header.Get("Upgrade") == ""
}

func (g guard) admit(s *Server) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
			switch {
			case !g.host(r.Host, local):
				s.refuse(w, r, http.StatusMisdirectedRequest, "host",
					"This console does not answer to the name it was asked by.",
					"Open it by the address that loopscope printed at start (127.0.0.1 or localhost, with its port), or list the name in the allowed hosts.")
			case !g.origin(r):
				s.refuse(w, r, http.StatusForbidden, "origin",
					"Another site asked for this, and only the console's own pages may.",
					"Open the address in a window of its own. Programs send no Origin header.")
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

// readOnly turns away every method that could be meant to change something.
func (s *Server) readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Allow", "GET, HEAD")
			s.refuse(w, r, http.StatusMethodNotAllowed, "method",
				"The console only reads: it answers GET and HEAD.",
				"Use kubectl to change something; the change appears here.")
		}
	})
}
