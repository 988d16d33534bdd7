package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/cmd/sandbox/internal/supervise"
)

// Grace that a child gets between being asked to stop and being killed. What
// lies in a temporary directory is thrown away, so there is nothing to save.
const (
	graceTemporary = 500 * time.Millisecond
	graceKept      = 5 * time.Second
	// stopLimit bounds the stop of the dashboard.
	stopLimit = 5 * time.Second
)

// errInterrupted is the cause of a stop that the user asked for.
var errInterrupted = errors.New("interrupted")

// runSandbox is the life of a sandbox: from flags until a signal.
func runSandbox(o options, out io.Writer) error {
	real := clock.RealClock{}
	progress := newProgress(out, real)
	ctx, forced, release := watchSignals(progress.say)
	defer release()
	if o.UntilStdinCloses {
		var closed context.CancelCauseFunc
		ctx, closed = context.WithCancelCause(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			closed(errInterrupted)
		}()
	}
	sweepStale()
	programs, err := findPrograms(ctx, o.ComponentsDir)
	if err != nil {
		return err
	}
	progress.say(programs.String())
	s := &sandbox{options: o, programs: programs, progress: progress, clock: real}
	if o.Loops == loopsOwn {
		listener, err := listenDashboard(o, progress.say)
		if err != nil {
			return err
		}
		s.listener = listener
	}
	return s.live(ctx, forced)
}

// live opens the state directory, boots, serves, and undoes everything in the
// reverse order. A second signal ends forced, which takes away the grace.
func (s *sandbox) live(ctx, forced context.Context) (err error) {
	ctx, s.fail = context.WithCancelCause(ctx)
	defer s.fail(nil)
	defer func() {
		for _, listener := range []net.Listener{s.listener, s.portsGuard} {
			if listener != nil {
				_ = listener.Close()
			}
		}
	}()
	if s.state, err = openState(s.options.StateDir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.state.close()) }()
	if err := s.prepare(); err != nil {
		return err
	}
	if err := s.supervise(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop(forced)) }()
	if err := s.boot(ctx); err != nil {
		return s.reason(ctx, err)
	}
	if err := s.announce(ctx); err != nil {
		return s.reason(ctx, err)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, errInterrupted) {
		return cause
	}
	return nil
}

// reason prefers the cause of a cancelled context to the error it led to.
func (s *sandbox) reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// supervise makes the sandbox able to hold children and to be talked to.
func (s *sandbox) supervise() error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's own file: %w", err)
	}
	children := supervise.Options{Command: []string{executable, childArgument}, Clock: s.clock, Report: s.progress.say}
	if n := s.options.Processors; n > 0 {
		children.Env = []string{"GOMAXPROCS=" + strconv.Itoa(n)}
	}
	if s.options.Verbose {
		children.Verbose = os.Stderr
	}
	if s.supervisor, err = supervise.New(children); err != nil {
		return err
	}
	if err := s.state.prepareSocket(); err != nil {
		return err
	}
	if s.control, err = serveControl(s.state.socketPath(), s.supervisor); err != nil {
		return err
	}
	s.record = newRecord(s.state, os.Getpid(), s.progress.started)
	s.record.Kubernetes = s.programs.String()
	return s.record.save()
}

// announce prints where everything is, and starts the demo.
func (s *sandbox) announce(ctx context.Context) error {
	if s.options.Demo {
		if err := s.step(ctx, "demo", func(ctx context.Context) error { return createDemo(ctx, s.client) }); err != nil {
			return err
		}
	}
	if url := s.dashboardURL(); url != "" {
		s.progress.say("dashboard: " + url)
		s.record.Dashboard = url
	}
	s.progress.say("kubeconfig: " + s.state.kubeconfig())
	s.progress.say(fmt.Sprintf("ready in %.1f s", s.progress.elapsed().Seconds()))
	s.record.Ready = true
	if s.options.Demo {
		go s.playDemo(ctx)
	}
	return s.record.save()
}

// stop undoes supervise and boot: first those who talk, then those talked to.
func (s *sandbox) stop(forced context.Context) error {
	began := s.clock.Now()
	s.progress.say("stopping")
	bounded, cancel := context.WithTimeout(forced, stopLimit)
	defer cancel()
	errs := []error{s.dashboard.close(bounded)}
	if s.control != nil {
		errs = append(errs, s.control.close())
	}
	grace := graceKept
	if s.state.Temporary {
		grace = graceTemporary
	}
	s.supervisor.Stop(forced, grace)
	if s.record != nil {
		errs = append(errs, s.record.remove())
	}
	s.progress.say(fmt.Sprintf("stopped in %.1f s", s.clock.Since(began).Seconds()))
	return errors.Join(errs...)
}

// logTo is where the app's log goes: its file and, with -v, the terminal.
func (s *sandbox) logTo(file io.Writer) io.Writer {
	if !s.options.Verbose {
		return file
	}
	return io.MultiWriter(file, &supervise.Prefixer{To: os.Stderr, Prefix: "[" + userLoopscope + "] "})
}

// watchSignals returns a context that the first signal ends and one that the
// second one ends.
func watchSignals(say func(string)) (ctx, forced context.Context, release func()) {
	ctx, interrupt := context.WithCancelCause(context.Background())
	forced, force := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for range signals {
			if ctx.Err() != nil {
				say("stopping at once")
				force(errInterrupted)
				return
			}
			interrupt(errInterrupted)
		}
	}()
	return ctx, forced, func() {
		signal.Stop(signals)
		interrupt(nil)
		force(nil)
	}
}
