package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/internal/supervise"
)

const (
	// controlLimit bounds a whole exchange on the control socket.
	controlLimit = 5 * time.Second
	// largestRequest is far more than any request needs, in bytes.
	largestRequest = 4096
)

// Operations on the control socket.
const (
	operationStatus = "status"
	operationKill   = "kill"
)

// controlRequest is what a command asks the running sandbox, as one JSON object.
type controlRequest struct {
	Operation string        `json:"operation"`
	Name      string        `json:"name,omitempty"`
	For       time.Duration `json:"for,omitempty"`
}

// controlReply answers it.
type controlReply struct {
	Error    string             `json:"error,omitempty"`
	PID      int                `json:"pid,omitempty"`
	Children []supervise.Status `json:"children,omitempty"`
}

// controlServer answers commands of the same user on a unix socket.
type controlServer struct {
	listener   net.Listener
	supervisor *supervise.Supervisor
}

func serveControl(path string, supervisor *supervise.Supervisor) (*controlServer, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the control socket to others: %w", err), listener.Close())
	}
	c := &controlServer{listener: listener, supervisor: supervisor}
	go c.serve()
	return c, nil
}

func (c *controlServer) close() error { return c.listener.Close() }

func (c *controlServer) serve() {
	for {
		connection, err := c.listener.Accept()
		if err != nil {
			return // closed
		}
		go c.answer(connection)
	}
}

func (c *controlServer) answer(connection net.Conn) {
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(controlLimit))
	var request controlRequest
	reply := controlReply{}
	if err := json.NewDecoder(io.LimitReader(connection, largestRequest)).Decode(&request); err != nil {
		reply.Error = "malformed request: " + err.Error()
	} else {
		reply = c.reply(request)
	}
	_ = json.NewEncoder(connection).Encode(reply) // who asked may have gone
}

func (c *controlServer) reply(request controlRequest) controlReply {
	switch request.Operation {
	case operationStatus:
		return controlReply{Children: c.supervisor.Statuses()}
	case operationKill:
		pid, err := c.supervisor.Kill(request.Name, request.For)
		if err != nil {
			return controlReply{Error: fmt.Sprintf("%v; there are: %s", err, strings.Join(c.supervisor.Names(), ", "))}
		}
		return controlReply{PID: pid}
	default:
		return controlReply{Error: fmt.Sprintf("unknown operation %q", request.Operation)}
	}
}

// askSandbox sends one request to the sandbox behind the socket.
func askSandbox(socket string, request controlRequest) (controlReply, error) {
	connection, err := net.DialTimeout("unix", socket, controlLimit)
	if err != nil {
		return controlReply{}, fmt.Errorf("reach the sandbox: %w", err)
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(controlLimit))
	if err := json.NewEncoder(connection).Encode(request); err != nil {
		return controlReply{}, fmt.Errorf("ask the sandbox: %w", err)
	}
	var reply controlReply
	if err := json.NewDecoder(connection).Decode(&reply); err != nil {
		return controlReply{}, fmt.Errorf("read the sandbox's answer: %w", err)
	}
	if reply.Error != "" {
		return controlReply{}, errors.New(reply.Error)
	}
	return reply, nil
}
