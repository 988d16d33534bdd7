package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/sandbox/internal/requestlog"
	"k8s.io/klog/v2"
)

// dashboard is the program this sandbox is made for, running in this process
// with the rights of user loopscope and no more.
type dashboard struct {
	app *app.App
	url string
	log *os.File
}

// openDashboard starts loops and console on the listener bound before the boot.
func (s *sandbox) openDashboard(ctx context.Context) error {
	log, err := os.OpenFile(s.state.log(userLoopscope), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	s.dashboard = &dashboard{log: log}
	config, err := restConfig(s.state.kubeconfigOf(userLoopscope))
	if err != nil {
		return err
	}
	if err := requestlog.Follow(config); err != nil {
		return err
	}
	election := app.DefaultElection()
	election.Identity = userLoopscope + "-sandbox" // After a kill it finds its own Lease, and need not wait until that runs out.
	logger := slog.New(slog.NewTextHandler(s.logTo(log), nil))
	klog.SetSlogLogger(logger) // what client-go has to say does not belong between our lines
	program, err := app.New(app.Options{
		Config: config, Cluster: clusterName, Listener: s.listener, Logger: logger, Version: version(),
		QPS: float32(s.options.LoopsQPS), Burst: 2 * s.options.LoopsQPS,
		History: app.History{Path: s.state.history()}, Election: election,
	})
	if err != nil {
		return err
	}
	s.dashboard.app, s.dashboard.url = program, program.URL()
	if s.dashboard.url == "" {
		s.dashboard.url = "http://" + s.listener.Addr().String()
	}
	s.listener = nil // it is the app's to close now
	// The app ends by Stop, in order, and not because a signal ends ctx.
	if err := program.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	go func() {
		if err := program.Wait(); err != nil {
			s.fail(fmt.Errorf("the dashboard ended: %w", err))
		}
	}()
	return nil
}

// close stops the app and its log.
func (d *dashboard) close(ctx context.Context) error {
	if d == nil {
		return nil
	}
	var err error
	if d.app != nil {
		if err = d.app.Stop(ctx); err != nil {
			err = fmt.Errorf("stop the dashboard: %w", err)
		}
	}
	klog.ClearLogger()
	_ = d.log.Close()
	return err
}

// dashboardURL is where a browser finds the dashboard, or empty without one.
func (s *sandbox) dashboardURL() string {
	if s.dashboard == nil {
		return ""
	}
	return s.dashboard.url
}
