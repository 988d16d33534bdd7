package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"

	"github.com/loopscope/loopscope/telemetry"
)

// model drives our queue and a bare client-go queue with the same calls at the
// same times. Whatever the side table says must be what the bare one does.
type model struct {
	t    *testing.T
	r    *rand.Rand
	ours *Queue[string]
	bare workqueue.TypedRateLimitingInterface[string]
	// counts is what both told their metrics.
	counts counted

	keys []string
	busy []string
	log  []string
	// given and taken count the causes by key.
	given, taken map[string]int
	next         int
}

func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("%s\nstate: %+v\ncalls:\n%s", fmt.Sprintf(format, args...), m.ours.State(), strings.Join(m.log, "\n"))
}

func modelLimiter() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedMaxOfRateLimiter[string](
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 2*time.Second),
		&workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(10, 5)},
	)
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, r: rand.New(rand.NewPCG(seed, 7)), keys: []string{"a", "b", "c", "d", "e"},
		counts: counted{sum: map[string]float64{}}, given: map[string]int{}, taken: map[string]int{}}
	m.ours = New(Options[string]{Name: "ours", Metrics: &m.counts, Limiter: modelLimiter()})
	m.bare = workqueue.NewTypedRateLimitingQueueWithConfig(modelLimiter(), workqueue.TypedRateLimitingQueueConfig[string]{Name: "bare", MetricsProvider: &m.counts})
	m.ours.Start()
	return m
}

func (m *model) cause(key string) telemetry.Cause {
	m.next++
	m.given[key]++
	return telemetry.Cause{Kind: telemetry.CauseTimer, Code: fmt.Sprint(m.next)}
}

// step makes one random call on both queues.
func (m *model) step() {
	key := m.keys[m.r.IntN(len(m.keys))]
	switch n := m.r.IntN(20); {
	case n < 4:
		m.say("Enqueue %s", key)
		m.ours.Enqueue(key, m.cause(key))
		m.bare.Add(key)
	case n < 8:
		wait := time.Duration(m.r.IntN(40)-4) * 50 * time.Millisecond
		m.say("EnqueueAfter %s %v", key, wait)
		m.ours.EnqueueAfter(key, m.cause(key), wait)
		m.bare.AddAfter(key, wait)
	case n < 10:
		m.say("Retry %s", key)
		m.ours.Retry(key, m.cause(key))
		m.bare.AddRateLimited(key)
	case n < 11:
		m.say("Forget %s", key)
		m.ours.Forget(key)
		m.bare.Forget(key)
	case n < 14:
		m.get()
	case n < 17:
		m.done()
	default:
		wait := time.Duration(m.r.IntN(300)) * time.Millisecond
		m.say("%v pass", wait)
		<-time.After(wait)
	}
	synctest.Wait()
	m.check()
}

func (m *model) say(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

// get takes the key that is first in both lines, if there is one.
func (m *model) get() {
	if m.bare.Len() == 0 {
		return
	}
	var ready []string
	for _, k := range m.ours.State().Keys {
		if k.Phase == telemetry.KeyReady {
			ready = append(ready, k.Key)
		}
	}
	want, _ := m.bare.Get()
	w, _ := m.ours.Get()
	m.say("Get %s", w.Key)
	if w.Key != want || !slices.Contains(ready, want) {
		m.fail("client-go hands out %s, we %s, and the table has %v as ready", want, w.Key, ready)
	}
	if len(w.Causes) == 0 {
		m.fail("%s runs for no cause", w.Key)
	}
	m.taken[w.Key] += len(w.Causes) + w.Folded
	m.busy = append(m.busy, w.Key)
}

// done ends a random key being processed. It is ready again if, and only if, the table
// had it as dirty.
func (m *model) done() {
	if len(m.busy) == 0 {
		return
	}
	i := m.r.IntN(len(m.busy))
	key := m.busy[i]
	m.busy = slices.Delete(m.busy, i, i+1)
	m.say("Done %s", key)
	k, _ := m.ours.KeyState(key)
	before := m.bare.Len()
	m.bare.Done(key)
	m.ours.Done(key)
	if again := m.bare.Len() > before; again != (k.Phase == telemetry.KeyDirty) {
		m.fail("%s was %s, and ready again: %v", key, k.Phase, again)
	}
}

// check compares what both queues show at rest.
func (m *model) check() {
	s := m.ours.State()
	if m.ours.Len() != m.bare.Len() || s.Ready != m.bare.Len() {
		m.fail("client-go has %d ready, we %d, the table %d", m.bare.Len(), m.ours.Len(), s.Ready)
	}
	if s.Busy != len(m.busy) {
		m.fail("%v are at work, the table has %d", m.busy, s.Busy)
	}
	if adds := m.counts.get("adds", "bare"); float64(s.Adds) != adds {
		m.fail("client-go counts %v adds, the table %d", adds, s.Adds)
	}
	if retries := m.counts.get("retries", "bare"); float64(s.Errors+s.Timers) != retries {
		m.fail("client-go counts %v delayed adds, the table %d and %d", retries, s.Errors, s.Timers)
	}
	for _, k := range s.Keys {
		if !k.Due.IsZero() && !k.Due.After(time.Now()) {
			m.fail("%s should not wait any more", k.Key)
		}
		if k.Attempts != m.bare.NumRequeues(k.Key) {
			m.fail("%s has failed %d times, the table says %d", k.Key, m.bare.NumRequeues(k.Key), k.Attempts)
		}
	}
}

// finish ends all work and then lets time pass from one due time of the table
// to the next: client-go must add a key at each of them, and at no other time.
func (m *model) finish() {
	m.settle()
	for range 1000 {
		var due time.Time
		for _, k := range m.ours.State().Keys {
			if due.IsZero() || k.Due.Before(due) {
				due = k.Due
			}
		}
		if due.IsZero() {
			break
		}
		m.say("until %v before the next is due", time.Nanosecond)
		<-time.After(time.Until(due) - 1)
		synctest.Wait()
		if m.check(); m.bare.Len() != 0 {
			m.fail("client-go has a key before the table's next due time %v", due)
		}
		<-time.After(1)
		synctest.Wait()
		if m.check(); m.bare.Len() == 0 {
			m.fail("client-go has no key at the table's due time %v", due)
		}
		m.settle()
	}
	<-time.After(time.Hour)
	synctest.Wait()
	if m.bare.Len() != 0 || len(m.ours.State().Keys) != 0 {
		m.fail("client-go has %d ready after everything was due", m.bare.Len())
	}
	for key, n := range m.given {
		if m.taken[key] != n {
			m.fail("%d causes of %s were given and %d came out", n, key, m.taken[key])
		}
	}
}

// settle works until nothing is ready or being processed, and forgets failures.
func (m *model) settle() {
	for m.bare.Len() > 0 || len(m.busy) > 0 {
		m.get()
		m.done()
	}
	for _, key := range m.keys {
		m.ours.Forget(key)
		m.bare.Forget(key)
	}
	m.check()
}

func TestTableEqualsClientGo(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(t, seed)
			m.say("seed %d", seed)
			defer m.bare.ShutDown()
			defer m.ours.ShutDown()
			for range 300 {
				m.step()
			}
			m.finish()
		})
		if t.Failed() {
			return
		}
	}
}

// Producers and workers run freely. At the end every cause has come out once,
// no key was with two workers ([W-1]), and the table is empty.
func TestManyProducersAndWorkers(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		manyProducersAndWorkers(t, seed)
	}
}

func manyProducersAndWorkers(t *testing.T, seed uint64) {
	const producers, workers, each, keys = 6, 4, 2000, 7
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
		var mu sync.Mutex
		busy, out := map[string]bool{}, 0
		var working, producing sync.WaitGroup
		var seq uint64
		for range workers {
			working.Go(func() {
				for w, shutdown := q.Get(); !shutdown; w, shutdown = q.Get() {
					mu.Lock()
					if busy[w.Key] {
						t.Errorf("%s is with two workers", w.Key)
					}
					if len(w.Causes) == 0 && w.TakenBy == 0 {
						t.Errorf("a sync of %s without a cause, and nobody took it", w.Key)
					}
					busy[w.Key] = true
					out += len(w.Causes) + w.Folded
					seq++
					q.Taken(w.Key, seq)
					mu.Unlock()
					if len(w.Causes) > 3 {
						<-time.After(time.Millisecond)
					}
					mu.Lock()
					busy[w.Key] = false
					mu.Unlock()
					q.Done(w.Key)
				}
			})
		}
		for p := range producers {
			producing.Go(func() { produce(q, seed*producers+uint64(p), each, keys) })
		}
		producing.Wait()
		pass(time.Hour)
		if s := q.State(); len(s.Keys) != 0 {
			t.Errorf("seed %d: left in the table: %+v", seed, s)
		}
		q.ShutDown()
		working.Wait()
		if out != producers*each {
			t.Errorf("seed %d: %d causes came out of %d", seed, out, producers*each)
		}
	})
}

func produce(q *Queue[string], seed uint64, n, keys int) {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range n {
		key := fmt.Sprint(r.IntN(keys))
		c := telemetry.Cause{Kind: telemetry.CauseTimer, Code: fmt.Sprintf("%d-%d", seed, i)}
		switch r.IntN(6) {
		case 0:
			q.EnqueueAfter(key, c, time.Duration(r.IntN(20))*time.Millisecond)
		case 1:
			q.Retry(key, c)
			q.Forget(key)
		case 2:
			q.State()
			q.Enqueue(key, c)
			// Never for no time at all: timers of a bubble that are due at once are run by whoever waits for
			// them, and two that do so at once crash the race detector of Go 1.26.
			<-time.After(time.Duration(1+r.IntN(3)) * time.Millisecond)
		default:
			q.Enqueue(key, c)
		}
	}
}
