package supervise

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

// Options say how children are started and where news of them goes. All but
// Env and Verbose are required.
type Options struct {
	// Command starts a child when the child's name and arguments are appended, unless the child is a
	// program of its own. The process must call ExitWithParent first.
	Command []string
	// Env is set for every child, beside what it inherits.
	Env []string
	// Clock gives the times of restarts.
	Clock clock.Clock
	// Report takes a line that a user should see. Several goroutines call it.
	Report func(line string)
	// Verbose takes the children's output, prefixed by their names, beside their logs.
	Verbose io.Writer
}

// Spec says how to run one child.
type Spec struct {
	Name string
	// Program is the file of a child that is a program of its own, "" for Options.Command. It does not
	// know ExitWithParent, so that it outlives a parent that is killed, except on Linux.
	Program string
	Args    []string
	Log     string // file that takes its output; created 0600, appended to
}

// Supervisor starts children, restarts those that die and stops all of them.
// Its methods may be called from several goroutines.
type Supervisor struct {
	options   Options
	clock     clock.Clock
	report    func(line string)
	spawns    chan spawn
	parentEnd *os.File // closes with this process, which tells the children
	childEnd  *os.File

	mu       sync.Mutex
	children []*child // in the order of their start
	stopping bool
}

// spawn asks the spawner's thread to start a command.
type spawn struct {
	cmd    *exec.Cmd
	result chan error
}

// New returns a supervisor without children. Stop releases what it holds.
func New(o Options) (*Supervisor, error) {
	if len(o.Command) == 0 || o.Clock == nil || o.Report == nil {
		return nil, errors.New("supervise: Command, Clock and Report are required")
	}
	childEnd, parentEnd, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create pipe to the children: %w", err)
	}
	s := &Supervisor{
		options: o, clock: o.Clock, report: o.Report,
		spawns: make(chan spawn), parentEnd: parentEnd, childEnd: childEnd,
	}
	go s.spawner()
	return s, nil
}

// spawner starts all children from one thread that lives as long as the
// supervisor: the kernel's parent-death signal follows the thread, not the
// process, and Go ends threads as it likes.
func (s *Supervisor) spawner() {
	runtime.LockOSThread()
	for request := range s.spawns {
		request.result <- request.cmd.Start()
	}
}

// Start runs the child described by spec and keeps it running, unless the
// supervisor is being stopped.
func (s *Supervisor) Start(spec Spec) {
	c := &child{spec: spec, supervisor: s, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	s.children = append(s.children, c)
	go c.keep()
}

// Names lists the children in the order of their start.
func (s *Supervisor) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.children))
	for _, c := range s.children {
		names = append(names, c.spec.Name)
	}
	return names
}

func (s *Supervisor) find(name string) (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.children {
		if c.spec.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no child is called %q", name)
}

// Kill ends a child with SIGKILL and starts it again after the given time. It
// returns the killed process's id, or 0 if the child was not running; the
// restart is delayed either way.
func (s *Supervisor) Kill(name string, after time.Duration) (int, error) {
	c, err := s.find(name)
	if err != nil {
		return 0, err
	}
	return c.kill(after)
}

// Failures is how often a child died since it was first started.
func (s *Supervisor) Failures(name string) int {
	c, err := s.find(name)
	if err != nil {
		return 0
	}
	return c.snapshot().Restarts
}

// Statuses describes every child, in the order of their start.
func (s *Supervisor) Statuses() []Status {
	s.mu.Lock()
	children := slices.Clone(s.children)
	s.mu.Unlock()
	statuses := make([]Status, 0, len(children))
	for _, c := range children {
		statuses = append(statuses, c.snapshot())
	}
	return statuses
}

// Stop ends the children in the reverse order of their start: it asks, waits up
// to grace for each and then kills. It returns when every child is gone, at the
// latest a moment after ctx has ended, which takes away the grace. A second call
// does nothing.
func (s *Supervisor) Stop(ctx context.Context, grace time.Duration) {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return
	}
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
func (s *Supervisor) launch(spec Spec) (*process, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	command := append(slices.Clone(s.options.Command), spec.Name)
	if spec.Program != "" {
		command = []string{spec.Program}
	}
	cmd := exec.Command(command[0], append(command[1:], spec.Args...)...)
	cmd.Stdout = log
	if s.options.Verbose != nil {
		cmd.Stdout = io.MultiWriter(log, &Prefixer{To: s.options.Verbose, Prefix: "[" + spec.Name + "] "})
	}
	cmd.Stderr = cmd.Stdout
	cmd.Env = append(childEnvironment(os.Environ()), s.options.Env...)
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
