package whatif

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/slots"
	"github.com/loopscope/loopscope/web/subject"
)

// TestWhatIfBusy: whoever comes while others plan waits, and is then told so.
func TestWhatIfBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := crowded(), &page.Query{Ctx: t.Context()}
		x := &subject.Subject{Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}}
		leave, err := s.simulate(q, x)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := s.simulate(q, x); err == nil || !strings.Contains(err.Error(), "busy") || time.Since(began) != simulationWait {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		go func() { time.Sleep(simulationWait / 2); leave() }()
		if leave, err = s.simulate(q, x); err != nil {
			t.Errorf("in its turn: %v", err)
		}
		leave()
	})
}

// TestManyPlansWait: plans that are asked for at once are made one after the other.
func TestManyPlansWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowded()
		x := &subject.Subject{Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}}
		answers := make(chan error)
		const readers = 64
		for range readers {
			go func() {
				q := &page.Query{Ctx: t.Context()}
				var err error
				if q.Slot, err = s.Slots.Request(q.Ctx); err != nil {
					answers <- err
					return
				}
				defer q.Slot.Release()
				leave, err := s.simulate(q, x)
				if err == nil {
					for range 50 { // half a second, as long as a plan for some 500 pods takes
						time.Sleep(10 * time.Millisecond)
						err = errors.Join(err, q.Slot.Yield(q.Ctx))
					}
					leave()
				}
				answers <- err
			}()
		}
		for range readers {
			if err := <-answers; err != nil {
				t.Errorf("turned away: %v", err)
			}
		}
	})
}

// crowded makes one plan at a time, and knows nothing else.
func crowded() *Pages {
	return NewPages(subject.NewFinder(&page.Maker{Slots: slots.New(func() uint64 { return 0 })}), NewPlaces())
}
