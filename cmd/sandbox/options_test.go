package main

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestOptionsValidate(t *testing.T) {
	good := options{Listen: defaultListen, Nodes: 3, Loops: loopsOwn}
	for _, c := range []struct {
		name   string
		change func(*options)
		want   string // part of the error; empty means valid
	}{
		{"defaults", func(*options) {}, ""},
		{"upstream", func(o *options) { o.Loops = loopsUpstream }, ""},
		{"none", func(o *options) { o.Loops = loopsNone }, ""},
		{"unknown loops", func(o *options) { o.Loops = "ours" }, "want own, upstream or none"},
		{"one node", func(o *options) { o.Nodes = 1 }, ""},
		{"most nodes", func(o *options) { o.Nodes = mostNodes }, ""},
		{"no nodes", func(o *options) { o.Nodes = 0 }, "want 1 to 200"},
		{"too many nodes", func(o *options) { o.Nodes = mostNodes + 1 }, "want 1 to 200"},
		{"one processor", func(o *options) { o.Processors = 1 }, ""},
		{"fewer processors than none", func(o *options) { o.Processors = -1 }, "--component-processors=-1: want 0 or more"},
		{"localhost", func(o *options) { o.Listen = "localhost:8080" }, ""},
		{"IPv6 loopback", func(o *options) { o.Listen = "[::1]:8080" }, ""},
		{"other loopback", func(o *options) { o.Listen = "127.1.2.3:0" }, ""},
		{"everywhere", func(o *options) { o.Listen = "0.0.0.0:8077" }, "only loopback addresses"},
		{"everywhere, unsaid", func(o *options) { o.Listen = ":8077" }, "only loopback addresses"},
		{"everywhere, IPv6", func(o *options) { o.Listen = "[::]:8077" }, "only loopback addresses"},
		{"a host", func(o *options) { o.Listen = "example.com:8077" }, "only loopback addresses"},
		{"no port", func(o *options) { o.Listen = "127.0.0.1" }, "want HOST:PORT"},
		{"named port", func(o *options) { o.Listen = "127.0.0.1:http" }, "must be a number"},
		{"port too large", func(o *options) { o.Listen = "127.0.0.1:65536" }, "must be a number"},
		{"listen without dashboard", func(o *options) { o.Loops, o.ListenExplicit = loopsNone, true }, "--listen has no effect with --loops=none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := good
			c.change(&o)
			err := o.validate()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestListenDashboard(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()

	t.Run("busy default falls to a free port and says so", func(t *testing.T) {
		var said string
		listener, err := listenDashboard(options{Listen: busy.Addr().String()}, func(line string) { said = line })
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if listener.Addr().String() == busy.Addr().String() || !strings.HasPrefix(listener.Addr().String(), loopback+":") {
			t.Errorf("listens on %s", listener.Addr())
		}
		if !strings.Contains(said, busy.Addr().String()+" is busy") || !strings.Contains(said, listener.Addr().String()) {
			t.Errorf("said %q, want both addresses", said)
		}
	})
	t.Run("busy explicit port is an error that says what to do", func(t *testing.T) {
		_, err := listenDashboard(options{Listen: busy.Addr().String(), ListenExplicit: true}, func(string) {})
		if err == nil || !strings.Contains(err.Error(), "choose another port") || !strings.Contains(err.Error(), busy.Addr().String()) {
			t.Errorf("error %v, want the address and advice", err)
		}
	})
	t.Run("free port is taken as it is", func(t *testing.T) {
		free := strconv.Itoa(freePort(t))
		listener, err := listenDashboard(options{Listen: "127.0.0.1:" + free, ListenExplicit: true}, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if _, port, _ := net.SplitHostPort(listener.Addr().String()); port != free {
			t.Errorf("listens on port %s, want %s", port, free)
		}
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
