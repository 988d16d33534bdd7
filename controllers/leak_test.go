package controllers

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
	"github.com/loopscope/loopscope/telemetry"
)

// construct builds the three loops as a program of somebody else would.
func construct(t *testing.T, ctx context.Context, client kubernetes.Interface, f informers.SharedInformerFactory, opts engine.Options) []*engine.Loop {
	t.Helper()
	opts.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	ds, sets, pods := f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods()
	d, err := deployments.New(ctx, ds, sets, pods, client, opts)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := replicasets.New(ctx, sets, pods, client, opts)
	if err != nil {
		t.Fatal(err)
	}
	rc, err := replicasets.NewReplicationController(ctx, f.Core().V1().ReplicationControllers(), pods, client, opts)
	if err != nil {
		t.Fatal(err)
	}
	return []*engine.Loop{d, rs, rc}
}

// [C-1]: a constructor starts no goroutine, also
// where its context ends and Run is never called; keys that were enqueued do not
// start one either.
func TestConstructorsStartNothing(t *testing.T) {
	client := fake.NewClientset()
	f := informers.NewSharedInformerFactory(client, 0)
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	for _, l := range construct(t, ctx, client, f, engine.Options{}) {
		l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseAdded})
		if keys := l.State().Queue.Keys; len(keys) != 1 {
			t.Errorf("%s: %d keys wait for Run, want 1", l.Name(), len(keys))
		}
	}
	goleak.VerifyNone(t, before)
	cancel()
	goleak.VerifyNone(t, before)
}

// The same rule: Run leaves nothing behind after its context ended, whether its
// caches were filled and there was work, or no API server ever answered.
func TestRunLeavesNothingBehind(t *testing.T) {
	refused := refusingClient(t)
	for _, c := range []struct {
		name   string
		client kubernetes.Interface
		synced bool
	}{
		{"with caches and work to do", fake.NewClientset(lab.Deployment("web", "d", "RollingUpdate"), lab.ReplicationController("web", "r", "1", 3)), true},
		{"with no API server", refused, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			traces := &lab.Recording{}
			f := informers.NewSharedInformerFactory(c.client, 0)
			ctx, cancel := context.WithCancel(t.Context())
			loops := construct(t, ctx, c.client, f, engine.Options{Recorder: traces})
			f.StartWithContext(ctx)
			ended := make(chan error, len(loops))
			for _, l := range loops {
				go func() { ended <- l.Run(ctx, 3) }()
			}
			if c.synced {
				until(t, "pods of the ReplicationController and a ReplicaSet of the Deployment", func() error { return worked(t.Context(), c.client) })
			}
			cancel()
			for range loops {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			f.Shutdown()
			goleak.VerifyNone(t, before)
			if c.synced == (len(traces.All()) == 0) {
				t.Errorf("%d syncs were recorded", len(traces.All()))
			}
		})
	}
}

func worked(ctx context.Context, client kubernetes.Interface) error {
	pods, err := client.CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	sets, err := client.AppsV1().ReplicaSets("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	events, err := client.CoreV1().Events("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(pods.Items) == 0 || len(sets.Items) == 0 || len(events.Items) == 0 {
		return fmt.Errorf("%d pods, %d ReplicaSets and %d events", len(pods.Items), len(sets.Items), len(events.Items))
	}
	return nil
}

// refusingClient is of an API server that is not there.
func refusingClient(t *testing.T) kubernetes.Interface {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// until asks every few milliseconds, for a minute at most.
func until(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		}
	}
}
