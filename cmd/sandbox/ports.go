package main

import (
	"encoding/json"
	"errors"
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
// that kubeconfigs copied from a kept state directory stay valid, and a free
// block otherwise. It records the choice in file. No other sandbox chooses them
// until the guard is closed, although the children do not listen yet.
func choosePorts(file string) (p ports, guard net.Listener, err error) {
	if data, err := os.ReadFile(file); err == nil {
		// A file we cannot read only costs the old port numbers.
		_ = json.Unmarshal(data, &p)
	}
	guard, err = p.claim()
	// Sandboxes that start together begin to look at different blocks.
	for i := 0; err != nil && i < manyBlocks; i++ {
		p = portsOf((os.Getpid() + i) % manyBlocks)
		guard, err = p.claim()
	}
	if err != nil {
		return ports{}, nil, fmt.Errorf("find free ports from %d to %d: %w", firstPort, firstPort+manyBlocks*blockSize-1, err)
	}
	data, err := json.Marshal(p)
	if err == nil {
		err = writeSecret(file, data)
	}
	if err != nil {
		_ = guard.Close() // nothing is sent through it
		return ports{}, nil, fmt.Errorf("record the ports: %w", err)
	}
	return p, guard, nil
}

const (
	// Ports are chosen in blocks from firstPort on. Those that a system takes for outgoing
	// connections, in Linux from 32768 on, may be taken before a child listens.
	firstPort, blockSize, manyBlocks = 20000, 16, 750
	// guardPort is the one of a block that its sandbox itself listens on as long as it runs.
	guardPort = blockSize - 1
)

// portsOf are the ports of a block.
func portsOf(block int) (p ports) {
	for i, port := range p.all() {
		*port = firstPort + block*blockSize + i
	}
	return p
}

// claim reserves the block of the API server's port, and moves each port that is taken, or there
// twice, within it. It fails where another sandbox has the block, or nothing in it is free.
func (p *ports) claim() (guard net.Listener, err error) {
	block := (p.APIServer - firstPort) / blockSize
	if p.APIServer < firstPort || block >= manyBlocks {
		return nil, fmt.Errorf("port %d is in no block", p.APIServer)
	}
	spare, end := firstPort+block*blockSize+len(p.all()), firstPort+block*blockSize+guardPort
	guard, err = net.Listen("tcp", address(end))
	if err != nil {
		return nil, err
	}
	for _, port := range p.all() {
		listener, err := net.Listen("tcp", address(*port))
		for ; err != nil && spare < end; spare++ {
			*port = spare
			listener, err = net.Listen("tcp", address(*port))
		}
		if err != nil {
			return nil, errors.Join(err, guard.Close())
		}
		defer listener.Close() // once all are known to be free
	}
	return guard, nil
}

// address is a port of ours as host:port.
func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
