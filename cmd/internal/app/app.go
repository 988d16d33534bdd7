// Package app is the embeddable program: it turns Options into a running
// controller manager with its console. It decides nothing itself; it wires.
package app

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"k8s.io/client-go/rest"
)

// Options says what to run and where. Config is required; every other zero
// value has a working default.
type Options struct {
	// Config reaches the cluster. It is copied; user agent and rate limits are set on the copy.
	Config *rest.Config
	// Cluster is the name the console shows for the cluster. Default "cluster".
	Cluster string
	// Listen is the console's address. Default 127.0.0.1:8077. Ignored when Listener is set.
	Listen string
	// Listener, when set, is served instead of Listen; the app closes it.
	Listener net.Listener
	// Workers is the number of syncs each loop runs at once. Default 5.
	Workers int
	// QPS and Burst bound each loop's client. Defaults 20 and 30, as upstream.
	QPS   float32
	Burst int
	// Logger receives structured logs. Default: slog.Default().
	Logger *slog.Logger
	// Version is shown by the console. Default "dev".
	Version string
}

// App is one running program.
type App struct{ opts Options }

// New validates the options and binds the listener; nothing runs before Start.
func New(opts Options) (*App, error) {
	if opts.Config == nil {
		return nil, errors.New("app: Options.Config is required")
	}
	return &App{opts: opts}, nil
}

// Start runs loops and console until Stop. It returns once both are running.
func (a *App) Start(ctx context.Context) error { return nil }

// Stop ends everything Start began, in reverse order, within ctx.
func (a *App) Stop(ctx context.Context) error { return nil }

// Addr is the address the console listens on.
func (a *App) Addr() net.Addr { return nil }

// URL is the console's address for a browser.
func (a *App) URL() string { return "" }

// Wait blocks until a part of the app has ended by itself, and returns why.
func (a *App) Wait() error { return nil }
