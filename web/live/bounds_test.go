package live

import (
	"crypto/tls"
	"net"
	"testing"
)

// wrapped is a connection that a listener counts.
type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }

// What the kernel keeps of a websocket is bounded below TLS, too.
func TestSocket(t *testing.T) {
	tcp := &net.TCPConn{}
	for name, conn := range map[string]net.Conn{"plain": tcp, "counted": wrapped{tcp}, "TLS": tls.Server(tcp, nil), "TLS that is counted": tls.Server(wrapped{tcp}, nil)} {
		if socket(conn) != net.Conn(tcp) {
			t.Errorf("%s: it is %T", name, socket(conn))
		}
	}
}
