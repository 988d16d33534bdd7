package controllers

import (
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// parent is one of the kinds that adopt, with one of its children.
type parent struct {
	loop, kind string
	of         func() runtime.Object
	child      func(name string) metav1.Object // one of its own, all pods available
}

func parents() []parent {
	set := func(name string) metav1.Object {
		rs := webSet(1, 0)
		rs.Name, rs.UID = name, types.UID("uid-"+name)
		return rs
	}
	pod := func(kind string) func(string) metav1.Object {
		return func(name string) metav1.Object { return webPod(name, kind) }
	}
	return []parent{
		{"deployment", family.KindDeployment, func() runtime.Object { return webDeployment() }, set},
		{"replicaset", family.KindReplicaSet, func() runtime.Object { return setStatus(keeper(family.KindReplicaSet, 1), 1) }, pod(family.KindReplicaSet)},
		{"replicationcontroller", family.KindReplicationController, func() runtime.Object { return setStatus(keeper(family.KindReplicationController, 1), 1) }, pod(family.KindReplicationController)},
	}
}

// base is the parent at rest with what it needs.
func (p parent) base(s *scene) {
	s.have(p.of())
	if p.kind == family.KindDeployment {
		s.have(webSet(2, 3))
		return
	}
	s.have(webPod("own", p.kind))
}

func (p parent) row(section, name string, arrange func(s *scene)) actingRow {
	return actingRow{section: section, name: p.kind + ": " + name, loop: p.loop, arrange: arrange}
}

// recheckRows are what a live look at a parent may find before it adopts two children: it
// is asked once.
func (p parent) recheckRows() (rows []actingRow) {
	add := func(name string, live func(s *scene)) {
		rows = append(rows, p.row("recheck before an adoption", name, func(s *scene) {
			p.base(s)
			for _, name := range []string{"x", "y"} {
				s.have(orphaned(p.child(name)).(runtime.Object))
			}
			live(s)
		}))
	}
	add("still there", func(*scene) {})
	add("another of that name", func(s *scene) {
		other := p.of()
		lab.Accessor(other).SetUID("uid-another")
		s.server.Store(other)
	})
	add("being deleted", func(s *scene) {
		other := p.of()
		s.server.Store(terminating(lab.Accessor(other)).(runtime.Object))
	})
	add("gone", func(s *scene) { s.server.Remove(p.of()) })
	for _, name := range []string{"403 by RBAC", "429 once, Retry-After 0", "500 internal error", "500 of etcd", "503 unavailable", "504 timeout", "connection cut before the commit"} {
		a := lab.AnswerNamed(name)
		add(name, func(s *scene) { s.server.On(http.MethodGet, "/web", a.Times, a.Reply) })
	}
	rows = append(rows, p.row("recheck before an adoption", "nobody there", rows[0].arrange))
	rows[len(rows)-1].over = lab.ToNobody
	return rows
}

// leftRows are children that are nobody's to claim.
func (p parent) leftRows() (rows []actingRow) {
	add := func(name string, child func() metav1.Object, of func(o metav1.Object)) {
		rows = append(rows, p.row("left to others", name, func(s *scene) {
			p.base(s)
			if of != nil {
				d := p.of()
				of(lab.Accessor(d))
				s.have(d)
			}
			s.have(child().(runtime.Object))
		}))
	}
	add("of another owner, with our labels", func() metav1.Object {
		o := p.child("x")
		o.SetOwnerReferences([]metav1.OwnerReference{*lab.OwnedBy(p.kind, "other", "uid-other")})
		return o
	}, nil)
	add("of an earlier one of our name", func() metav1.Object {
		o := p.child("x")
		o.SetOwnerReferences([]metav1.OwnerReference{*lab.OwnedBy(p.kind, "web", "uid-earlier")})
		return o
	}, nil)
	add("orphan with other labels", func() metav1.Object { return relabelled(orphaned(p.child("x"))) }, nil)
	add("orphan of another namespace", func() metav1.Object {
		o := orphaned(p.child("x"))
		o.SetNamespace("elsewhere")
		return o
	}, nil)
	add("orphan being deleted", func() metav1.Object { return terminating(orphaned(p.child("x"))) }, nil)
	add("orphan, while we are being deleted", func() metav1.Object { return orphaned(p.child("x")) }, func(o metav1.Object) { terminating(o) })
	add("ours with other labels, while we are being deleted", func() metav1.Object { return relabelled(p.child("x")) }, func(o metav1.Object) { terminating(o) })
	if p.kind != family.KindDeployment {
		add("finished orphan", func() metav1.Object { return finished(orphaned(webPod("x", ""))) }, nil)
		add("ours with other labels, finished", func() metav1.Object { return finished(relabelled(webPod("x", p.kind))) }, nil)
	}
	return rows
}

func finished(p *corev1.Pod) *corev1.Pod {
	p.Status.Phase = corev1.PodFailed
	return p
}

// liveRows are what a live read after a lost reply may find. Children of others have the
// same labels.
func (p parent) liveRows() (rows []actingRow) {
	section := "live read after a lost reply"
	add := func(name string, live func(s *scene)) {
		rows = append(rows, p.row(section, name, func(s *scene) {
			p.base(s)
			live(s)
			s.loop.MarkUnresolved("shop/web")
		}))
	}
	add("as in the cache", func(*scene) {})
	add("a newer one of itself", func(s *scene) { s.server.Store(at500(lab.Accessor(p.of()))) })
	add("a newer child of ours", func(s *scene) { s.server.Store(at500(p.child("x"))) })
	add("newer children of others and of nobody", func(s *scene) {
		other := p.child("x")
		other.SetOwnerReferences([]metav1.OwnerReference{*lab.OwnedBy(p.kind, "other", "uid-other")})
		earlier := p.child("y")
		earlier.SetOwnerReferences([]metav1.OwnerReference{*lab.OwnedBy(p.kind, "web", "uid-earlier")})
		s.server.Store(at500(other), at500(earlier), at500(orphaned(p.child("z"))))
	})
	add("gone", func(s *scene) { s.server.Remove(p.of()) })
	add("another of that name, with a child", func(s *scene) {
		other, child := lab.Accessor(p.of()), p.child("x")
		other.SetUID("uid-another")
		child.SetOwnerReferences([]metav1.OwnerReference{*lab.OwnedBy(p.kind, "web", "uid-another")})
		s.server.Store(at500(other), at500(child))
	})
	for _, path := range []string{"/web", "s"} {
		for _, name := range []string{"403 by RBAC", "410 gone", "429 once, Retry-After 0", "500 internal error", "500 of etcd", "503 unavailable", "504 timeout", "connection cut before the commit", "connection cut in the body"} {
			a, read := lab.AnswerNamed(name), map[string]string{"/web": "get", "s": "list"}[path]
			add(read+" "+name, func(s *scene) { s.server.On(http.MethodGet, path, a.Times, a.Reply) })
		}
	}
	rows = append(rows, p.row(section, "nobody there", rows[0].arrange))
	rows[len(rows)-1].over = lab.ToNobody
	return rows
}

// at500 is the object as somebody wrote it at version 500.
func at500(o metav1.Object) runtime.Object {
	o.SetResourceVersion("500")
	return o.(runtime.Object)
}

// deletionRows are what a live list shows of pods whose deletion was asked for.
func (p parent) deletionRows() (rows []actingRow) {
	if p.kind == family.KindDeployment {
		return nil
	}
	for _, c := range []struct {
		name string
		live func(s *scene)
	}{
		{"are all there", func(*scene) {}},
		{"one is gone", func(s *scene) { s.server.Remove(webPod("x", p.kind)) }},
		{"one is being deleted", func(s *scene) { s.server.Store(terminating(webPod("x", p.kind))) }},
		{"the cache has seen one go", func(s *scene) {
			s.server.Remove(webPod("x", p.kind))
			s.cached(terminating(webPod("x", p.kind)))
		}},
	} {
		rows = append(rows, p.row("live list of pods whose deletions were lost", c.name, func(s *scene) {
			p.base(s)
			s.have(webPod("x", p.kind), webPod("y", p.kind))
			c.live(s)
			s.loop.Expectations().Expect("shop/web", 0, "uid-x", "uid-y")
			s.loop.MarkUnresolved("shop/web")
		}))
	}
	return rows
}

// overdueRow reads live what has not come into the cache for five minutes.
func (p parent) overdueRow() actingRow {
	return p.row("live read after a lost reply", "our write has not been seen for 5 minutes", func(s *scene) {
		p.base(s)
		s.opts.Ledger.Written(engine.Entry{UID: "uid-web", Resource: lab.ResourceOf(p.of()), Object: "it", RV: "900"})
		s.clock.Step(5*time.Minute + time.Second)
	})
}

func claimRows() (rows []actingRow) {
	for _, p := range parents() {
		rows = append(rows, p.recheckRows()...)
	}
	for _, p := range parents() {
		rows = append(rows, p.leftRows()...)
	}
	for _, p := range parents() {
		rows = append(append(rows, p.liveRows()...), p.overdueRow())
	}
	for _, p := range parents() {
		rows = append(rows, p.deletionRows()...)
	}
	return rows
}
