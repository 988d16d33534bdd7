package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// defaultListen is where the dashboard is when nobody asks for another place.
const defaultListen = "127.0.0.1:8077"

// mostNodes is how many nodes have a network of their own; see newNode.
const mostNodes = 200

// Values of --loops: who runs the three loops.
const (
	loopsOwn      = "own"      // Loopscope, in this process
	loopsUpstream = "upstream" // a kube-controller-manager of their own
	loopsNone     = "none"     // nobody yet
)

// options are the flags of the sandbox.
type options struct {
	Listen           string
	ListenExplicit   bool // the user named the address, so no other will do
	StateDir         string
	ComponentsDir    string // "" for the components of the sandbox itself
	Nodes            int
	Demo             bool
	Loops            string
	LoopsQPS         int // of each loop; 0 is upstream's default, which is also Loopscope's
	Processors       int // that each component may use; 0 is all
	Audit            bool
	Verbose          bool
	UntilStdinCloses bool
}

// validate says what is wrong with the options and what to write instead.
func (o options) validate() error {
	if !slices.Contains([]string{loopsOwn, loopsUpstream, loopsNone}, o.Loops) {
		return fmt.Errorf("--loops=%s: want own, upstream or none", o.Loops)
	}
	if o.LoopsQPS < 0 {
		return fmt.Errorf("--loops-qps=%d: want 0 or more", o.LoopsQPS)
	}
	if o.Processors < 0 {
		return fmt.Errorf("--component-processors=%d: want 0 or more", o.Processors)
	}
	if o.Nodes < 1 || o.Nodes > mostNodes {
		return fmt.Errorf("--nodes=%d: want 1 to %d", o.Nodes, mostNodes)
	}
	if o.Loops != loopsOwn && o.ListenExplicit {
		return fmt.Errorf("--listen has no effect with --loops=%s, which starts no dashboard; leave one of them out", o.Loops)
	}
	return validateListen(o.Listen)
}

// validateListen accepts loopback addresses only.
func validateListen(listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen=%s: want HOST:PORT, such as %s", listen, defaultListen)
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return fmt.Errorf("--listen=%s: the port must be a number from 0 to 65535", listen)
	}
	if ip := net.ParseIP(host); strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen=%s: only loopback addresses are allowed, for the dashboard has no authentication yet; "+
		"use 127.0.0.1:PORT and reach it from elsewhere through a tunnel such as ssh -L", listen)
}

// listenDashboard binds the dashboard's address. A busy default gives way to a
// free port; a busy address that the user chose is an error.
func listenDashboard(o options, say func(string)) (net.Listener, error) {
	listener, err := net.Listen("tcp", o.Listen)
	if err == nil {
		return listener, nil
	}
	if o.ListenExplicit {
		return nil, fmt.Errorf("--listen=%s cannot be used: %w; stop what holds it, choose another port, or leave --listen out to get a free one", o.Listen, err)
	}
	free, errFree := net.Listen("tcp", address(0))
	if errFree != nil {
		return nil, fmt.Errorf("listen for the dashboard: %w", errors.Join(err, errFree))
	}
	say(fmt.Sprintf("%s is busy; the dashboard takes %s", o.Listen, free.Addr()))
	return free, nil
}
