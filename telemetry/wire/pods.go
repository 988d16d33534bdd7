package wire

import (
	"slices"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func (w *coder) disruption(d *decision.Disruption) {
	m := w.mask(1)
	orStr(&m, &d.Target)
	orStr(&m, &d.Reason)
	orStr(&m, &d.Message)
	m.instant(&d.At)
	m.end()
}

// disruptions are those of a ReplicaSet's pods, whose own bits are all in use: they
// stand beside the list.
func (w *coder) disruptions(m *mask, pods []replicaset.Pod) {
	if !m.has(slices.ContainsFunc(pods, func(p replicaset.Pod) bool { return p.Disruption != nil })) {
		return
	}
	for i := range pods {
		own := w.mask(1)
		maybe(&own, &pods[i].Disruption, (*coder).disruption)
		own.end()
	}
}

// containers are those that pods wait for. They came after the pods themselves, whose
// own bits were all in use: they stand beside the list.
func (w *coder) containers(m *mask, pods []decision.Pod) {
	any := slices.ContainsFunc(pods, func(p decision.Pod) bool { return p.ContainerState != (decision.ContainerState{}) })
	if !m.has(any) {
		return
	}
	for i := range pods {
		w.containerState(&pods[i].ContainerState)
	}
}

func (w *coder) containerState(c *decision.ContainerState) {
	m := w.mask(1)
	orStr(&m, &c.Container)
	orStr(&m, &c.Role)
	orStr(&m, &c.Probe)
	m.instant(&c.Running)
	maybe(&m, &c.Exit, (*coder).exit)
	m.end()
}

func (w *coder) exit(e *decision.Exit) {
	integer(w, &e.Code)
	m := w.mask(1)
	orInteger(&m, &e.Signal)
	orStr(&m, &e.Reason)
	orStr(&m, &e.Message)
	orInteger(&m, &e.Restarts)
	m.instant(&e.At)
	m.end()
}

func (w *coder) terminating(p *decision.TerminatingPod) {
	str(w, &p.Name)
	w.instant(&p.Until)
	m := w.mask(1)
	orStr(&m, &p.Node)
	orEach(&m, &p.Finalizers, str[string])
	m.bool(&p.NodeGone)
	m.end()
}

// blocking is a pod that is not available.
func (w *coder) blocking(p *deployment.Pod) {
	str(w, &p.Name)
	w.instant(&p.Created)
	str(w, &p.Phase)
	m := w.mask(1)
	orStr(&m, &p.Node)
	m.bool(&p.Ready)
	m.instant(&p.ReadySince)
	orStr(&m, &p.Reason)
	orStr(&m, &p.Message)
	orStr(&m, &p.Image)
	m.instant(&p.Since)
	orInteger(&m, &p.Restarts)
	m.end()
}
