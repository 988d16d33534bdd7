package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/slots"
)

// TraceProtocol is that for traces.
const TraceProtocol = "loopscope.trace.v1+json"

const (
	// MaxMessage bounds what a reader may send: it only ever says what it looks at.
	MaxMessage = 4 << 10
	// SwapEvery is the least time between two swaps of one fragment, windowEvery
	// that of the counter in the header, which every trace changes.
	SwapEvery, windowEvery = 50 * time.Millisecond, time.Second
	// drawEvery is the least time between two drawings of one page, for all its
	// readers; a page that is slow to draw rests five times as long as it took.
	drawEvery = 100 * time.Millisecond
	// listEvery is the same for a page that lists many objects, which any sync
	// changes; it rests listRest times as long as drawing it took. A frame is to
	// come within a quarter of a second: sending takes about sendTimePerReader for each
	// reader of the console, which is taken off, down to listLeast.
	listEvery, listLeast = 220 * time.Millisecond, 150 * time.Millisecond
	sendTimePerReader    = 70 * time.Microsecond
	listRest             = 25
	// LookEvery is how often a page is looked at without a trace: queues and the
	// reach of the API server change without one. CalmEvery is how often a page
	// of one object, which shows little of them, is drawn anew for its clock's sake,
	// and the rows of a list are sent that nobody has in sight.
	LookEvery, CalmEvery = time.Second, 5 * time.Second
	// fellBehind is how many traces a page may be late before it is looked
	// whether some of them are gone.
	fellBehind = 256
	// pulseEvery is how often a page hears something, so that it can tell a quiet
	// stream from a broken one.
	pulseEvery = 10 * time.Second
	pingEvery  = 15 * time.Second
	// SubscribeRate is how many subscriptions a second a reader may send, pings and pongs
	// counted, after a first SubscribeBurst: a held key steps through syncs some 30 times a second. It is closed
	// FloodPause after one too many. The newest of them is looked at, up to BeginRate times a second.
	SubscribeRate, SubscribeBurst = 50, 100
	FloodPause                    = time.Second
	BeginRate, BeginBurst         = 10, 10
	// followEvery is how often the journal is looked at in a burst.
	followEvery = 50 * time.Millisecond
)

// Why a websocket was closed, as ReaderMetrics counts it.
const (
	ClosedByClient = "client"
	ClosedSlow     = "slow"
	ClosedProtocol = "protocol"
	ClosedOversize = "oversize"
	ClosedSilent   = "silent"
	ClosedShutdown = "shutdown"
	ClosedRefused  = "refused"
	ClosedMoved    = "moved"
	closedError    = "error"
)

// writeBuffer is the size of the buffer in which a message is written. Most websockets are idle most
// of the time, and have none then.
const writeBuffer = 8 << 10

var writeBuffers sync.Pool

// Serve accepts a websocket. The guard has looked at Host and Origin already.
func (s *Stream) Serve(w http.ResponseWriter, r *http.Request) {
	protocol, e := wanted(r)
	if e != nil {
		s.site.Fail(w, r, e)
		return
	}
	start, e := s.startOf(r)
	if e != nil {
		s.site.Fail(w, r, e)
		return
	}
	leave, e := s.crowd.acquire(r.Context())
	if e != nil {
		w.Header().Set("Retry-After", "5")
		s.site.Fail(w, r, e)
		return
	}
	defer leave()
	// With a buffer of its own: through that of net/http a read that fails ends the request's context,
	// which says here that the right to read has ended.
	up := websocket.Upgrader{HandshakeTimeout: s.Opts.WriteTimeout, ReadBufferSize: 1 << 10, WriteBufferSize: writeBuffer, WriteBufferPool: &writeBuffers,
		Subprotocols: []string{protocol}, CheckOrigin: s.site.Origin}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		s.Opts.Logger.Debug("websocket not accepted", "err", err)
		return
	}
	s.serveConn(r, conn, protocol, start)
}

// serveConn serves a websocket until one of both ends it, or the request that it came from ends:
// whoever let that in may take it back.
func (s *Stream) serveConn(r *http.Request, conn *websocket.Conn, protocol string, start position) {
	s.Opts.Readers.Opened()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer context.AfterFunc(r.Context(), func() { cancel(errRefused) })()
	c := &reader{s: s, conn: conn, cancel: cancel, may: rightOf(r), position: start}
	s.crowd.enter(c)
	defer s.crowd.leave(c)
	c.bound()
	var reading sync.WaitGroup
	reading.Add(1)
	go func() { defer reading.Done(); c.read(ctx) }()
	var err error
	if protocol == TraceProtocol {
		err = c.sendTraces(ctx)
		if errors.Is(err, errStopping) && c.sendRest() != nil {
			err = errClient
		}
	} else {
		err = c.sendPage(ctx)
	}
	cancel(err)
	reason := c.close(context.Cause(ctx))
	_ = conn.Close() // ends the reader too
	reading.Wait()
	s.Opts.Readers.Closed(reason)
}

// wanted is the subprotocol that was asked for.
func wanted(r *http.Request) (string, *answer.Problem) {
	if !websocket.IsWebSocketUpgrade(r) {
		return "", answer.NewProblem(http.StatusUpgradeRequired, "no-websocket", "This is a websocket.",
			views.Say("Connect with the subprotocol ").Code(TraceProtocol).Plain(" to read traces; pages use ").Code(page.PageProtocol).Plain("."))
	}
	for _, p := range websocket.Subprotocols(r) {
		if p == page.PageProtocol || p == TraceProtocol {
			return p, nil
		}
	}
	return "", answer.NewProblem(http.StatusBadRequest, "unknown-subprotocol", "No known subprotocol was asked for.",
		views.Say("Send Sec-WebSocket-Protocol: ").Code(TraceProtocol).Plain("."))
}

// position is where a reader of traces begins.
type position struct {
	after     uint64
	restarted bool
}

// startOf reads after and epoch. A number of another epoch means nothing here,
// so such a reader begins with the first trace of this one, and is told.
func (s *Stream) startOf(r *http.Request) (position, *answer.Problem) {
	args := r.URL.Query()
	text, epoch := args.Get("after"), args.Get("epoch")
	if epoch != "" && epoch != s.Journal.Epoch() {
		return position{restarted: true}, nil
	}
	if text == "" {
		return position{after: s.Journal.Last()}, nil
	}
	after, err := page.Number(text)
	if err != nil && text != "0" {
		return position{}, answer.NewProblem(http.StatusBadRequest, "bad-after", "after is not the number of a trace.",
			views.Say("Give the seq of the last trace you have, or 0 for all that are kept."))
	}
	if after > s.Journal.Last() {
		return position{}, answer.NewProblem(http.StatusBadRequest, "ahead", "after is ahead of the newest trace.",
			views.Sayf("The newest is %d. A number of another run needs its epoch beside it.", s.Journal.Last()))
	}
	return position{after: after}, nil
}

// Load is what the stream has to do.
type Load struct {
	// Connections counts websockets until they are closed, Pages those that are watched,
	// Drawings what was ever drawn for them.
	Connections, Pages int
	Drawings           uint64
}

// Load is what the stream has to do now.
func (s *Stream) Load() Load {
	s.draws.mu.Lock()
	defer s.draws.mu.Unlock()
	return Load{Connections: s.crowd.places.Used(), Pages: len(s.draws.m), Drawings: s.draws.made.Load()}
}

// reader is one websocket: one goroutine reads from it, one writes to it.
type reader struct {
	s      *Stream
	conn   *websocket.Conn
	cancel context.CancelCauseFunc
	may    Right
	position

	// mu guards what the reading goroutine leaves for the writing one.
	mu   sync.Mutex
	next *Subscribe
	wake func()
}

// errors by which the two goroutines end each other.
var (
	errStopping = errors.New("the console is stopping")
	errMoved    = errors.New("this console shows another record from now on: connect again")
	errRefused  = errors.New("the right to read this has ended")
	errClient   = errors.New("closed by the client")
	errSilent   = errors.New("no sign of life")
	errSlow     = errors.New("the client does not read")
	errOversize = fmt.Errorf("a message may have at most %d bytes", MaxMessage)
	errFlood    = malformed{fmt.Sprintf("at most %d messages and pings at once and %d a second", SubscribeBurst, SubscribeRate)}
)

// malformed is what was wrong with a message.
type malformed struct{ why string }

func (e malformed) Error() string { return e.why }

// count makes pings and pongs, which gorilla answers by itself, count as messages do.
func (c *reader) count(allow func() error) {
	pong := c.conn.PingHandler()
	c.conn.SetPingHandler(func(data string) error {
		if err := allow(); err != nil {
			return err
		}
		return pong(data)
	})
	c.conn.SetPongHandler(func(string) error { c.alive(); return allow() })
}

func (c *reader) read(ctx context.Context) {
	limit := rate.NewLimiter(SubscribeRate, SubscribeBurst)
	allow := func() error {
		if limit.Allow() {
			return nil
		}
		_ = slots.Pause(ctx, FloodPause) // Sent away at once, it would be back at once.
		return errFlood
	}
	c.count(allow)
	for {
		kind, message, err := c.conn.ReadMessage()
		if err != nil {
			c.cancel(readError(err))
			return
		}
		if err := allow(); err != nil {
			c.cancel(err)
			return
		}
		sub, err := parseSubscribe(kind, message)
		if err != nil {
			c.cancel(err)
			return
		}
		c.leave(sub)
	}
}

func readError(err error) error {
	switch {
	case errors.As(err, new(malformed)):
		return err
	case errors.Is(err, websocket.ErrReadLimit):
		return errOversize
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSilent
	case websocket.IsCloseError(err, websocket.CloseProtocolError, websocket.CloseInvalidFramePayloadData):
		return malformed{"not a websocket message"}
	default:
		return errClient
	}
}

// leave puts a subscription where the writer finds it and wakes the writer.
func (c *reader) leave(sub *Subscribe) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = sub
	if c.wake != nil {
		c.wake()
	}
}

// wakes says how the writer is woken.
func (c *reader) wakes(wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = wake
}

func (c *reader) take() *Subscribe {
	c.mu.Lock()
	defer c.mu.Unlock()
	sub := c.next
	c.next = nil
	return sub
}

// wait reads the journal until something is there, the time is due, or the page
// has changed its mind. Only the end of the connection and of the journal are errors.
func (c *reader) wait(ctx context.Context, due time.Time) (batch []*telemetry.Trace, missed uint64, err error) {
	until, cancel := context.WithDeadline(ctx, due)
	defer cancel()
	c.mu.Lock()
	c.wake = cancel
	waiting := c.next == nil
	c.mu.Unlock()
	if !waiting {
		return nil, 0, nil
	}
	batch, upto, missed, err := c.s.Journal.Next(until, c.after)
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx) // c.after stays, so that sendRest sends this batch
	}
	c.after = max(c.after, upto)
	switch {
	case until.Err() != nil && err != nil:
		return nil, 0, nil
	case errors.Is(err, telemetry.ErrAhead):
		c.after = c.s.Journal.Last()
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	if missed > 0 {
		c.s.Opts.Readers.Missed(missed)
	}
	return batch, missed, nil
}

func (c *reader) write(message []byte) error {
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.s.Opts.WriteTimeout))
	return writeError(c.conn.WriteMessage(websocket.TextMessage, message))
}

// check ends a reader who may not read any more what is at a path, and else pings.
func (c *reader) check(path string) error {
	if !c.may(path) {
		return errRefused
	}
	return writeError(c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.s.Opts.WriteTimeout)))
}

func writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlow
	default:
		return errClient
	}
}

// close tells the client why, where it may still listen, and names the reason.
func (c *reader) close(cause error) string {
	code, text, reason := websocket.CloseInternalServerErr, "defect", closedError
	var bad malformed
	switch {
	case errors.Is(cause, errClient):
		return ClosedByClient
	case errors.Is(cause, errSlow):
		return ClosedSlow
	case errors.Is(cause, errSilent):
		code, text, reason = websocket.CloseGoingAway, errSilent.Error(), ClosedSilent
	case errors.Is(cause, errOversize):
		code, text, reason = websocket.CloseMessageTooBig, errOversize.Error(), ClosedOversize
	case errors.As(cause, &bad):
		code, text, reason = websocket.ClosePolicyViolation, bad.why, ClosedProtocol
	case errors.Is(cause, errRefused):
		code, text, reason = websocket.ClosePolicyViolation, errRefused.Error(), ClosedRefused
	case errors.Is(cause, errMoved):
		code, text, reason = websocket.CloseServiceRestart, errMoved.Error(), ClosedMoved
	case errors.Is(cause, errStopping), errors.Is(cause, telemetry.ErrEnded):
		code, text, reason = websocket.CloseGoingAway, errStopping.Error(), ClosedShutdown
	default:
		c.s.Opts.Logger.Error("live page", "err", cause)
	}
	_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second))
	return reason
}
