package installed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// connectWithin is how long a connection to a pod may take.
	connectWithin = 15 * time.Second
	// longestRefusal is how many bytes are read of why a pod takes no connection.
	longestRefusal = 1 << 10
)

// Console is one that is installed in a cluster. It is safe for concurrent use.
type Console struct {
	// UID is that of its Service.
	UID string

	namespace, service string
	pods               labels.Selector
	port               intstr.IntOrString

	config *rest.Config
	client kubernetes.Interface

	mu  sync.Mutex
	now *tunnel // nil before the first connection
}

// tunnel leads through the API server to a pod. No port of this machine is part of it: once it has
// ended, another program could take that port and be sent the user's credentials.
type tunnel struct {
	httpstream.Connection
	to    endpoint
	count atomic.Int64 // of connections, which have numbers
}

func (t *tunnel) over() bool {
	select {
	case <-t.CloseChan():
		return true
	default:
		return false
	}
}

// Dial connects to a pod of the console that is ready. Where the one before is gone, it is another.
func (c *Console) Dial(ctx context.Context) (net.Conn, error) {
	t, err := c.tunnel(ctx)
	if err != nil {
		return nil, err
	}
	return t.connect()
}

func (c *Console) tunnel(ctx context.Context) (*tunnel, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && !c.now.over() {
		return c.now, nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	to, err := c.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	dialer, err := c.dialer(to.pod)
	if err != nil {
		return nil, err
	}
	through, err := open(ctx, dialer)
	if err != nil {
		return nil, fmt.Errorf("forward a port to pod %s: %w", to.pod, err)
	}
	c.now = &tunnel{Connection: through, to: to}
	return c.now, nil
}

// dialer speaks over websockets, and SPDY to API servers that do not yet.
func (c *Console) dialer(pod string) (httpstream.Dialer, error) {
	url := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(c.namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	newer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, c.config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(newer, older, func(err error) bool { return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) }), nil
}

// open opens what streams are made in. A dialer takes no context: what it opens too late is closed.
func open(ctx context.Context, dialer httpstream.Dialer) (httpstream.Connection, error) {
	var through httpstream.Connection
	done := make(chan error, 1)
	go func() {
		conn, spoken, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		if err == nil && spoken != portforward.PortForwardProtocolV1Name {
			err = errors.Join(fmt.Errorf("the API server speaks %q", spoken), conn.Close())
		}
		through = conn
		done <- err
	}()
	select {
	case err := <-done:
		return through, err
	case <-ctx.Done():
		go func() {
			if <-done == nil {
				_ = through.Close() // Nobody has used it.
			}
		}()
		return nil, ctx.Err()
	}
}

// connect opens a connection to the pod, which may still refuse it: reads and writes say so.
func (t *tunnel) connect() (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(int(t.to.port)))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.FormatInt(t.count.Add(1), 10))
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	refusal, err := t.CreateStream(headers)
	if err != nil {
		return nil, t.dead(err)
	}
	_ = refusal.Close() // It is read alone.
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := t.CreateStream(headers)
	if err != nil {
		return nil, t.dead(err)
	}
	here, there := net.Pipe() // A stream has no deadlines.
	c := &conn{Conn: here}
	go t.carry(c, there, data, refusal)
	return c, nil
}

// dead ends a tunnel in which no stream can be made, so that another one is looked for: an API server that
// is gone without a word does not end it.
func (t *tunnel) dead(err error) error {
	_ = t.Close() // It may have ended by itself.
	return fmt.Errorf("connect to pod %s: %w", t.to.pod, err)
}

// conn is a connection to a pod. Where the pod has refused it, reads and writes say so.
type conn struct {
	net.Conn
	refused atomic.Pointer[error] // stored before it ends, nil where the pod has taken it
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.why(err)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.why(err)
}

func (c *conn) why(err error) error {
	if refused := c.refused.Load(); refused != nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)) {
		return *refused
	}
	return err
}

// carry copies both ways until one end closes. A pod that takes no connection ends the tunnel, so that
// another one is looked for.
func (t *tunnel) carry(c *conn, there net.Conn, data, refusal httpstream.Stream) {
	defer t.RemoveStreams(data, refusal)
	go func() {
		_, _ = io.Copy(data, there) // What fails here ends the other direction, too.
		_ = data.Reset()
	}()
	n, _ := io.Copy(there, data)
	_ = data.Reset() // What was not sent would block the stream of the refusal.
	if n == 0 {
		if why, err := io.ReadAll(io.LimitReader(refusal, longestRefusal)); err == nil && len(why) > 0 {
			refused := fmt.Errorf("pod %s: %s", t.to.pod, redact.Line(string(why)))
			c.refused.Store(&refused)
			_ = t.Close()
		}
	}
	_ = there.Close()
}

// Close ends what is connected.
func (c *Console) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil {
		_ = c.now.Close() // It may have ended by itself.
	}
	c.now = nil
}
