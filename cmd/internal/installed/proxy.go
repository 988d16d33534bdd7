package installed

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// authority is by what the console is asked at the other end of the tunnel: any address is its own.
const authority = "127.0.0.1"

// passed are the headers of a reader that are sent on. Whoever reads is who the kubeconfig says,
// whatever else a browser sends.
var passed = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Type", "If-Modified-Since", "If-None-Match", "Range", "User-Agent",
	"Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version",
}

// Proxy serves the console that dial leads to with the credentials of config, websockets included, to
// this machine. It asks nobody who they are: that is for whatever it is mounted behind.
func Proxy(config *rest.Config, dial func(context.Context) (net.Conn, error), log *slog.Logger) (http.Handler, error) {
	through, err := transportOf(config, dial)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return own(&httputil.ReverseProxy{
		Rewrite: rewrite, Transport: through, FlushInterval: -1,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // The reader has left.
			}
			log.Warn("The installed console cannot be reached", "err", redact.Error(err))
			http.Error(w, fmt.Sprintf("The console cannot be reached: %v.\nIt is tried again when you reload.", redact.Error(err)), http.StatusBadGateway)
		},
	}), nil
}

// LetsIn asks the console that dial leads to for a page with the credentials of config. The error says
// why there is none.
func LetsIn(ctx context.Context, config *rest.Config, dial func(context.Context) (net.Conn, error)) error {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	through, err := transportOf(config, dial)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+authority+"/about.json", nil)
	if err != nil {
		return err
	}
	answer, err := through.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("it does not let you in (%s): somebody has to bind ClusterRole loopscope-viewer to you", answer.Status)
	}
	return fmt.Errorf("it cannot say who may read it (%s)", answer.Status)
}

// own turns away what names another host than this machine, and what a page of another origin asks
// for: at the other end nobody can tell any more.
func own(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			name = host
		}
		ip, origin := net.ParseIP(name), r.Header.Values("Origin")
		switch {
		case name != "localhost" && (ip == nil || !ip.IsLoopback()):
			http.Error(w, "This host name is not allowed: open the address that was printed.", http.StatusMisdirectedRequest)
		case len(origin) > 1 || len(origin) == 1 && origin[0] != "http://"+r.Host:
			http.Error(w, "This request came from another site.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Serve serves a handler until ctx ends. The listener is closed.
func Serve(ctx context.Context, listener net.Listener, h http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := context.AfterFunc(ctx, func() { _ = server.Close() }) // Its error is that of the listener, which Serve returns.
	defer ended()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func rewrite(p *httputil.ProxyRequest) {
	p.SetURL(&url.URL{Scheme: "https", Host: authority})
	p.Out.Host = authority
	upgrade, connection := p.Out.Header.Get("Upgrade"), p.Out.Header.Get("Connection")
	p.Out.Header = http.Header{}
	for _, name := range passed {
		if values := p.In.Header.Values(name); len(values) > 0 {
			p.Out.Header[name] = values
		}
	}
	if upgrade != "" {
		p.Out.Header.Set("Upgrade", upgrade)
		p.Out.Header.Set("Connection", connection)
	}
	if p.In.Header.Get("Origin") != "" { // It was that of this machine's own pages.
		p.Out.Header.Set("Origin", "https://"+authority)
	}
}

// transportOf signs requests as those to the API server are. That has connected the two ends, so
// the certificate, which the console may have made for itself, proves nothing more.
func transportOf(config *rest.Config, dial func(context.Context) (net.Conn, error)) (http.RoundTripper, error) {
	c, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	own, err := transport.TLSConfigFor(c)
	if err != nil {
		return nil, err
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}} // Websockets need it.
	if own != nil {
		secure.Certificates, secure.GetClientCertificate = own.Certificates, own.GetClientCertificate
	}
	base := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		TLSClientConfig: secure, TLSHandshakeTimeout: connectWithin, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 8,
	}
	return transport.HTTPWrappersForConfig(c, base)
}
