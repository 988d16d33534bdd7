package app

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// waitingTransport lets a read wait where nobody listens, until a probe has found the API
// server again or the reader gives up. A reflector that is told of each refusal
// doubles its back-off up to a minute, and goes on with the caches of before for
// that long after the API server has come back. A refused connection has carried
// nothing, so the read may be sent again.
type waitingTransport struct {
	next http.RoundTripper
	// answers gives a channel that closes after the next probe that succeeds.
	answers func() <-chan struct{}
}

// RoundTrip sends the request, again if it has to.
func (p waitingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	for {
		answers := p.answers()
		response, err := p.next.RoundTrip(request)
		if err == nil || request.Method != http.MethodGet || !utilnet.IsConnectionRefused(err) {
			return response, err
		}
		select {
		case <-answers:
		case <-request.Context().Done():
			return nil, err
		}
	}
}
