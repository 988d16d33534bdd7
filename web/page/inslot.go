package page

import (
	"net/http"

	"github.com/loopscope/loopscope/web/answer"
)

// InSlot lets a handler answer into memory while it has a slot, so that none is held
// by a reader who takes its answer slowly.
func (s *Maker) InSlot(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		place, err := s.Slots.Request(r.Context())
		if err != nil {
			s.Fail(w, r, true, err)
			return
		}
		a := answer.Blank()
		func() {
			defer place.Release()
			next.ServeHTTP(a, r)
		}()
		a.Send(w, r)
	}
}
