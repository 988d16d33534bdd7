package standby

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/rest"
	clientwebsocket "k8s.io/client-go/transport/websocket"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
)

const (
	// dialWithin bounds how long it may take until the stream begins.
	dialWithin = 10 * time.Second
	// silentAfter is how long the stream may be without any sign of life: pings come every 15 s.
	silentAfter = 45 * time.Second
)

// credentials is how this process shows a console who it is: as it does the API server, with
// whatever certificate the Lease names in the place of that one's. Nothing is shown without TLS, and
// nothing that could be used again to whom nobody vouches for.
func credentials(own *rest.Config, c leadership.Console) (*rest.Config, error) {
	if c.Certificate == "" {
		return &rest.Config{Host: c.URL, Proxy: direct}, nil
	}
	name, err := c.ServerName()
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(own)
	config.Host, config.Proxy, config.Impersonate = c.URL, direct, rest.ImpersonationConfig{}
	config.WrapTransport, config.Dial = nil, nil
	config.TLSClientConfig.Insecure = false
	config.TLSClientConfig.CAFile, config.TLSClientConfig.CAData, config.TLSClientConfig.ServerName = "", []byte(c.Certificate), name
	return config, nil
}

// reusable reports whether whoever is shown credentials has them: of a client certificate the key stays here.
func reusable(c *rest.Config) bool {
	return c.BearerToken != "" || c.BearerTokenFile != "" || c.Username != "" || c.Password != "" || c.ExecProvider != nil || c.AuthProvider != nil
}

// direct is no proxy: a manager is reached as the API server's peers are.
func direct(*http.Request) (*url.URL, error) { return nil, nil }

// dial opens the stream after a sync of a run; "" for the run where none of it is known.
func (f *Follower) dial(ctx context.Context, c leadership.Console, epoch string, after uint64) (*websocket.Conn, error) {
	config, err := credentials(f.opts.Config, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	if reusable(config) {
		if err := f.opts.Vouch(ctx, c); err != nil {
			return nil, err
		}
	}
	trip, holder, err := clientwebsocket.RoundTripperFor(config)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	query := url.Values{"after": {strconv.FormatUint(after, 10)}}
	if epoch != "" {
		query.Set("epoch", epoch)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/live?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	conn, err := clientwebsocket.Negotiate(trip, holder, r, protocol)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.URL, err)
	}
	return conn, nil
}

// bound sets the limits of the connection. alive has to be called with every sign of life.
func bound(conn *websocket.Conn) (alive func()) {
	alive = func() { _ = conn.SetReadDeadline(time.Now().Add(silentAfter)) }
	conn.SetReadLimit(maxMessage)
	pong := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		alive()
		return pong(data)
	})
	alive()
	return alive
}
