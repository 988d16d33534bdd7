package telemetry

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// ShadowStalls is how long something may be due before pages say that nobody has written it.
const ShadowStalls = 30 * time.Second

// Stall is what has been due for longer than ShadowStalls. The zero value is nothing.
type Stall struct {
	Decisions int `json:"decisions"`
	// Since is when the first of them became due.
	Since time.Time `json:"since"`
	// Manager is the other controller, and Wrote when it last made a change that was seen; zero for none.
	Manager string    `json:"manager"`
	Wrote   time.Time `json:"wrote,omitzero"`
}

// Idle reports whether the other controller has written nothing else lately either.
func (s *Stall) Idle(now time.Time) bool { return now.Sub(s.Wrote) > ShadowStalls }

// dueWrites are what nobody has written yet. It has a lock of its own: comparing takes its time, and pages do not
// wait for it.
type dueWrites struct {
	mu      sync.RWMutex
	of      map[Object]dueOf
	below   map[Object]map[Object]bool // by the object that controls them
	manager string
	wrote   time.Time
}

// dueOf is what is due of an object. Nobody changes the list.
type dueOf struct {
	owner Object
	list  map[string]Difference
}

func newDueWrites() *dueWrites {
	return &dueWrites{of: map[Object]dueOf{}, below: map[Object]map[Object]bool{}, manager: ControllerManager}
}

// get is what is due of an object, by what it is.
func (d *dueWrites) get(o Object) map[string]Difference {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.of[o].list
}

// put is called for every sync, by one at a time.
func (d *dueWrites) put(o, owner Object, list map[string]Difference) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if was, known := d.of[o]; known {
		delete(d.of, o)
		if delete(d.below[was.owner], o); len(d.below[was.owner]) == 0 {
			delete(d.below, was.owner)
		}
	}
	if len(list) == 0 || len(d.of) >= maxPredictions {
		return
	}
	d.of[o] = dueOf{owner, list}
	if owner.Name == "" {
		return
	}
	if d.below[owner] == nil {
		d.below[owner] = map[Object]bool{}
	}
	d.below[owner][o] = true
}

func (d *dueWrites) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.of)
	clear(d.below)
}

// seen notes a change that the other controller made.
func (d *dueWrites) seen(c *Cause) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if names := c.Managers(); len(names) == 1 && c.At.After(d.wrote) {
		d.manager, d.wrote = names[0], c.At
	}
}

// late is what has been due for longer than that.
func (d *dueWrites) late(now time.Time, within time.Duration, over []Outage) (list []Difference) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, due := range d.of {
		for _, x := range due.list {
			if now.Sub(x.dueFrom(over, within)) > within {
				list = append(list, x)
			}
		}
	}
	return list
}

// dueFrom is from when it counts as due: the end of an outage before which it had not been due for that long.
func (d *Difference) dueFrom(over []Outage, within time.Duration) time.Time {
	at := d.At
	for i := range over {
		if at.Before(over[i].Ended) && over[i].Began.Sub(at) <= within {
			at = over[i].Ended
		}
	}
	return at
}

func (s *Shadow) outages() []Outage {
	if s.Outages == nil {
		return nil
	}
	return s.Outages()
}

// Due is what nobody has written yet of an object and of those that it controls, with the other controller as the
// Manager, and At as from when it counts as due: its own first, sizes before statuses, and of each the oldest. It takes
// no longer while something is compared.
func (s *Shadow) Due(o Object) (list []Difference) {
	d, over := s.due, s.outages()
	d.mu.RLock()
	defer d.mu.RUnlock()
	take := func(of Object) {
		for _, x := range d.of[of].list {
			x.Manager, x.At = d.manager, x.dueFrom(over, ShadowStalls)
			list = append(list, x)
		}
	}
	take(o)
	for child := range d.below[o] {
		take(child)
	}
	slices.SortFunc(list, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.urgency(o), b.urgency(o)), a.At.Compare(b.At), strings.Compare(a.Object.Key(), b.Object.Key()), strings.Compare(string(a.Aspect)+a.Target, string(b.Aspect)+b.Target))
	})
	return list
}

// urgency is its place among what is due of an object.
func (d *Difference) urgency(o Object) (n int) {
	if d.Object != o {
		n += 2
	}
	if d.Publishes() {
		n++
	}
	return n
}

// Publishes reports whether it is what an object tells of itself.
func (d *Difference) Publishes() bool {
	p := decision.Prediction{Predictable: d.Predictable}
	return goesUnsigned(&p)
}

// Stall is what has been due for longer than ShadowStalls at that time.
func (s *Shadow) Stall(now time.Time) Stall {
	over := s.outages()
	late := s.due.late(now, ShadowStalls, over)
	if len(late) == 0 {
		return Stall{}
	}
	since := now
	for i := range late {
		if at := late[i].dueFrom(over, ShadowStalls); at.Before(since) {
			since = at
		}
	}
	s.due.mu.RLock()
	defer s.due.mu.RUnlock()
	return Stall{Decisions: len(late), Since: since, Manager: s.due.manager, Wrote: s.due.wrote}
}
