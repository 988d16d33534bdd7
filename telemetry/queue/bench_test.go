package queue

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
)

// BenchmarkQueue is a key's way through the queue, and through client-go's
// alone: the difference is what the side table costs a sync.
func BenchmarkQueue(b *testing.B) {
	b.Run("client-go", func(b *testing.B) {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer q.ShutDown()
		b.ReportAllocs()
		for b.Loop() {
			q.Add("shop/web")
			q.Get()
			q.Done("shop/web")
		}
	})
	b.Run("with causes", func(b *testing.B) {
		q := New(Options[string]{})
		q.Start()
		defer q.ShutDown()
		cause := saw("Deployment web")
		b.ReportAllocs()
		for b.Loop() {
			q.Enqueue("shop/web", cause)
			q.Get()
			q.Done("shop/web")
		}
	})
}
