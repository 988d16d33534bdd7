package parity

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// eventsRest is how long no new event may have come before all are there:
	// a loop's recorder sends them one after the other, and after one that failed
	// waits ten seconds.
	eventsRest = 12 * time.Second
	// recorderBurst is how many events about one object a recorder sends before it
	// drops all but one in five minutes.
	recorderBurst = 25
	// eventsLimit bounds the wait for them.
	eventsLimit = 3 * time.Minute
)

// numbers in an event's message say which step it was.
var numbers = regexp.MustCompile(`\b\d+\b`)

// hear remembers what an event says about one of the recorded objects. Repeated
// events of a loop say nothing new, and so do not count as movement.
func (p *Plane) hear(object any) {
	event, ok := object.(*corev1.Event)
	if !ok {
		return
	}
	switch event.InvolvedObject.Kind {
	case "Deployment", "ReplicaSet", "ReplicationController":
	default:
		return
	}
	w := writer{namespace: event.Namespace}
	message := strings.TrimPrefix(event.Message, "(combined from similar events): ")
	said := [2]string{
		"events of " + event.InvolvedObject.Kind + "/" + event.InvolvedObject.Name,
		event.Type + " " + event.Reason + " by " + event.Source.Component + ": " + numbers.ReplaceAllString(w.text(message), "N"),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.events[event.Namespace] == nil {
		p.events[event.Namespace] = map[[2]string]int{}
	}
	p.events[event.Namespace][said]++
	if p.events[event.Namespace][said] == 1 {
		p.last[""] = time.Now()
	}
}

// EventsAtRest waits until events that say something new have stopped coming.
func (p *Plane) EventsAtRest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, eventsLimit)
	defer cancel()
	return (&player{plane: p}).until(ctx, func() (string, error) {
		if still := p.still(""); still < eventsRest {
			return fmt.Sprintf("an event came %s ago", still), nil
		}
		return "", nil
	})
}

// Events adds to a record what was said about the objects of its namespace, and
// where more may have been said.
func (p *Plane) Events(namespace string, to Record) {
	p.mu.Lock()
	said := maps.Clone(p.events[namespace])
	p.mu.Unlock()
	times := map[string]int{}
	for each, n := range said {
		to.put(each[0], each[1], "seen")
		times[each[0]] += n
	}
	for object, n := range times {
		if n >= recorderBurst {
			to.put(object, limited, "yes")
		}
	}
}

// unheard names an object of the namespace that has pods and of which no event
// has come yet: once a namespace is ending, none can come any more.
func (p *Plane) unheard(namespace string) string {
	s := p.cached(namespace)
	var objects []string
	for _, rs := range s.replicaSets {
		if rs.Status.Replicas > 0 {
			objects = append(objects, "events of ReplicaSet/"+rs.Name)
		}
	}
	for _, rc := range s.controllers {
		if rc.Status.Replicas > 0 {
			objects = append(objects, "events of ReplicationController/"+rc.Name)
		}
	}
	for _, d := range s.deployments {
		if d.Status.Replicas > 0 {
			objects = append(objects, "events of Deployment/"+d.Name)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	heard := map[string]bool{}
	for said := range p.events[namespace] {
		heard[said[0]] = true
	}
	for _, object := range objects {
		if !heard[object] {
			return "no " + object + " yet"
		}
	}
	return ""
}
