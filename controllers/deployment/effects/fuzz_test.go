package effects

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// FuzzObserveDeployments fills the caches with whatever objects an API server might hold,
// however little of them is set, and lets the loop observe, decide, settle and tell each.
// None may panic, and a second look at the same caches is the same.
func FuzzObserveDeployments(f *testing.F) {
	for _, seed := range lab.Seeds() {
		data, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	caches := newDeploymentCachesWith(f, engine.Options{Clock: clocktesting.NewFakeClock(time.Date(2026, 11, 21, 3, 13, 0, 0, time.UTC))})
	observe := func(ctx context.Context, key string) (*deploymentSync, error) {
		seen, err := caches.deployments.Observe(ctx, key)
		if err != nil {
			return nil, err
		}
		return seen.(*deploymentSync), nil
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c lab.Contents
		if json.Unmarshal(data, &c) != nil {
			return
		}
		caches.Fill(t, c)
		for _, key := range caches.StoreOf((*appsv1.Deployment)(nil)).ListKeys() {
			lab.Look(t, key, observe, func(x *deploymentSync) any { return x.s })
		}
	})
}
