package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Pauses before a child that died by itself is started again: the first, the
// longest, and how long a child must have run for the pause to start over.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 10 * time.Second
	steadyAfter  = 30 * time.Second
)

// supervisor starts children, restarts those that die and stops all of them.
// Its methods may be called from several goroutines.
type supervisor struct {
	executable string
	clock      clock.Clock
	report     func(line string) // what a user should know; called from several goroutines
	verbose    io.Writer         // takes the children's output as well, when not nil
	spawns     chan spawn
	parentEnd  *os.File // closes with this process, which tells the children
	childEnd   *os.File

	mu       sync.Mutex
	children []*child // in the order of their start
	stopping bool
}

// spawn asks the spawner's thread to start a command.
type spawn struct {
	cmd    *exec.Cmd
	result chan error
}

func newSupervisor(executable string, clock clock.Clock, report func(string)) (*supervisor, error) {
	childEnd, parentEnd, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create pipe to the children: %w", err)
	}
	s := &supervisor{
		executable: executable, clock: clock, report: report,
		spawns: make(chan spawn), parentEnd: parentEnd, childEnd: childEnd,
	}
	go s.spawner()
	return s, nil
}

// spawner starts all children from one thread that lives as long as the
// supervisor: the kernel's parent-death signal follows the thread, not the
// process, and Go ends threads as it likes.
func (s *supervisor) spawner() {
	runtime.LockOSThread()
	for request := range s.spawns {
		request.result <- request.cmd.Start()
	}
}

// start runs the child described by spec and keeps it running, unless the
// supervisor is being stopped.
func (s *supervisor) start(spec childSpec) {
	c := &child{spec: spec, supervisor: s, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	s.children = append(s.children, c)
	go c.keep()
}

// names lists the children in the order of their start.
func (s *supervisor) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.children))
	for _, c := range s.children {
		names = append(names, c.spec.Name)
	}
	return names
}

func (s *supervisor) find(name string) (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.children {
		if c.spec.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no child is called %q", name)
}

// kill ends a child with SIGKILL and starts it again after the given time. It
// returns the killed process's id, or 0 if the child was not running; the
// restart is delayed either way.
func (s *supervisor) kill(name string, after time.Duration) (int, error) {
	c, err := s.find(name)
	if err != nil {
		return 0, err
	}
	return c.kill(after)
}

// failures is how often a child died since it was first started.
func (s *supervisor) failures(name string) int {
	c, err := s.find(name)
	if err != nil {
		return 0
	}
	return c.snapshot().Restarts
}

// statuses describes every child, in the order of their start.
func (s *supervisor) statuses() []childStatus {
	s.mu.Lock()
	children := slices.Clone(s.children)
	s.mu.Unlock()
	statuses := make([]childStatus, 0, len(children))
	for _, c := range children {
		statuses = append(statuses, c.snapshot())
	}
	return statuses
}

// stop ends the children in the reverse order of their start: it asks, waits up
// to grace for each and then kills. It returns when every child is gone, at the
// latest a moment after ctx has ended, which takes away the grace.
func (s *supervisor) stop(ctx context.Context, grace time.Duration) {
	s.mu.Lock()
	s.stopping = true
	children := slices.Clone(s.children)
	s.mu.Unlock()
	for _, c := range children {
		c.retire()
	}
	for _, c := range slices.Backward(children) {
		c.end(ctx, grace)
	}
	_ = s.parentEnd.Close()
	_ = s.childEnd.Close()
	close(s.spawns)
}

// launch starts one process, with its output going to its log and, if asked
// for, to the terminal. The caller waits for it and then closes the log.
func (s *supervisor) launch(spec childSpec) (*process, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	cmd := exec.Command(s.executable, append([]string{childArgument, spec.Name}, spec.Args...)...)
	cmd.Stdout = log
	if s.verbose != nil {
		cmd.Stdout = io.MultiWriter(log, &prefixer{to: s.verbose, prefix: "[" + spec.Name + "] "})
	}
	cmd.Stderr = cmd.Stdout
	cmd.Env = childEnvironment(os.Environ())
	cmd.ExtraFiles = []*os.File{s.childEnd}
	cmd.SysProcAttr = childAttributes()
	request := spawn{cmd: cmd, result: make(chan error, 1)}
	s.spawns <- request
	if err := <-request.result; err != nil {
		return nil, errors.Join(fmt.Errorf("start process: %w", err), log.Close())
	}
	return &process{cmd: cmd, log: log}, nil
}

// process is a running child process.
type process struct {
	cmd *exec.Cmd
	log *os.File
}

// wait returns how the process ended, in a few words.
func (p *process) wait() string {
	defer p.log.Close()
	if err := p.cmd.Wait(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}
