package controllers

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// A Deployment of which nothing changes and nothing is refused says that its namespace is
// being deleted.
func TestNamespaceEndWakesDeployments(t *testing.T) {
	d := lab.Deployment("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
	d.Spec.Replicas = new(int32)
	client := fake.NewClientset(d)
	names, watches := lab.Namespaces(t, lab.Namespace("shop", "1", time.Time{}))
	seen := &lab.Recording{}
	f := informers.NewSharedInformerFactory(client, 0)
	ctx, end := context.WithCancel(t.Context())
	loop := construct(t, ctx, client, f, engine.Options{Mode: engine.Watch, Metadata: names, Recorder: seen})[0]
	ended := make(chan error, 1)
	f.Start(ctx.Done())
	go func() { ended <- loop.Run(ctx, 1) }()
	said := func() string {
		if all := seen.All(); len(all) > 0 {
			return all[len(all)-1].Sentence.Code
		}
		return ""
	}
	lab.Eventually(t, "the Deployment is never synced", func() bool { return said() != "" })
	if code := said(); code == "namespace-terminating" {
		t.Error("its namespace ends already")
	}
	lab.Within(t, watches, "watch of namespaces").Modify(lab.Namespace("shop", "1", time.Now()))
	lab.Eventually(t, "the Deployment never says that its namespace ends", func() bool { return said() == "namespace-terminating" })
	end()
	if err := lab.Within(t, ended, "end of the loop"); err != nil {
		t.Error(err)
	}
	f.Shutdown()
}
