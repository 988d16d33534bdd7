package app

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/cmd/internal/secure"
)

// listen binds the console's address, which has to be on loopback: whoever reaches it reads all of it.
func listen(opts Options) (net.Listener, error) {
	listener := opts.Listener
	if listener == nil {
		if err := CheckListen(opts.Listen); err != nil {
			return nil, err
		}
		var err error
		if listener, err = net.Listen("tcp", opts.Listen); err != nil {
			return nil, fmt.Errorf("console: %w; give another address with --listen", err)
		}
	}
	if addr, ok := listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() {
		return nil, errors.Join(notLoopback(addr.String()), listener.Close())
	}
	return listener, nil
}

// CheckListen refuses an address for Options.Listen that others than this machine could reach.
func CheckListen(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("console: %q is not an address: give host:port, such as %s", address, DefaultListen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return notLoopback(address)
	}
	return nil
}

func notLoopback(address string) error {
	return fmt.Errorf("console: %s is not a loopback address. The console there asks for a token and speaks no TLS, so it listens on this machine alone: use %s, and serve others with --secure-port, or reach it through ssh -L", address, DefaultListen)
}

// listenSecurely binds the port for others.
func (a *App) listenSecurely() (err error) {
	if !a.opts.Secure.On() {
		return nil
	}
	if a.secure, err = secure.Listen(a.opts.Secure); err != nil {
		return err
	}
	return a.registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "loopscope_secure_connections_refused_total",
		Help: "Connections to the secure port that were closed because too many were open, of all or of one address.",
	}, func() float64 { return float64(a.secure.Refused()) }))
}

func (a *App) serveSecurely() error {
	if a.secure == nil {
		return nil
	}
	if err := a.secure.Serve(a.named(a.secure.Named, a.secure.Viewer)); err != nil {
		return err
	}
	a.push("secure port", a.stopSecurely)
	return nil
}

func (a *App) stopSecurely(ctx context.Context) error {
	if a.secure == nil {
		return nil
	}
	return a.secure.Stop(ctx)
}
