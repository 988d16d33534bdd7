package updates

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// plan is one way to ask for an update, and what is left of it.
type plan struct {
	name    string
	labels  map[string]string // of the old one
	request string
	// prepare makes what the client makes; nil for nothing.
	prepare func(r *run, old *corev1.ReplicationController)
	left    map[string]int32
	on      string // which of the two tells the result
	// writes is how many the loop sends at least.
	writes int64
}

const fast = `"version":1,"id":"r1","updatePeriod":"0s"`

// plans are by the way in which they end.
func plans() []plan {
	return []plan{
		{name: "rename", labels: appWeb, request: `{` + fast + `,"image":"web:2"}`, left: map[string]int32{"web": 3}, on: "web", writes: 20},
		{name: "delete", labels: appWeb, request: `{` + fast + `,"image":"web:2","to":"web-2"}`, left: map[string]int32{"web-2": 3}, on: "web-2", writes: 18},
		{name: "preserve", labels: map[string]string{"app": "web", "stage": "old"}, request: `{` + fast + `,"to":"web-2","cleanup":"preserve"}`, left: map[string]int32{"web": 0, "web-2": 3}, on: "web", writes: 12,
			prepare: func(r *run, old *corev1.ReplicationController) {
				r.next(old, map[string]string{"app": "web", "stage": "new"})
			}},
	}
}

// next makes the new one as a client does that has it from a file.
func (r *run) next(old *corev1.ReplicationController, labels map[string]string) {
	r.create("web-2", "web:2", 0, labels, map[string]string{
		rollingupdate.AnnotationSource: "web:" + string(old.UID), rollingupdate.AnnotationDesired: fmt.Sprint(r.size),
	})
}

// begin brings a run to where the request is written.
func (p plan) begin(t *testing.T, plane plane, k *killer) (r *run, killed <-chan struct{}) {
	t.Helper()
	r = newRun(t, plane, 3)
	killed = r.loops(k)
	old := r.old(p.labels)
	if p.prepare != nil {
		p.prepare(r, old)
	}
	r.watches(3, 4)
	r.ask(p.request)
	return r, killed
}

// end waits for the end and checks it.
func (p plan) end(r *run) {
	r.t.Helper()
	r.ended(p.on, "r1", rollingupdate.Complete)
	r.left("web:2", p.left)
}

// testKilled kills the loops at each write of each kind of update, before it is sent and
// after it was taken, and has new ones finish it ([RU-1], [RU-6], [RU-7], [RU-10]).
func testKilled(t *testing.T, plane plane) {
	for _, p := range plans() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			whole := &killer{}
			r, _ := p.begin(t, plane, whole)
			p.end(r)
			n := whole.n.Load()
			if n < p.writes {
				t.Errorf("the loop sent %d writes, want %d at least", n, p.writes)
			}
			picked := sample(t, "killed "+p.name, 2*int(n))
			for at := int64(1); at <= n; at++ {
				for i, after := range []bool{false, true} {
					if !picked(2*int(at-1) + i) {
						continue
					}
					t.Run(fmt.Sprintf("write %d, after it %v", at, after), func(t *testing.T) {
						t.Parallel()
						k := &killer{at: at, after: after}
						r, killed := p.begin(t, plane, k)
						// A run may take a write fewer than the one that was counted.
						testplane.Until(t, limit, "the kill or the end", func() error {
							select {
							case <-killed:
								tally.add("killed", 1)
								r.loops(&killer{})
								return nil
							default:
							}
							rc, err := r.get(p.on)
							if err == nil && rc.Annotations[rollingupdate.AnnotationResult] != "" && !k.dead.Load() {
								return nil
							}
							return fmt.Errorf("%d of %d writes", k.n.Load(), at)
						})
						p.end(r)
					})
				}
			}
		})
	}
}

// testTakenBack takes an update back at each of its writes: the old one has its pods again,
// or the update had ended ([RU-5]).
func testTakenBack(t *testing.T, plane plane) {
	for _, p := range plans() {
		picked := sample(t, "taken back "+p.name, int(p.writes))
		for at := int64(1); at <= p.writes; at++ {
			if !picked(int(at - 1)) {
				continue
			}
			t.Run(fmt.Sprintf("%s at write %d", p.name, at), func(t *testing.T) {
				t.Parallel()
				k := &killer{}
				var r *run
				abort := strings.TrimSuffix(p.request, "}") + `,"abort":true}`
				met := make(chan *run, 1)
				k.meet = func(n int64) {
					if n == at {
						r := <-met
						if err := r.tryAnnotate(t.Context(), "web", rollingupdate.AnnotationRequest, abort); err != nil {
							t.Logf("taken back at write %d: %v", at, err)
						}
						tally.add("taken back", 1)
					}
				}
				r = newRun(t, plane, 3)
				met <- r
				r.loops(k)
				old := r.old(p.labels)
				if p.prepare != nil {
					p.prepare(r, old)
				}
				r.watches(3, 4)
				r.ask(p.request)
				p.wentBack(r)
			})
		}
	}
}

// wentBack waits for either end, and checks that it is one.
func (p plan) wentBack(r *run) {
	r.t.Helper()
	aborted := false
	testplane.Until(r.t, limit, "an end", func() error {
		for name := range map[string]bool{"web": true, p.on: true} {
			rc, err := r.get(name)
			if err != nil {
				continue
			}
			result := rc.Annotations[rollingupdate.AnnotationResult]
			if aborted = strings.Contains(result, `"ended":"aborted"`); aborted || result != "" && rc.Annotations[rollingupdate.AnnotationRequest] == "" && name == p.on {
				return nil
			}
		}
		return fmt.Errorf("no result")
	})
	if aborted {
		tally.add("back at the old size", 1)
		r.left("web:1", map[string]int32{"web": 3})
		return
	}
	tally.add("too late", 1)
	r.left("web:2", p.left)
}

// testSizes updates 1 to 100 pods with all kinds of bounds ([RU-8]).
func testSizes(t *testing.T, plane plane) {
	cases := []struct {
		size           int32
		bounds         string
		floor, ceiling int32
	}{
		{1, `"surge":1`, 1, 2}, {1, `"surge":0,"unavailable":1`, 0, 1}, {2, `"surge":0`, 1, 2}, {3, `"surge":0,"unavailable":"100%"`, 0, 3},
		{5, `"surge":"25%","unavailable":"25%"`, 4, 7}, {7, `"surge":3`, 7, 10}, {10, `"surge":"100%"`, 10, 20}, {10, `"surge":"100%","unavailable":"100%"`, 0, 20},
		{20, `"surge":"10%","unavailable":3`, 17, 22}, {33, `"surge":0,"unavailable":"33%"`, 23, 33}, {60, `"surge":15,"unavailable":0`, 60, 75}, {100, `"surge":20,"unavailable":"10%"`, 90, 120},
	}
	picked := sample(t, "sizes", len(cases))
	for i, c := range cases {
		name := fmt.Sprintf("%d pods, %s", c.size, strings.NewReplacer(`"`, "", ",", " ").Replace(c.bounds))
		if !picked(i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, plane, c.size)
			r.loops(&killer{})
			r.old(appWeb)
			r.watches(c.floor, c.ceiling)
			r.ask(`{` + fast + `,"image":"web:2",` + c.bounds + `}`)
			r.ended("web", "r1", rollingupdate.Complete)
			r.left("web:2", map[string]int32{"web": c.size})
			r.watch.mu.Lock()
			defer r.watch.mu.Unlock()
			tally.add("pods updated", int(c.size))
			t.Logf("%d available at least (floor %d), %d pods at most (ceiling %d)", r.watch.least, c.floor, r.watch.most, c.ceiling)
		})
	}
}

// testCompeting has two old ones ask for the same new one: one gets it, and the other is told ([RU-4]).
func testCompeting(t *testing.T, plane plane) {
	r := newRun(t, plane, 3)
	r.loops(&killer{})
	old := r.old(map[string]string{"app": "web", "stage": "old"})
	r.create("shop", "web:1", 1, map[string]string{"app": "shop", "stage": "old"}, nil)
	r.next(old, map[string]string{"app": "web", "stage": "new"})
	r.annotate("shop", rollingupdate.AnnotationRequest, `{"version":1,"to":"web-2"}`)
	r.ask(`{` + fast + `,"to":"web-2"}`)
	r.ended("web-2", "r1", rollingupdate.Complete)
	testplane.Until(t, limit, "an answer to the loser", func() error {
		rc, err := r.get("shop")
		if err != nil {
			return err
		}
		for _, c := range rc.Status.Conditions {
			if c.Type == rollingupdate.CondProgressing && c.Reason == "RollingUpdateInvalid" && strings.Contains(c.Message, "web-2") && c.Status == corev1.ConditionFalse && *rc.Spec.Replicas == 1 {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", rc.Status.Conditions)
	})
	r.edit("shop", func(rc *corev1.ReplicationController) { delete(rc.Annotations, rollingupdate.AnnotationRequest) })
	testplane.Until(t, limit, "the end of the condition", func() error {
		rc, err := r.get("shop")
		if err == nil && len(rc.Status.Conditions) > 0 {
			return fmt.Errorf("conditions %+v", rc.Status.Conditions)
		}
		return err
	})
	events, err := r.client.CoreV1().Events(r.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=RollingUpdateInvalid,involvedObject.name=shop"})
	if err != nil || len(events.Items) == 0 {
		t.Errorf("%d events say so, %v", len(events.Items), err)
	}
}

// testStuck has an image whose pods never become ready: nothing is taken away, the condition
// says so after the timeout ([RU-9]), and going back restores what was.
func testStuck(t *testing.T, plane plane) {
	r := newRun(t, plane, 3)
	r.loops(&killer{})
	old := r.old(map[string]string{"app": "web", "stage": "old"})
	labels := map[string]string{"app": "web", "stage": "new"}
	r.create("web-2", "web:2", 0, labels, map[string]string{rollingupdate.AnnotationSource: "web:" + string(old.UID), rollingupdate.AnnotationDesired: "3"})
	r.edit("web-2", func(rc *corev1.ReplicationController) {
		rc.Spec.Template.Annotations = map[string]string{"sandbox.loopscope.dev/never-ready": "true"}
	})
	r.watches(3, 4)
	const request = `{"version":1,"id":"r1","updatePeriod":"0s","timeout":"3s","to":"web-2"`
	r.ask(request + `}`)
	testplane.Until(t, limit, "the deadline", func() error {
		rc, err := r.get("web")
		if err != nil {
			return err
		}
		for _, c := range rc.Status.Conditions {
			if c.Reason == "ProgressDeadlineExceeded" && c.Status == corev1.ConditionFalse {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", rc.Status.Conditions)
	})
	r.ask(request + `,"abort":true}`)
	r.ended("web", "r1", rollingupdate.Aborted)
	r.left("web:1", map[string]int32{"web": 3})
}

// testRescaled has somebody scale the old one in the middle of an update: nothing is scaled until
// it has its size again, and the sentence says so ([RU-8]).
func testRescaled(t *testing.T, plane plane) {
	r := newRun(t, plane, 3)
	r.loops(&killer{})
	old := r.old(map[string]string{"app": "web", "stage": "old"})
	r.next(old, map[string]string{"app": "web", "stage": "new"})
	r.ask(`{"version":1,"id":"r1","updatePeriod":"1h","to":"web-2"}`)
	r.says("web", "period")
	r.scale("web", 5)
	r.says("web", "rescaled")
	r.scale("web", 3)
	r.says("web", "period")
	r.ask(`{` + fast + `,"to":"web-2"}`)
	r.ended("web-2", "r1", rollingupdate.Complete)
	r.left("web:2", map[string]int32{"web-2": 3})
}
