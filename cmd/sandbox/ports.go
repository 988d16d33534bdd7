package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
)

// loopback is the one address anything of the sandbox listens on.
const loopback = "127.0.0.1"

// ports are the TCP ports of the children, all on loopback.
type ports struct {
	EtcdClient        int `json:"etcdClient"`
	EtcdPeer          int `json:"etcdPeer"`
	APIServer         int `json:"apiServer"`
	Scheduler         int `json:"scheduler"`
	ControllerManager int `json:"controllerManager"`
	Loops             int `json:"loops"`
}

func (p *ports) all() []*int {
	return []*int{&p.EtcdClient, &p.EtcdPeer, &p.APIServer, &p.Scheduler, &p.ControllerManager, &p.Loops}
}

// choosePorts takes the ports of the last start again where they are free, so
// that kubeconfigs copied from a kept state directory stay valid, and free
// ones otherwise. It records the choice in file.
func choosePorts(file string) (ports, error) {
	var p ports
	if data, err := os.ReadFile(file); err == nil {
		// A file we cannot read only costs the old port numbers.
		_ = json.Unmarshal(data, &p)
	}
	if err := p.fill(); err != nil {
		return ports{}, err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return ports{}, fmt.Errorf("encode ports: %w", err)
	}
	return p, writeSecret(file, data)
}

// fill keeps the ports that are free, and then chooses the others. It holds every port open until
// all are chosen, so that none is chosen twice.
func (p *ports) fill() error {
	var open []net.Listener
	defer func() {
		for _, listener := range open {
			_ = listener.Close()
		}
	}()
	for _, port := range p.all() {
		if *port == 0 {
			continue
		}
		listener, err := net.Listen("tcp", address(*port))
		if err != nil {
			*port = 0
			continue
		}
		open = append(open, listener)
	}
	for _, port := range p.all() {
		if *port != 0 {
			continue
		}
		listener, err := listenAnywhere()
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		open = append(open, listener)
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return nil
}

const (
	// firstPort and manyPorts are the range of ports that are chosen. Those that a system takes for
	// outgoing connections, in Linux from 32768 on, may be taken before a child listens.
	firstPort, manyPorts = 20000, 12000
	// portsEach is how many ports one process begins with, so that two sandboxes that start
	// together do not choose the same.
	portsEach = 8
)

// listenAnywhere listens on a free port of the range.
func listenAnywhere() (net.Listener, error) {
	var last error
	for i := range manyPorts {
		listener, err := net.Listen("tcp", address(firstPort+(os.Getpid()*portsEach+i)%manyPorts))
		if err == nil {
			return listener, nil
		}
		last = err
	}
	return nil, last
}

// address is a port of ours as host:port.
func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
