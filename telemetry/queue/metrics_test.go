package queue

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
)

// counted is a metrics provider that counts what it is told, for every queue by name.
type counted struct {
	mu  sync.Mutex
	sum map[string]float64
}

type tally struct {
	all  *counted
	name string
}

func (c tally) add(v float64)     { c.all.mu.Lock(); defer c.all.mu.Unlock(); c.all.sum[c.name] += v }
func (c tally) Inc()              { c.add(1) }
func (c tally) Dec()              { c.add(-1) }
func (c tally) Set(float64)       {}
func (c tally) Observe(v float64) { c.add(v) }

func (c *counted) of(metric, queue string) tally { return tally{c, metric + " " + queue} }
func (c *counted) get(metric, queue string) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum[metric+" "+queue]
}
func (c *counted) NewDepthMetric(n string) workqueue.GaugeMetric       { return c.of("depth", n) }
func (c *counted) NewAddsMetric(n string) workqueue.CounterMetric      { return c.of("adds", n) }
func (c *counted) NewLatencyMetric(n string) workqueue.HistogramMetric { return c.of("latency", n) }
func (c *counted) NewRetriesMetric(n string) workqueue.CounterMetric   { return c.of("retries", n) }
func (c *counted) NewWorkDurationMetric(n string) workqueue.HistogramMetric {
	return c.of("work", n)
}
func (c *counted) NewUnfinishedWorkSecondsMetric(n string) workqueue.SettableGaugeMetric {
	return c.of("unfinished", n)
}
func (c *counted) NewLongestRunningProcessorSecondsMetric(n string) workqueue.SettableGaugeMetric {
	return c.of("longest", n)
}

func TestQueueTellsItsProvider(t *testing.T) {
	c := &counted{sum: map[string]float64{}}
	inBubble(t, Options[string]{Name: "deployment", Metrics: c}, func(t *testing.T, q *Queue[string]) {
		q.Enqueue("web", saw("one"))
		q.Enqueue("web", saw("two"))
		q.EnqueueAfter("web", timer("deadline"), time.Minute)
		q.Retry("other", timer("refused"))
		pass(2 * time.Second)
		q.Get()
		pass(3 * time.Second)
		q.Done("web")
		got := map[string]float64{}
		for _, m := range []string{"depth", "adds", "latency", "work", "retries"} {
			got[m] = c.get(m, "deployment")
		}
		want := map[string]float64{"depth": 1, "adds": 2, "latency": 2, "work": 3, "retries": 2}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}
