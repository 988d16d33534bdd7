package rollingupdate_test

import (
	"fmt"
	"time"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// now is the instant of every scene.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is one sync: a snapshot, and what acting answered.
type scene struct {
	name, comment string
	snapshot      *rollingupdate.Snapshot
	outcomes      []decision.Outcome
	try           decision.Try
}

// requested is a request with its defaults, and changes to it.
func requested(changes ...func(*rollingupdate.Request)) *rollingupdate.Request {
	r, err := rollingupdate.ParseRequest(`{"version":1,"id":"r1","image":"web:2"}`)
	if err != nil {
		panic(err)
	}
	for _, change := range changes {
		change(r)
	}
	return r
}

func paused(r *rollingupdate.Request)   { r.Paused = true }
func aborted(r *rollingupdate.Request)  { r.Abort = true }
func deletes(r *rollingupdate.Request)  { r.Cleanup = rollingupdate.Delete }
func preserve(r *rollingupdate.Request) { r.Cleanup = rollingupdate.Preserve }
func to(name string) func(*rollingupdate.Request) {
	return func(r *rollingupdate.Request) {
		r.To, r.Image, r.Cleanup = name, "", rollingupdate.Delete
	}
}

func bounds(surge, unavailable int32) func(*rollingupdate.Request) {
	return func(r *rollingupdate.Request) {
		b, err := rollingupdate.ParseRequest(fmt.Sprintf(`{"version":1,"to":"x","surge":%d,"unavailable":%d}`, surge, unavailable))
		if err != nil {
			panic(err)
		}
		r.Surge, r.Unavailable = b.Surge, b.Unavailable
	}
}

// change is something that differs from the base of a scene.
type change func(*rollingupdate.Snapshot)

// starting is an update of which nothing has been done: 3 pods, one container.
func starting(changes ...change) *rollingupdate.Snapshot {
	s := &rollingupdate.Snapshot{
		Version: rollingupdate.SnapshotVersion, Now: now, Namespace: "shop", Name: "web", NewName: "web-6d5", OldKey: "5f8", NewKey: "6d5",
		Request: requested(),
		Old: &rollingupdate.Controller{
			Name: "web", UID: "u-old", RV: "10", Generation: 1, Observed: 1, Size: 3, Replicas: 3,
			Containers: []rollingupdate.Container{{Name: "web", Image: "web:1"}}, Pods: pods("web", 3, 3, ""),
		},
	}
	for _, c := range changes {
		c(s)
	}
	return s
}

// moving is an update under way: sizes of the old and the new one, and how many of the new
// pods are ready.
func moving(old, n, ready int, changes ...change) *rollingupdate.Snapshot {
	three := int64(3)
	s := starting()
	s.Apart = true
	s.Old.TemplateKey, s.Old.SelectorKey, s.Old.Original, s.Old.Next = "5f8", "5f8", &three, s.NewName
	s.Old.Size, s.Old.Replicas, s.Old.Pods = int64(old), int64(old), pods("web", old, old, "5f8")
	s.New = &rollingupdate.Controller{
		Name: s.NewName, UID: "u-new", RV: "20", Generation: 1, Observed: 1, Size: int64(n), Replicas: int64(n), TemplateKey: "6d5", SelectorKey: "6d5",
		Source: "web:u-old", Desired: &three, Stepped: now.Add(-2 * time.Minute),
		Containers: []rollingupdate.Container{{Name: "web", Image: "web:2"}}, Pods: pods(s.NewName, n, ready, "6d5"),
	}
	says("True", "RollingUpdateProgressing")(s)
	for _, c := range changes {
		c(s)
	}
	return s
}

func pods(of string, n, ready int, key string) []rollingupdate.Pod {
	list := make([]rollingupdate.Pod, n)
	for i := range list {
		p := &list[i]
		p.Name, p.UID, p.RV, p.Key, p.Created, p.Phase, p.Node = fmt.Sprintf("%s-%d", of, i), fmt.Sprintf("u-%s-%d", of, i), "5", key, now.Add(-3*time.Minute), "Running", "node-1"
		if p.Ready = i < ready; p.Ready {
			p.ReadySince = now.Add(-2 * time.Minute)
		} else {
			p.Reason, p.Since = "ContainersNotReady", now.Add(-2*time.Minute)
		}
	}
	return list
}

// says puts the condition on both.
func says(status, reason string) change {
	return func(s *rollingupdate.Snapshot) {
		for _, c := range []*rollingupdate.Controller{s.Old, s.New} {
			if c != nil {
				c.Progress = &decision.Condition{Type: "Progressing", Status: status, Reason: reason, Transition: now.Add(-10 * time.Minute)}
			}
		}
	}
}

// newSays puts the condition on the new one alone.
func newSays(status, reason string) change {
	return func(s *rollingupdate.Snapshot) {
		old := s.Old
		s.Old = nil
		says(status, reason)(s)
		s.Old = old
	}
}

func asks(changes ...func(*rollingupdate.Request)) change {
	return func(s *rollingupdate.Snapshot) { s.Request = requested(changes...) }
}

func stepped(ago time.Duration) change {
	return func(s *rollingupdate.Snapshot) { s.New.Stepped = now.Add(-ago) }
}

// refusedBefore is what an Event says of the creation of the new one.
func refusedBefore(ago time.Duration) change {
	return func(s *rollingupdate.Snapshot) {
		s.Refused = &rollingupdate.Refused{At: now.Add(-ago), Message: `Cannot create ReplicationController web-6d5: replicationcontrollers "web-6d5" is forbidden: exceeded quota: small, requested: replicationcontrollers=1, used: replicationcontrollers=1, limited: replicationcontrollers=1`}
	}
}

func unasked(s *rollingupdate.Snapshot) { s.Request = nil }
func withoutOld(s *rollingupdate.Snapshot) {
	s.Old, s.OldKey, s.Apart = nil, "", false
}

// deletion has one of the two be deleted, which finalizers keep.
func deletion(whose string, ago time.Duration, finalizers ...string) change {
	return func(s *rollingupdate.Snapshot) {
		c := map[string]*rollingupdate.Controller{"old": s.Old, "new": s.New}[whose]
		c.Deleting, c.Deletion = true, &decision.Deletion{Since: now.Add(-ago), Finalizers: finalizers}
	}
}

// keptPods has a webhook deny that the old one deletes a pod.
func keptPods(s *rollingupdate.Snapshot) {
	s.Old.Replicas, s.Old.KeepsPods, s.Old.RefusedSince = 3, true, now.Add(-time.Minute)
	s.Old.Refusal = `unable to delete pods: admission webhook "keep.example.com" denied the request: not on a Monday`
}

func withoutNew(s *rollingupdate.Snapshot) { s.New = nil }

// ended is an update of which only the clean-up is left.
func ended(changes ...change) *rollingupdate.Snapshot {
	return moving(0, 3, 3, append([]change{says("True", "RollingUpdateComplete")}, changes...)...)
}

// onItsOwn takes the notes off the new one.
func onItsOwn(s *rollingupdate.Snapshot) { s.New.Source, s.New.Desired = "", nil }

func parkedOld(s *rollingupdate.Snapshot) {
	s.Old.Parked = &rollingupdate.Parked{Size: 3, From: s.NewName, UID: "u-new", ID: "r1"}
	s.Old.Stepped = now.Add(-2 * time.Second)
}

// parkedLong is one that has waited for longer than the timeout.
func parkedLong(s *rollingupdate.Snapshot) {
	parkedOld(s)
	s.Old.Stepped = now.Add(-6 * time.Minute)
}

// lettingGo is a new one that its pods are released from.
func lettingGo(s *rollingupdate.Snapshot) {
	s.New.LetsGo, s.New.Size, s.New.Replicas, s.New.Pods = true, 0, 0, nil
}

// sealed is an old one that takes over pods: so many are its own, and so many it counts.
func sealed(own, counted int) change {
	return func(s *rollingupdate.Snapshot) {
		account := "robot"
		s.Old.Parked.Account, s.Old.Account = &account, rollingupdate.SealedAccount
		s.Old.Size, s.Old.Replicas, s.Old.Pods = 3, int64(counted), pods("web-6d5", own, own, "6d5")
	}
}

// given writes down the sizes that the update has given the two.
func given(old, n int64) change {
	return func(s *rollingupdate.Snapshot) { s.Old.Given, s.New.Given = &old, &n }
}

func written(rv string) []decision.Outcome {
	return []decision.Outcome{{State: decision.Written, RV: rv}}
}

func refused(state decision.State, f decision.Failure) []decision.Outcome {
	return []decision.Outcome{{State: state, Failure: &f}}
}

// blocked has the new pods wait for an image.
func blocked(s *rollingupdate.Snapshot) {
	for i := range s.New.Pods {
		if p := &s.New.Pods[i]; !p.Ready {
			p.Phase, p.Reason, p.Image, p.Message = "Pending", "ImagePullBackOff", "web:2", `Back-off pulling image "web:2": not found`
			p.Container = "web"
		}
	}
}
