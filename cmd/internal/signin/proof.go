package signin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// challengeHeader asks a console to prove that it has the token, at any path. It is answered with
	// proofHeader and nothing else.
	challengeHeader, proofHeader = "Loopscope-Challenge", "Loopscope-Proof"
	// longestChallenge is how many characters are signed. Ours have 26, which is 130 bits.
	longestChallenge = 64
	// proveWithin is how long a console may take to answer one.
	proveWithin = 5 * time.Second
)

// ErrImpostor is where what answers at the address of a console does not have its token.
var ErrImpostor = errors.New("what answers there does not know the token of the console")

// proof is what only somebody who has the token can make of a challenge. The address, of an IP and a port,
// is that at which the console was asked: a program at another one that has the console answer for it
// proves nothing.
func proof(token, address, challenge string) string {
	sum := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(sum, "loopscope console proof\n%s\n%s", address, challenge)
	return hex.EncodeToString(sum.Sum(nil))
}

// prove answers a challenge. Whoever asks may be anybody, and learns nothing of a token that cannot be guessed.
func (d *Door) prove(w http.ResponseWriter, r *http.Request, challenge string) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	switch {
	case local == nil:
		http.Error(w, "This console has no address.", http.StatusBadRequest)
		return
	case len(challenge) > longestChallenge:
		http.Error(w, fmt.Sprintf("%s takes at most %d characters.", challengeHeader, longestChallenge), http.StatusBadRequest)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set(proofHeader, proof(d.token, local.String(), challenge))
	w.WriteHeader(http.StatusNoContent)
}

// Known connects to a console on this machine and has it prove that it has the token. The transport
// uses that connection alone: a program that takes the port afterwards is sent nothing. The error is
// ErrImpostor, or why there is no answer. Nothing is left open once a request with Close has been answered.
func Known(ctx context.Context, console, token string) (*http.Transport, error) {
	u, err := url.Parse(console)
	if err != nil {
		return nil, fmt.Errorf("address of the console: %w", err)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	once := make(chan net.Conn, 1)
	once <- conn
	t := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		select {
		case conn := <-once:
			return conn, nil
		default:
			return nil, errors.New("the connection to the console has ended")
		}
	}}
	if err := proven(ctx, t, u, conn.RemoteAddr().String(), token); err != nil {
		_ = conn.Close() // The transport may have closed it.
		return nil, err
	}
	return t, nil
}

// proven has a console prove that it has the token, and is at an address itself.
func proven(ctx context.Context, t http.RoundTripper, console *url.URL, address, token string) error {
	ctx, cancel := context.WithTimeout(ctx, proveWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, console.String(), nil)
	if err != nil {
		return err
	}
	challenge := rand.Text()
	r.Header.Set(challengeHeader, challenge)
	answer, err := t.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if !same(answer.Header.Get(proofHeader), proof(token, address, challenge)) {
		return ErrImpostor
	}
	return nil
}
