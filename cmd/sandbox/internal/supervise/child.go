package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Status is what can be told about a child.
type Status struct {
	Name     string    `json:"name"`
	PID      int       `json:"pid"`             // 0 while it is not running
	Restarts int       `json:"restarts"`        // deaths since the first start
	Since    time.Time `json:"since"`           // when the process was started, or died
	Until    time.Time `json:"until,omitzero"`  // when it is started again, while it is not running
	Memory   int64     `json:"memory,omitzero"` // resident bytes, where the system tells
}

// child keeps one component running. Its goroutine (keep) alone starts and
// reaps processes; everybody else only sends signals and sets times.
type child struct {
	spec       Spec
	supervisor *Supervisor
	wake       chan struct{} // a kill moved the time of the restart
	quit       chan struct{} // closed by retire
	done       chan struct{} // closed when keep has returned

	mu       sync.Mutex
	process  *os.Process // nil while it is not running
	restarts int
	since    time.Time
	until    time.Time
	hold     time.Duration // pause asked for by kill, for the death that follows
	held     bool
	retired  bool
}

// keep starts the process again whenever it dies, until the child is retired.
func (c *child) keep() {
	defer close(c.done)
	pause := firstPause
	for {
		started := c.supervisor.clock.Now()
		end := c.runOnce()
		if c.isRetired() {
			return
		}
		if c.supervisor.clock.Since(started) >= steadyAfter {
			pause = firstPause
		}
		delay := c.died(pause)
		c.supervisor.report(fmt.Sprintf("%s died (%s); starting it again in %s", c.spec.Name, end, delay.Round(time.Millisecond)))
		pause = min(2*pause, longestPause)
		if !c.rest() {
			return
		}
		c.supervisor.report(c.spec.Name + " is being started again")
	}
}

// runOnce runs one process to its end and says how it ended.
func (c *child) runOnce() string {
	running, err := c.begin()
	if err != nil {
		return err.Error()
	}
	end := running.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = nil
	return end
}

// begin starts the process unless the child has been retired meanwhile. Lock
// and check come together, or a stop could miss a process born that moment.
func (c *child) begin() (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return nil, errors.New("retired")
	}
	running, err := c.supervisor.launch(c.spec)
	if err != nil {
		return nil, err
	}
	c.process, c.since, c.until = running.cmd.Process, c.supervisor.clock.Now(), time.Time{}
	return running, nil
}

// died records a death and returns the pause before the next start.
func (c *child) died(pause time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		pause, c.held = c.hold, false
	}
	c.since = c.supervisor.clock.Now()
	c.until = c.since.Add(pause)
	c.restarts++
	return pause
}

// rest waits until the time of the restart, which a kill may move. It reports
// false when the child was retired.
func (c *child) rest() bool {
	for {
		c.mu.Lock()
		left := c.until.Sub(c.supervisor.clock.Now())
		c.mu.Unlock()
		if left <= 0 {
			return true
		}
		timer := c.supervisor.clock.NewTimer(left)
		select {
		case <-timer.C():
		case <-c.wake:
		case <-c.quit:
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

func (c *child) kill(after time.Duration) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return 0, fmt.Errorf("%s is being stopped", c.spec.Name)
	}
	if c.process == nil {
		c.until = c.supervisor.clock.Now().Add(after)
		select {
		case c.wake <- struct{}{}:
		default:
		}
		return 0, nil
	}
	c.hold, c.held = after, true
	// An error means that it died this moment, which is what was asked for.
	_ = c.process.Kill()
	return c.process.Pid, nil
}

func (c *child) snapshot() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := Status{Name: c.spec.Name, Restarts: c.restarts, Since: c.since, Until: c.until}
	if c.process != nil {
		status.PID = c.process.Pid
		status.Memory = residentMemory(status.PID)
	}
	return status
}

// retire makes the next death the last one.
func (c *child) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.retired {
		c.retired = true
		close(c.quit)
	}
}

func (c *child) isRetired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retired
}

// end stops a retired child: politely for up to grace, then at once.
func (c *child) end(ctx context.Context, grace time.Duration) {
	c.signal(syscall.SIGTERM)
	timer := c.supervisor.clock.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return
	case <-timer.C():
	case <-ctx.Done():
	}
	c.signal(syscall.SIGKILL)
	<-c.done
}

func (c *child) signal(signal syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		_ = c.process.Signal(signal) // an error means that it is gone
	}
}

// childEnvironment leaves out what would point a child at another cluster or
// send its loopback traffic elsewhere.
func childEnvironment(environment []string) []string {
	kept := make([]string, 0, len(environment))
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		switch strings.ToUpper(name) {
		case "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY":
		default:
			kept = append(kept, variable)
		}
	}
	return kept
}
