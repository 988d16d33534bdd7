package effects

import (
	"slices"
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// objectChanges is what others did to one Deployment, as its syncs have seen it.
type objectChanges struct {
	change *decision.RecentChange // dealt with; nil for nothing
	resize externalResize         // not dealt with yet
	// template is who changed the pod template last, "" where nobody knows.
	template string
}

// externalResize is a size that somebody else gave a ReplicaSet.
type externalResize struct {
	name    string // "" for none
	was, is int64
	by      string
}

// after is what is known after a sync of a Deployment.
func (l objectChanges) after(s *deployment.Snapshot, t *telemetry.Trace) objectChanges {
	l.observe(t)
	before := l.change
	for _, a := range engine.Written(t) {
		switch {
		case a.Kind == decision.Adopt:
			l.change = engine.Claimed(l.change, decision.Adopted, a, s.Now)
		case a.Kind == decision.Release:
			l.change = released(l.change, s, a)
		case l.resize.takenBack(a):
			l.change = &decision.RecentChange{Kind: decision.ScaledBack, At: s.Now, By: l.resize.by, Object: a.Target.Name, From: a.Size.From, To: a.Size.To}
		case a.Stamp != nil && a.Stamp.Revision != "":
			if n := wentBack(s, a); n != nil {
				n.By = l.template
				l.change = n
			}
		}
	}
	if t.Result == telemetry.ResultWrote || t.Result == telemetry.ResultUnchanged {
		l.resize = externalResize{} // It was decided on.
	}
	l.change = engine.Expire(l.change, before, s.Now, t)
	return l
}

// observe takes from the causes what others changed.
func (l *objectChanges) observe(t *telemetry.Trace) {
	rescaled := false
	for i := range t.Causes {
		c := &t.Causes[i]
		if c.Sync != 0 {
			continue
		}
		kind, name, _ := strings.Cut(c.Object, " ")
		for _, f := range c.Fields {
			switch {
			case kind == family.KindReplicaSet && f.Field == pathReplicas:
				l.resize = l.resize.then(name, f, authorsOf(c))
			case f.Field == pathReplicas:
				rescaled = true
			case kind == family.KindDeployment && (f.Field == changes.PathTemplate || f.Field == pathRollback):
				l.template = authorsOf(c)
			}
		}
	}
	if t.Folded > 0 { // The last change may be one of those that were only counted.
		l.resize, l.template = externalResize{}, ""
	}
	if rescaled { // No size of before is what it would be put back to.
		l.resize = externalResize{}
	}
}

// Fields that news is about.
const (
	pathReplicas = "spec.replicas"
	pathRollback = "metadata.annotations[" + AnnotationRollback + "]"
)

func authorsOf(c *telemetry.Cause) string { return strings.Join(c.Managers(), " and ") }

// then is what is known after one more change of a size.
func (f externalResize) then(name string, c decision.Change, by string) externalResize {
	was, errWas := strconv.ParseInt(c.From, 10, 64)
	is, errIs := strconv.ParseInt(c.To, 10, 64)
	if errWas != nil || errIs != nil {
		return externalResize{}
	}
	if f.name == name && f.is == was {
		was = f.was
	}
	return externalResize{name: name, was: was, is: is, by: by}
}

// takenBack reports whether a write gives the ReplicaSet the size that it had before.
func (f externalResize) takenBack(a *decision.Action) bool {
	return a.Kind == decision.UpdateReplicaSet && a.Size != nil && f.name == a.Target.Name && a.Size.From == f.is && a.Size.To == f.was
}

// released is the news that a ReplicaSet was let go, which keeps its pods. What was adopted in the same sync comes first.
func released(n *decision.RecentChange, s *deployment.Snapshot, a *decision.Action) *decision.RecentChange {
	if n != nil && n.Kind == decision.Adopted && n.At.Equal(s.Now) {
		return n
	}
	n = engine.Claimed(n, decision.Released, a, s.Now)
	if i := slices.IndexFunc(s.ReplicaSets, func(rs deployment.ReplicaSet) bool { return rs.UID == a.Target.UID }); i >= 0 {
		n.Pods += s.ReplicaSets[i].StatusReplicas
	}
	return n
}

// wentBack is the news that a ReplicaSet of an earlier revision is used again; nil where
// it is not, as where somebody wrote another revision on it.
func wentBack(s *deployment.Snapshot, a *decision.Action) *decision.RecentChange {
	i := slices.IndexFunc(s.ReplicaSets, func(rs deployment.ReplicaSet) bool { return rs.UID == a.Target.UID })
	if i < 0 {
		return nil
	}
	from, _ := strconv.ParseInt(s.Revision, 10, 64) // 0 for what is no number
	to, _ := strconv.ParseInt(s.ReplicaSets[i].Revision, 10, 64)
	became, _ := strconv.ParseInt(a.Stamp.Revision, 10, 64)
	if to < 1 || to >= from || became <= from {
		return nil
	}
	return &decision.RecentChange{Kind: decision.WentBack, At: s.Now, Object: a.Target.Name, From: from, To: to, Became: became}
}
