package app

import (
	"fmt"
	"net/http"
)

// readOnly lets nothing through but reads. Loops that watch write nothing; this
// is the second lock on the same door, and rights that allow no more the third.
type readOnly struct{ next http.RoundTripper }

// RoundTrip refuses whatever is no read.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		return nil, fmt.Errorf("%s %s is refused: this process only watches", request.Method, request.URL.Path)
	}
	return r.next.RoundTrip(request)
}
