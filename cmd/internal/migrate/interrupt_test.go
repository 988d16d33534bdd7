package migrate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// cutOff interrupts the next write of ReplicationControllers, which is taken all the same.
func cutOff(client *fake.Clientset, verb string, interrupt func()) {
	client.PrependReactor(verb, "replicationcontrollers", func(a clienttesting.Action) (bool, runtime.Object, error) {
		defer interrupt()
		switch x := a.(type) {
		case clienttesting.UpdateActionImpl:
			return true, nil, errors.Join(client.Tracker().Update(x.GetResource(), x.GetObject(), x.GetNamespace()), context.Canceled)
		case clienttesting.DeleteActionImpl:
			return true, nil, errors.Join(client.Tracker().Delete(x.GetResource(), x.GetNamespace(), x.GetName()), context.Canceled)
		}
		return false, nil, nil
	})
}

// TestWhereAnInterruptLeavesThings is told of what the last write has made of them.
func TestWhereAnInterruptLeavesThings(t *testing.T) {
	const goesOn = ". The same command continues, and --undo --write goes back"
	for _, c := range []struct {
		name   string
		steps  int // that are taken before
		verb   string
		unread bool // once it is interrupted
		want   string
	}{
		{"the record", 0, "update", false, "the ReplicationController owns the pods" + goesOn},
		{"the release", 2, "update", false, "the ReplicationController is letting go of its pods, and nobody replaces one that ends" + goesOn},
		{"the release, and no answer after it", 2, "update", true, "the cluster cannot be read any more; when last read, the ReplicationController owns the pods, and a step that was begun since may have been taken" + goesOn},
		{"the deletion", 7, "delete", false, "the ReplicationController is gone. The same command continues"},
		{"the deletion, and no answer after it", 7, "delete", true, "the cluster cannot be read any more; when last read, the ReplicaSet owns the pods, and a step that was begun since may have been taken" + goesOn + " unless the ReplicationController has been deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &model{Cluster: scene(3), clock: metav1.Now()}
			for range c.steps {
				for _, w := range next(m.Cluster, there).Writes {
					m.apply(&w)
				}
				m.rest()
			}
			ctx, interrupt := context.WithCancel(t.Context())
			client := clientWithout(m.Cluster, nil)
			cutOff(client, c.verb, interrupt)
			client.PrependReactor("get", "replicationcontrollers", func(clienttesting.Action) (bool, runtime.Object, error) {
				return c.unread && ctx.Err() != nil, nil, errors.New("refused")
			})
			_, err := (&Migration{client: client, namespace: "shop", options: *there, say: func(Step) {}}).Run(ctx)
			if want := "interrupted\nWhere it stands: " + c.want; err == nil || err.Error() != want {
				t.Errorf("it says\n%v, want\n%s", err, want)
			}
		})
	}
}

// TestInterruptWhileTheControllerIsBeingDeleted: there is no way back then, and none is told. An API server keeps
// what is deleted until the garbage collector has made orphans of what it owns.
func TestInterruptWhileTheControllerIsBeingDeleted(t *testing.T) {
	_, _, c := steps(scene(3), thereTo)
	ctx, interrupt := context.WithCancel(t.Context())
	client := clientWithout(c, nil)
	client.PrependReactor("delete", "replicationcontrollers", func(a clienttesting.Action) (bool, runtime.Object, error) {
		defer interrupt()
		rc := c.Controller.DeepCopy()
		rc.DeletionTimestamp, rc.Finalizers = new(metav1.Now()), []string{metav1.FinalizerOrphanDependents}
		return true, nil, client.Tracker().Update(a.GetResource(), rc, a.GetNamespace())
	})
	_, err := (&Migration{client: client, namespace: "shop", options: *there, say: func(Step) {}}).Run(ctx)
	if want := "interrupted\nWhere it stands: the ReplicationController is being deleted. The same command continues"; err == nil || err.Error() != want {
		t.Errorf("it says\n%v, want\n%s", err, want)
	}
}

// TestInterruptWhileSomebodyElseDeletesTheController tells what becomes of the pods, and continues nothing that has
// no end.
func TestInterruptWhileSomebodyElseDeletesTheController(t *testing.T) {
	const (
		nothing   = ". The same command cannot continue, as no Deployment has taken the pods over, and there is no way back: a ReplicationController that is created again as it was before the migration adopts the pods that have no owner"
		continues = ". The same command continues"
		deleted   = "the ReplicationController is being deleted"
	)
	for _, c := range []struct {
		name  string
		steps int // that are taken before
		free  int // pods that the garbage collector has made orphans
		undo  bool
		want  string
	}{
		{"before anything", 0, 0, false, deleted + " and replaces no pod that ends" + nothing},
		{"before the release", 2, 0, false, deleted + " and replaces no pod that ends" + nothing},
		{"while it lets go", 2, 1, false, deleted + ", it still owns 2 pods, a pod has no owner, and nobody replaces one that ends" + nothing},
		{"after the release", 3, 0, false, deleted + ", 3 pods have no owner, and nobody replaces one that ends" + nothing},
		{"after the release, on the way back", 3, 0, true, deleted + ", 3 pods have no owner, and nobody replaces one that ends" + nothing},
		{"with a sealed ReplicaSet", 4, 0, false, deleted + ", and the ReplicaSet, which owns the pods, cannot replace one yet" + nothing},
		{"with a ReplicaSet", 5, 0, false, deleted + nothing},
		{"with a Deployment", 6, 0, false, deleted + continues},
		{"with a Deployment, on the way back", 6, 0, true, deleted + ". There is no way back any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &model{Cluster: scene(3), clock: metav1.Now()}
			for range c.steps {
				for _, w := range next(m.Cluster, there).Writes {
					m.apply(&w)
				}
				m.rest()
			}
			m.Controller.DeletionTimestamp, m.Controller.Finalizers = &m.clock, []string{metav1.FinalizerOrphanDependents}
			for i := range c.free {
				m.Pods[i].OwnerReferences = nil
			}
			o := *there
			o.Undo = c.undo
			left := (&Migration{client: clientWithout(m.Cluster, nil), namespace: "shop", options: o}).left(t.Context(), context.Canceled)
			if want := "interrupted\nWhere it stands: " + c.want; left.Error() != want {
				t.Errorf("it says\n%v, want\n%s", left, want)
			}
			kind := Blocked
			if strings.HasSuffix(c.want, continues) {
				kind = Wait
			}
			if s := next(m.Cluster, &o); s.Kind != kind {
				t.Errorf("the same command: %s %q, want %s", s.Kind, s.Text, kind)
			}
		})
	}
}

// TestGoneTooEarly: the same command continues without the ReplicationController if a Deployment has its pods.
func TestGoneTooEarly(t *testing.T) {
	_, _, c := steps(scene(3), there)
	for _, taken := range []bool{true, false} {
		if !taken {
			c.Deployment = nil
		}
		m := Migration{now: c, options: *there}
		if got, s := m.goesOn(), next(c, there); strings.HasPrefix(got, "the same command continues") != taken || (s.Kind == Done) != taken {
			t.Errorf("taken %t: %q, and it ends with %s %q", taken, got, s.Kind, s.Text)
		}
	}
}

// TestGoneBeforeTheDeploymentIsResumed: it is resumed by whoever has deleted the ReplicationController too early.
func TestGoneBeforeTheDeploymentIsResumed(t *testing.T) {
	_, _, c := steps(scene(3), there)
	c.Deployment.Spec.Paused, c.Deployment.Labels[pausedKey] = true, "migrate"
	if s := next(c, there); s.Kind != Blocked || !strings.Contains(s.Text, "is still paused, as the migration has created it: `kubectl -n shop rollout resume deployment/web` ends that") {
		t.Errorf("%s %q", s.Kind, s.Text)
	}
	c.Deployment.Spec.Paused = false
	if s := next(c, there); s.Kind != Done || strings.Contains(s.Text, "paused") {
		t.Errorf("once it is resumed: %s %q", s.Kind, s.Text)
	}
}

// TestPlanIsInterrupted: what cannot be listed any more then is not in the way.
func TestPlanIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	client := clientWithout(scene(3), nil)
	client.PrependReactor("list", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		interrupt()
		return true, nil, context.Canceled
	})
	p, err := (&Migration{client: client, namespace: "shop", options: *there}).Plan(ctx)
	if p != nil || err == nil || !strings.HasPrefix(err.Error(), "rc/web: interrupted") {
		t.Errorf("it plans %+v, %v", p, err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestWritesAreNotCutOff by an interrupt, but for one that is not answered for long.
func TestWritesAreNotCutOff(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			config := &rest.Config{Host: "http://api", Transport: transport(func(r *http.Request) (*http.Response, error) {
				interrupt()
				if silent {
					<-r.Context().Done()
				}
				if err := r.Context().Err(); err != nil {
					return nil, err
				}
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"kind":"ReplicationController","apiVersion":"v1"}`))}, nil
			})}
			m, err := New(config, "shop", *there, nil)
			if err != nil {
				t.Fatal(err)
			}
			began, w := time.Now(), write(Update, &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
			err = m.write(ctx, &w)
			if took := time.Since(began); (err != nil) != silent || silent && took != lastFor || !silent && took != 0 {
				t.Errorf("silent %t: %v after %s", silent, err, took)
			}
			if err := m.write(ctx, &w); !errors.Is(err, context.Canceled) {
				t.Errorf("the next one is sent: %v", err)
			}
		})
	}
}
