package secure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// readWithin is how long a request's body may take to arrive, writeWithin its answer to be written.
	readWithin, writeWithin = 10 * time.Second, 30 * time.Second
	// admitWithin is how long the API server may take to say again who somebody is and may what.
	admitWithin = 10 * time.Second
)

// bounded limits how long whoever is at the other end may take. Where nothing is to arrive any more
// there is no limit to reading: net/http would take its end for that of the reader, and end the
// context of a request that is still being answered.
func bounded(next http.Handler, read, write time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var arrived time.Time
		if r.Body != http.NoBody {
			arrived = time.Now().Add(read)
		}
		until(w, arrived, time.Now().Add(write))
		next.ServeHTTP(w, r)
	})
}

// unbounded lets a profile take the time that was asked for by somebody who may have one.
func unbounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/debug/pprof/") {
			until(w, time.Time{}, time.Time{})
		}
		next.ServeHTTP(w, r)
	})
}

func until(w http.ResponseWriter, read, write time.Time) {
	c := http.NewResponseController(w)
	_, _ = c.SetReadDeadline(read), c.SetWriteDeadline(write) // They fail where there is no connection: in a test.
}

// routed has a request routed by the path that was authorized. A router that looked at the escaped
// path could find another handler than the one that was meant.
func routed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.RawPath = ""
		next.ServeHTTP(w, r)
	})
}

// original is the key of a request as it came.
type original struct{}

// asked keeps a request as it came: on its way in, what authenticates it is taken away.
func asked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), original{}, r.Clone(context.Background()))))
	})
}

// watched ends the context of a websocket whose reader may not read any more.
func (p *Port) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		was, kept := r.Context().Value(original{}).(*http.Request)
		if !kept || !websocket.IsWebSocketUpgrade(r) {
			next.ServeHTTP(w, r)
			return
		}
		ctx, end := context.WithCancelCause(r.Context())
		defer end(nil)
		go func() { end(p.admitted(ctx, was)) }()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// admitted returns when a request would not be let in again, and why not, or when ctx ends.
func (p *Port) admitted(ctx context.Context, was *http.Request) error {
	tick := time.NewTicker(p.recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := p.admit(ctx, was); err != nil {
				return err
			}
		}
	}
}

// admit authenticates and authorizes a request once more. It fails closed: where nobody can be
// asked, nobody is let in.
func (p *Port) admit(ctx context.Context, was *http.Request) error {
	ctx, cancel := context.WithTimeout(ctx, admitWithin)
	defer cancel()
	who, ok, err := p.authentication.Authenticator.AuthenticateRequest(was.Clone(ctx))
	if err != nil || !ok {
		return errors.Join(errors.New("its credentials are not valid any more"), err)
	}
	attributes, err := filters.GetAuthorizerAttributes(request.WithUser(ctx, who.User))
	if err != nil {
		return err
	}
	decision, reason, err := p.authorization.Authorizer.Authorize(ctx, attributes)
	if decision != authorizer.DecisionAllow {
		return errors.Join(fmt.Errorf("it may not read this any more: %s", reason), err)
	}
	return nil
}
