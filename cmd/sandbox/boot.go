package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/cmd/sandbox/internal/supervise"
)

// auditPolicyYAML says what --audit records.
//
//go:embed audit-policy.yaml
var auditPolicyYAML []byte

const (
	// bootLimit bounds the wait for one component on a slow machine.
	bootLimit = 2 * time.Minute
	// probePause lies between two questions whether a component is ready.
	probePause = 50 * time.Millisecond
	// bootDeaths is how often a component may die before it was ever ready.
	bootDeaths = 3
	// logTail is how much of a failed component's log is shown, in bytes.
	logTail = 2000
)

// sandbox is one running control plane.
type sandbox struct {
	options    options
	programs   programs
	progress   *progress
	clock      clock.Clock
	state      *state
	ports      ports
	portsGuard net.Listener // keeps other sandboxes from choosing them
	supervisor *supervise.Supervisor
	client     kubernetes.Interface // the administrator's
	listener   net.Listener         // the dashboard's; nil without one
	dashboard  *dashboard           // nil without one
	control    *controlServer
	record     *record
	fail       context.CancelCauseFunc // ends the sandbox with an error; the first cause wins
}

// boot brings everything up, in order, and returns when it is usable.
func (s *sandbox) boot(ctx context.Context) error {
	plan := blueprint{state: s.state, ports: s.ports, programs: s.programs, audit: s.options.Audit, qps: s.options.LoopsQPS}
	if err := s.bootAPI(ctx, plan); err != nil {
		return err
	}
	if err := s.bootRest(ctx, plan); err != nil {
		return err
	}
	if s.options.Loops == loopsOwn {
		return s.step(ctx, "dashboard", func(ctx context.Context) error { return s.openDashboard(ctx) })
	}
	return nil
}

// prepare writes everything the children read.
func (s *sandbox) prepare() error {
	began := s.clock.Now()
	if err := ensureCredentials(s.state, began); err != nil {
		return err
	}
	var err error
	if s.ports, s.portsGuard, err = choosePorts(s.state.portsFile()); err != nil {
		return err
	}
	console := ""
	if s.listener != nil {
		console = "http://" + s.listener.Addr().String()
	}
	if err := writeKubeconfigs(s.state, s.ports, console); err != nil {
		return err
	}
	if err := writeSecret(s.state.auditPolicy(), auditPolicyYAML); err != nil {
		return err
	}
	config, err := restConfig(s.state.kubeconfig())
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent, config.Timeout = -1, "sandbox", 15*time.Second
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	s.progress.done("credentials", began)
	return nil
}

// bootAPI starts the database and the API server.
func (s *sandbox) bootAPI(ctx context.Context, plan blueprint) error {
	health, err := httpProbe(s.state, "https://"+address(s.ports.EtcdClient)+"/health", fileEtcdCA, fileEtcdClient)
	if err != nil {
		return err
	}
	if err := s.bootChild(ctx, plan.etcd(), health); err != nil {
		return err
	}
	ready, err := httpProbe(s.state, "https://"+address(s.ports.APIServer)+"/readyz", fileClusterCA, "admin")
	if err != nil {
		return err
	}
	if err := s.bootChild(ctx, plan.apiServer(), ready); err != nil {
		return err
	}
	return s.step(ctx, "roles and nodes", func(ctx context.Context) error {
		if err := grant(ctx, s.client); err != nil {
			return err
		}
		if err := prioritize(ctx, s.client); err != nil {
			return err
		}
		return createNodes(ctx, s.client, s.options.Nodes, "v"+s.programs.version(nameAPIServer).String())
	})
}

// bootRest starts what only talks to the API server, all at once, and then
// waits for each in turn.
func (s *sandbox) bootRest(ctx context.Context, plan blueprint) error {
	type waiting struct {
		name  string
		ready probe
	}
	var waits []waiting
	launch := func(spec supervise.Spec, ready probe) {
		s.supervisor.Start(spec)
		waits = append(waits, waiting{spec.Name, ready})
	}
	began := s.clock.Now()
	managed := map[string]int{nameScheduler: s.ports.Scheduler, nameControllerManager: s.ports.ControllerManager, nameLoops: s.ports.Loops}
	healthy := map[string]probe{}
	for name, port := range managed {
		health, err := httpProbe(s.state, "https://"+address(port)+"/healthz", fileClusterCA, "admin")
		if err != nil {
			return err
		}
		healthy[name] = health
	}
	launch(plan.controllerManager(), healthy[nameControllerManager])
	launch(plan.scheduler(), healthy[nameScheduler])
	launch(plan.kwok(), leasesProbe(s.client, s.options.Nodes))
	if s.options.Loops == loopsUpstream {
		launch(plan.loops(), healthy[nameLoops])
	}
	for _, wait := range waits {
		if err := s.awaitChild(ctx, wait.name, began, wait.ready); err != nil {
			return err
		}
	}
	return s.await(ctx, fmt.Sprintf("%d nodes ready", s.options.Nodes), s.clock.Now(), nodesProbe(s.client, s.options.Nodes), never)
}

// step runs one bounded piece of work and prints how long it took.
func (s *sandbox) step(ctx context.Context, name string, work func(context.Context) error) error {
	began := s.clock.Now()
	bounded, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	if err := work(bounded); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.progress.done(name, began)
	return nil
}

func (s *sandbox) bootChild(ctx context.Context, spec supervise.Spec, ready probe) error {
	began := s.clock.Now()
	s.supervisor.Start(spec)
	return s.awaitChild(ctx, spec.Name, began, ready)
}

// awaitChild waits until a child is ready, or has died too often to hope.
func (s *sandbox) awaitChild(ctx context.Context, name string, began time.Time, ready probe) error {
	err := s.await(ctx, name, began, ready, func() error {
		if deaths := s.supervisor.Failures(name); deaths >= bootDeaths {
			return fmt.Errorf("died %d times", deaths)
		}
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w; the end of %s:\n%s", err, s.state.log(name), tail(s.state.log(name), logTail))
}

// never is the hopeless of what cannot fail for good.
func never() error { return nil }

// await asks ready until it is satisfied; hopeless may end the wait early.
func (s *sandbox) await(ctx context.Context, name string, began time.Time, ready probe, hopeless func() error) error {
	bounded, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	for {
		err := ready(bounded)
		if err == nil {
			s.progress.done(name, began)
			return nil
		}
		if lost := hopeless(); lost != nil {
			return fmt.Errorf("%s did not become ready: %w", name, lost)
		}
		timer := s.clock.NewTimer(probePause)
		select {
		case <-timer.C():
		case <-bounded.Done():
			timer.Stop()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%s did not become ready within %s: %w", name, bootLimit, err)
		}
	}
}

// tail is the end of a file, from the start of a line where possible.
func tail(path string, size int) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	if len(data) > size {
		data = data[len(data)-size:]
		if _, rest, found := bytes.Cut(data, []byte("\n")); found {
			data = rest
		}
	}
	return data
}
