package secure

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/loopscope/loopscope/web/slots"
)

const (
	// mostConnections is how many are open at once, connectionsOfOne how many of these from one address:
	// whoever opens them is not known yet, and each takes memory that the loops need. What one address
	// cannot have is left for others, such as the node that checks the health of this process: it may not,
	// however, be told from those whose connections it forwards under its own address.
	mostConnections, connectionsOfOne = 8192, 6144
	// mostHeader is how many bytes the address and the headers of a request may have. Those of a
	// websocket are kept for as long as it is open.
	mostHeader = 64 << 10
)

// limited is a listener that closes connections beyond its places at once, and counts them.
type limited struct {
	net.Listener
	places  *slots.Shares
	refused *atomic.Uint64
}

// Accept returns the next connection for which there is a place.
func (l limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			from = "" // It is no TCP connection: all are of one.
		}
		if leave, err := l.places.Take(slots.Whose(context.Background(), from)); err == nil {
			return &counted{conn, sync.OnceFunc(leave)}, nil
		}
		l.refused.Add(1)
		_ = conn.Close() // Nothing was said yet.
	}
}

// counted is a connection that has a place.
type counted struct {
	net.Conn
	leave func()
}

// Close gives the place back.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// NetConn is the connection below.
func (c *counted) NetConn() net.Conn { return c.Conn }

// brief turns away requests with more headers than anybody needs, before anything is made of them.
func brief(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := len(r.RequestURI) + len(r.Host)
		for name, values := range r.Header {
			for _, value := range values {
				size += len(name) + len(value)
			}
		}
		if size > mostHeader {
			w.Header().Set("Connection", "close")
			http.Error(w, fmt.Sprintf("The address and the headers of this request have %d bytes; %d are read.\nA browser sends that much where it has many cookies for this host: delete them.", size, mostHeader),
				http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		next.ServeHTTP(w, r)
	})
}
