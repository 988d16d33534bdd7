package controllers

import (
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// deploymentRow is a situation of the Deployment loop.
func deploymentRow(section, name string, arrange func(s *scene)) actingRow {
	return actingRow{section: section, name: name, loop: "deployment", arrange: arrange}
}

// nameRows are who has the name of a ReplicaSet that is to be created.
func nameRows() (rows []actingRow) {
	add := func(name string, arrange func(s *scene)) {
		rows = append(rows, deploymentRow("name of a new replicaset", name, func(s *scene) {
			s.have(webDeployment(), webSet(1, 3))
			s.server.On(http.MethodPost, "/replicasets", 1, lab.AnswerNamed("409 name taken").Reply)
			arrange(s)
		}))
	}
	holder := func(name, owner, image string) *appsv1.ReplicaSet {
		rs := webSet(2, 1)
		rs.Name, rs.ResourceVersion = name, "700"
		rs.Spec.Template = actingTemplate(image, rs.Labels)
		rs.OwnerReferences = nil
		if owner != "" {
			rs.OwnerReferences = []metav1.OwnerReference{*lab.OwnedBy(family.KindDeployment, "web", owner)}
		}
		return rs
	}
	d := webDeployment()
	name := deployments.ReplicaSetName("web", deployments.TemplateHash(&d.Spec.Template, nil))
	add("ours, of this template, not in the cache yet", func(s *scene) { s.server.Store(holder(name, "uid-web", "shop:v2")) })
	add("ours, of another template", func(s *scene) { s.server.Store(holder(name, "uid-web", "shop:v3")) })
	add("of an earlier Deployment of our name", func(s *scene) { s.server.Store(holder(name, "uid-earlier", "shop:v2")) })
	add("nobody's", func(s *scene) { s.server.Store(holder(name, "", "shop:v2")) })
	add("another's, and so is the next name", func(s *scene) {
		next := deployments.ReplicaSetName("web", deployments.TemplateHash(&d.Spec.Template, new(int32(1))))
		s.server.Store(holder(name, "uid-earlier", "shop:v2"), holder(next, "uid-earlier", "shop:v2"))
		s.server.On(http.MethodPost, "/replicasets", 1, lab.AnswerNamed("409 name taken").Reply)
	})
	add("gone again", func(*scene) {})
	for _, answer := range []string{"403 by RBAC", "429 without Retry-After", "500 internal error", "500 of etcd", "503 unavailable", "connection cut before the commit"} {
		add("who has it cannot be read: "+answer, func(s *scene) { s.server.On(http.MethodGet, "/"+name, 0, lab.AnswerNamed(answer).Reply) })
	}
	return rows
}

// guardRows are writes that are not sent, as something newer is known, and conflicts
// whose other writer is not.
func guardRows() (rows []actingRow) {
	section := "superseded and conflicting"
	newer := func(uid string) engine.Entry {
		return engine.Entry{UID: types.UID("uid-" + uid), Resource: family.ResourceReplicaSets, Object: "it", RV: "900"}
	}
	two := func(s *scene) { s.have(webDeployment(), webSet(0, 1), webSet(1, 1), webSet(2, 3)) }
	rows = append(rows, deploymentRow(section, "the other loop has written the second ReplicaSet meanwhile", func(s *scene) {
		two(s)
		s.server.On(http.MethodPut, "/replicasets/web-0", 0, func(w http.ResponseWriter, r *http.Request, take func() lab.Response) {
			s.opts.Ledger.Written(newer("web-1"))
			lab.Taken(w, r, take)
		})
	}))
	rows = append(rows, deploymentRow(section, "the cache shows a newer second ReplicaSet meanwhile", func(s *scene) {
		two(s)
		s.server.On(http.MethodPut, "/replicasets/web-0", 0, func(w http.ResponseWriter, r *http.Request, take func() lab.Response) {
			s.cached(at500(webSet(1, 1)))
			lab.Taken(w, r, take)
		})
	}))
	rows = append(rows, deploymentRow(section, "the cache shows another second ReplicaSet of that name meanwhile", func(s *scene) {
		two(s)
		s.server.On(http.MethodPut, "/replicasets/web-0", 0, func(w http.ResponseWriter, r *http.Request, take func() lab.Response) {
			other := webSet(1, 1)
			other.UID = "uid-another"
			s.cached(other)
			lab.Taken(w, r, take)
		})
	}))
	rows = append(rows, deploymentRow(section, "the ReplicaSet to delete was written by the other loop meanwhile", func(s *scene) {
		d := webDeployment()
		d.Spec.RevisionHistoryLimit = new(int32)
		s.have(d, webSet(0, 0), webSet(1, 0), webSet(2, 3))
		s.server.On(http.MethodDelete, "/replicasets/web-0", 0, func(w http.ResponseWriter, r *http.Request, take func() lab.Response) {
			s.opts.Ledger.Written(newer("web-1"))
			lab.Taken(w, r, take)
		})
	}))
	rows = append(rows, deploymentRow(section, "the Deployment's own status was written meanwhile", func(s *scene) {
		two(s)
		s.server.On(http.MethodPut, "/replicasets/web-0", 0, func(w http.ResponseWriter, r *http.Request, take func() lab.Response) {
			s.opts.Ledger.Written(engine.Entry{UID: "uid-web", Resource: family.ResourceDeployments, Object: "it", RV: "900"})
			lab.Taken(w, r, take)
		})
	}))
	for _, answer := range []string{"404 not found", "503 unavailable", "connection cut before the commit"} {
		rows = append(rows, deploymentRow(section, "409 by version, and the other writer cannot be read: "+answer, func(s *scene) {
			s.have(webDeployment(), webSet(1, 0), webSet(2, 1))
			s.server.On(http.MethodPut, "/replicasets/web-2", 0, lab.AnswerNamed("409 by version").Reply)
			s.server.On(http.MethodGet, "/replicasets/web-2", 0, lab.AnswerNamed(answer).Reply)
		}))
	}
	return append(rows, statusGuardRows(section)...)
}

// statusGuardRows are status writes of owners that the Deployment loop has written meanwhile.
func statusGuardRows(section string) (rows []actingRow) {
	for _, p := range parents()[1:] {
		rows = append(rows, p.row(section, "its status, and it was scaled by us meanwhile", func(s *scene) {
			s.have(setStatus(keeper(p.kind, 2), 2), webPod("own", p.kind))
			s.server.On(http.MethodPost, "/pods", 0, func(w http.ResponseWriter, r *http.Request, take func() lab.Response) {
				s.opts.Ledger.Written(engine.Entry{UID: "uid-web", Resource: lab.ResourceOf(p.of()), Object: "it", RV: "900"})
				lab.Taken(w, r, take)
			})
		}))
	}
	return rows
}

// eventRows are what becomes of events: nothing waits for them, and nothing fails with them.
func eventRows() (rows []actingRow) {
	for _, p := range parents() {
		for _, answer := range []string{"403 by a terminating namespace", "409 name taken", "422 invalid", "500 internal error"} {
			rows = append(rows, p.row("events", "first, "+answer, func(s *scene) {
				p.tells(s)
				s.server.On(http.MethodPost, "/events", 0, lab.AnswerNamed(answer).Reply)
			}))
		}
		twice := p.row("events", "told again", p.tells)
		twice.keep = true
		rows = append(rows, twice)
		again := p.row("events", "told again, and the first is gone", func(s *scene) {
			p.tells(s)
			s.server.Script(0, lab.AnswerNamed("404 not found").Reply, func(x *lab.Sent) bool {
				resource, _, _ := x.Parts()
				return resource == "events" && x.Method == http.MethodPatch
			})
		})
		again.keep = true
		rows = append(rows, again)
	}
	return rows
}

// tells has two syncs tell the same event, as the write between is refused.
func (p parent) tells(s *scene) {
	if p.kind == family.KindDeployment {
		d := webDeployment()
		d.Annotations[deployments.AnnotationRollback] = "7"
		s.have(d, webSet(2, 3))
		s.server.On(http.MethodPut, "/deployments/web", 1, lab.AnswerNamed("422 invalid").Reply)
		return
	}
	s.have(keeper(p.kind, 1))
	s.server.On(http.MethodPost, "/pods", 0, lab.AnswerNamed("403 by quota").Reply)
	s.server.On(http.MethodPut, "/status", 0, lab.AnswerNamed("422 invalid").Reply)
}

// otherRows are objects that are not served like the rest.
func otherRows() (rows []actingRow) {
	section := "others"
	all := func(s *scene) {
		d := webDeployment()
		d.Spec.Selector = &metav1.LabelSelector{}
		s.have(d, orphaned(webSet(1, 1)))
	}
	rows = append(rows, deploymentRow(section, "a Deployment that selects everything", all))
	rows = append(rows, deploymentRow(section, "a Deployment that selects everything, after a lost reply", func(s *scene) {
		all(s)
		s.loop.MarkUnresolved("shop/web")
	}))
	rows = append(rows, deploymentRow(section, "a Deployment that is not there", func(*scene) {}))
	rows = append(rows, deploymentRow(section, "a Deployment that is paused", func(s *scene) {
		d := webDeployment()
		d.Spec.Paused = true
		s.have(d, webSet(1, 3))
	}))
	rows = append(rows, deploymentRow(section, "a Recreate whose old pods have not ended", func(s *scene) {
		d := webDeployment()
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		pod := webPod("old", "")
		pod.OwnerReferences = []metav1.OwnerReference{*lab.OwnedBy(family.KindReplicaSet, "web-1", "uid-web-1")}
		s.have(d, webSet(1, 0), terminating(pod))
	}))
	for _, p := range parents() {
		rows = append(rows, p.row(section, "is being deleted", func(s *scene) {
			p.base(s)
			s.have(terminating(lab.Accessor(p.of())).(runtime.Object))
		}))
	}
	for _, p := range parents()[1:] {
		rows = append(rows, p.row(section, "an orphan to adopt is gone, and a pod is to be created", func(s *scene) {
			s.have(setStatus(keeper(p.kind, 3), 1), webPod("own", p.kind))
			s.cached(orphaned(webPod("x", "")))
		}))
		rows = append(rows, p.row(section, "the words of a refusal are published as they were said", func(s *scene) {
			s.have(keeper(p.kind, 1))
			s.server.On(http.MethodPost, "/pods", 0, lab.Refuse(422, metav1.StatusReasonInvalid, "cannot pull https://user:secret@registry.example/shop"))
		}))
		rows = append(rows, p.row(section, "a name that is no prefix", func(s *scene) {
			o := keeper(p.kind, 1)
			lab.Accessor(o).SetAnnotations(map[string]string{"of": "the owner"})
			s.have(o)
		}))
	}
	return rows
}

// watchRows are all acts of a loop that only watches: nothing is sent.
func watchRows() (rows []actingRow) {
	add := func(acts []act) {
		for _, a := range acts {
			rows = append(rows, actingRow{section: "watching", name: a.name, loop: a.loop, arrange: func(s *scene) {
				s.opts.Mode = engine.Watch
				s.build(a.loop)
				a.arrange(s)
			}})
		}
	}
	deployments := deploymentActs()
	for i := range deployments {
		deployments[i].loop = "deployment"
	}
	add(deployments)
	add(keeperActs("replicaset", family.KindReplicaSet))
	add(keeperActs("replicationcontroller", family.KindReplicationController))
	return rows
}
