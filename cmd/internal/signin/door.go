package signin

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/loopscope/loopscope/static"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/answer"
)

// parameter is that of an address which has the token.
const parameter = "token"

// Door lets in whoever has its token. It is safe for concurrent use.
type Door struct {
	token   string
	session string
	// how says what to do to get in.
	how string
}

// New has that token. how says to a person who is not let in what to do: "Run ... ".
func New(token, how string) *Door {
	sum := hmac.New(sha256.New, []byte(token))
	sum.Write([]byte("loopscope console session"))
	return &Door{token: token, session: hex.EncodeToString(sum.Sum(nil)), how: how}
}

// Address is that by which a browser gets in.
func (d *Door) Address(console string) string {
	return strings.TrimSuffix(console, "/") + "/?" + parameter + "=" + d.token
}

// Split takes the token out of an address, "" where it has none.
func Split(address string) (console, token string) {
	u, err := url.Parse(address)
	if err != nil || !u.Query().Has(parameter) {
		return address, ""
	}
	token = u.Query().Get(parameter)
	u.RawQuery = without(u.RawQuery)
	return strings.TrimSuffix(u.String(), "/"), token
}

// Guard lets requests through to next that have the token or its cookie. Those without that open
// allows are for public to answer, as for anybody.
func (d *Door) Guard(next http.Handler, open func(*http.Request) bool, public http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.URL.Query()[parameter]
		right := len(given) == 1 && same(given[0], d.token)
		challenge := r.Header.Get(challengeHeader)
		switch {
		case challenge != "":
			d.prove(w, r, challenge)
		case right && forBrowser(r):
			d.exchange(w, r)
		case right:
			next.ServeHTTP(w, stripped(r))
		case len(given) > 0:
			d.refuse(w, r, "This address has a token that is not, or no longer, that of the console.")
		case d.signed(r):
			next.ServeHTTP(w, r)
		case open(r):
			public.ServeHTTP(w, r)
		case asset(r) != nil:
			asset(r).ServeHTTP(w, r)
		case fromAfar(r):
			// A browser keeps the cookie back where another site has led here. What it
			// loads once more by itself has it.
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Refresh", "0")
			w.WriteHeader(http.StatusOK)
		default:
			d.refuse(w, r, "You are not signed in to this console.")
		}
	})
}

// asset is a static file of ours, for the page of who is not let in; nil for anything else.
func asset(r *http.Request) http.Handler {
	name, found := strings.CutPrefix(r.URL.Path, static.Prefix)
	if !found {
		return nil
	}
	if f, found := static.Find(name); found {
		return f
	}
	return nil
}

// signed reports whether a request has the token, or the cookie that it was exchanged for.
func (d *Door) signed(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && same(token, d.token) {
		return true
	}
	for _, c := range r.CookiesNamed(cookieOf(r)) {
		if same(c.Value, d.session) {
			return true
		}
	}
	return false
}

// exchange gives a browser the cookie, and leads it to the same address without the token.
func (d *Door) exchange(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: cookieOf(r), Value: d.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: without(r.URL.RawQuery)} // Two slashes would lead to another host.
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusSeeOther)
}

// cookieOf has the port in its name: cookies know none, and two consoles of one machine would
// take each other's.
func cookieOf(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "loopscope-" + port
}

// stripped is a request without the token, which is no parameter of any page and is logged nowhere.
func stripped(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.URL.RawQuery = without(r.URL.RawQuery)
	r.RequestURI = r.URL.RequestURI()
	return r
}

// without takes the token out of a query, and leaves the rest as it is.
func without(query string) string {
	var rest []string
	for _, part := range strings.Split(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if part != "" && name != parameter {
			rest = append(rest, part)
		}
	}
	return strings.Join(rest, "&")
}

func same(given, want string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}

// forBrowser reports whether what is asked for is a page in a window of a browser.
func forBrowser(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// fromAfar reports whether a link of another site has led a browser's window here.
func fromAfar(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return forBrowser(r) && (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// commands is a text in which what stands between back-quotes is to be typed.
func commands(text string) (t views.Text) {
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			t = t.Code(part)
		} else {
			t = t.Plain(part)
		}
	}
	return t
}

// refuse says nothing of what is, or is not, at an address.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, why string) {
	h := w.Header()
	h.Set("WWW-Authenticate", "Bearer")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	p := views.Problem{Status: http.StatusUnauthorized, Code: "sign-in", Heading: why, Lines: []views.Text{commands(d.how)}}
	switch {
	case forBrowser(r):
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(p.Status)
		_ = views.SignIn(views.Assets{Style: static.Style.Path, Theme: static.Theme.Path, Icon: static.Icon.Path}, p).Render(r.Context(), w) // A reader that left.
	case strings.HasSuffix(r.URL.Path, ".json") || strings.Contains(r.Header.Get("Accept"), "application/json"):
		if a, err := answer.JSON(r, p.Status, answer.WireOf(p)); err == nil {
			a.Send(w, r)
		}
	default:
		http.Error(w, why+"\n"+d.how, p.Status)
	}
}
