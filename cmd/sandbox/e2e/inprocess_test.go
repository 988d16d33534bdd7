package e2e_test

import (
	"context"
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
	"github.com/loopscope/loopscope/telemetry/changes"
)

// runLoops runs both loops inside the test until it ends. What they see goes
// through see first, so that a test can lie to them.
func runLoops(t *testing.T, config *rest.Config, see cache.TransformFunc) {
	t.Helper()
	runLoopsAs(t, "loopscope", config, see)
}

// runLoopsAs runs them under the name of a field manager.
func runLoopsAs(t *testing.T, manager string, config *rest.Config, see cache.TransformFunc) {
	t.Helper()
	config = rest.CopyConfig(config)
	config.UserAgent = manager + "/test in-process"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("build client: %v", err)
	}
	managers := changes.NewManagers()
	both := func(object any) (any, error) {
		object, err := managers.Strip(object)
		if err != nil || see == nil {
			return object, err
		}
		return see(object)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(both))
	options := engine.Options{Managers: managers, Ledger: engine.NewLedger(clock.RealClock{}), Signature: manager}
	ctx, cancel := context.WithCancel(context.Background())
	ds, sets, pods := factory.Apps().V1().Deployments(), factory.Apps().V1().ReplicaSets(), factory.Core().V1().Pods()
	d, err := deployments.New(ctx, ds, sets, pods, client, options)
	if err != nil {
		t.Fatalf("deployment loop: %v", err)
	}
	r, err := replicasets.New(ctx, sets, pods, client, options)
	if err != nil {
		t.Fatalf("replicaset loop: %v", err)
	}
	factory.StartWithContext(ctx)
	ended := make(chan error, 2)
	go func() { ended <- d.Run(ctx, 5) }()
	go func() { ended <- r.Run(ctx, 5) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("a loop ended with %v", err)
			}
		}
		factory.Shutdown()
	})
}
