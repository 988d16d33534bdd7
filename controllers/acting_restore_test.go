package controllers

import (
	"testing"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// A rollback takes the template of the very ReplicaSet that was decided on: where the cache
// has another one of that name by then, or none, nothing is sent.
func TestActingRestoresWhatWasDecidedOn(t *testing.T) {
	for name, meanwhile := range map[string]func(s *scene){
		"another of that name": func(s *scene) {
			other := webSet(1, 0)
			other.UID = "uid-another"
			s.cached(other)
		},
		"gone": func(s *scene) {
			if err := s.caches.StoreOf(webSet(1, 0)).Delete(webSet(1, 0)); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "deployment", lab.OverHTTP2)
			d := webDeployment()
			d.Annotations[deployments.AnnotationRollback] = "1"
			s.have(d, webSet(1, 0), webSet(2, 3))
			target, err := s.loop.Does().Observe(t.Context(), "shop/web")
			if err != nil {
				t.Fatal(err)
			}
			v := target.Core().Decide()
			if len(v.Actions) != 1 || v.Actions[0].Restore == nil || v.Actions[0].Restore.UID != "uid-web-1" {
				t.Fatalf("decided %+v", v.Actions)
			}
			meanwhile(s)
			if o, _ := target.Do(t.Context(), v.Actions[0]); o.State != decision.Superseded {
				t.Errorf("%s: %+v", o.State, o.Failure)
			}
			if sent := s.server.Requests(); len(sent) > 0 {
				t.Errorf("sent %s", shortOf(sent))
			}
		})
	}
}
