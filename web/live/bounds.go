package live

import (
	"net"
	"time"
)

// bound sets the limits of the connection.
func (c *reader) bound() {
	c.conn.SetReadLimit(MaxMessage)
	c.alive()
	// A client that never reads must not fill megabytes of kernel memory first.
	if tcp, ok := socket(c.conn.NetConn()).(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(256 << 10)
	}
}

// socket is what is below TLS, and whatever else a connection is wrapped in.
func socket(conn net.Conn) net.Conn {
	for {
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = outer.NetConn()
	}
}

// alive gives the client time for the next sign of life.
func (c *reader) alive() { _ = c.conn.SetReadDeadline(time.Now().Add(c.s.Opts.SilentAfter)) }
