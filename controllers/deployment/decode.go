package deployment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// The limits of a snapshot that comes from outside.
const (
	// MaxSnapshotBytes bounds the text of one snapshot.
	MaxSnapshotBytes = 8 << 20
	// MaxSnapshotSets bounds its candidate ReplicaSets.
	MaxSnapshotSets = 2_000
	// MaxArrived bounds the objects that its pods lacked.
	MaxArrived = 64
	// maxDepth bounds how deep its JSON nests; ours nests to 6.
	maxDepth = 12
	// MaxStartupTime bounds what a pod may have taken; it leaves room for the steps of every rollout to be added up.
	MaxStartupTime = 7 * 24 * time.Hour
	// latestYear leaves room for every timer that is counted from an instant.
	latestYear = 9000
)

// Decode reads a snapshot that was recorded or written by hand. It refuses what
// this version cannot decide on, and says what to change.
func Decode(data []byte) (*Snapshot, error) {
	s, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	return s, nil
}

func decode(data []byte) (*Snapshot, error) {
	if len(data) > MaxSnapshotBytes {
		return nil, fmt.Errorf("%d bytes are more than the %d that are read: record fewer ReplicaSets", len(data), MaxSnapshotBytes)
	}
	if err := checkDepth(data); err != nil {
		return nil, err
	}
	if err := decision.CheckVersion(data, SnapshotVersion); err != nil {
		return nil, err
	}
	var s Snapshot
	reader := json.NewDecoder(bytes.NewReader(data))
	reader.DisallowUnknownFields()
	if err := reader.Decode(&s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return &s, nil
}

// checkDepth counts brackets outside strings, before anything is built.
func checkDepth(data []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("it is nested deeper than %d: this is not a snapshot of a Deployment", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// check refuses values that the API server would never have let through.
func (s *Snapshot) check() error {
	switch {
	case s.Now.IsZero():
		return errors.New(`no "now": give the instant of the decision`)
	case s.Found && s.Name == "":
		return errors.New("found, but without a name")
	case len(s.ReplicaSets) > MaxSnapshotSets:
		return fmt.Errorf("%d ReplicaSets are more than the %d that are read", len(s.ReplicaSets), MaxSnapshotSets)
	}
	l := limits{}
	if len(s.Arrived) > MaxArrived {
		l.fail("arrived names %d objects, more than the %d that are read", len(s.Arrived), MaxArrived)
	}
	l.count("want", s.Want)
	l.count("minReadySeconds", s.MinReady)
	l.optional("progressDeadlineSeconds", s.Deadline)
	l.optional("revisionHistoryLimit", s.HistoryLimit)
	l.status(s.Status)
	l.instant("now", s.Now)
	l.instant("created", s.Created)
	l.instant("lastProgress", s.LastProgress)
	l.instant("held", s.Held)
	l.instant("namespaceEnding", s.NamespaceTerminating)
	if n := s.Recent; n != nil {
		l.instant("at of the news", n.At)
		l.instant("told of the news", n.Told)
	}
	for _, e := range s.Echo {
		l.instant("echo of "+e.Object+", since", e.Since)
		l.instant("echo of "+e.Object+", check", e.Check)
	}
	l.change("changed", s.Changed)
	l.change("mutated", s.Mutated)
	l.contest(s.Contest)
	for i := range s.ReplicaSets {
		l.set(&s.ReplicaSets[i])
	}
	return l.err
}

// limits keeps the first value that is out of bounds.
type limits struct {
	err       error
	name, uid map[string]bool
}

func (l *limits) change(what string, c *TemplateChange) {
	if c == nil {
		return
	}
	l.count("more of "+what, c.More)
	if len(c.Fields) > MaxChanged {
		l.fail("%s names %d paths, more than the %d that are read", what, len(c.Fields), MaxChanged)
	}
}

func (l *limits) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

func (l *limits) count(field string, n int64) {
	if n < 0 || n > math.MaxInt32 {
		l.fail("%s %d: use 0 to %d", field, n, math.MaxInt32)
	}
}

func (l *limits) optional(field string, n *int64) {
	if n != nil {
		l.count(field, *n)
	}
}

func (l *limits) instant(field string, t time.Time) {
	if t.Year() > latestYear {
		l.fail("%s is in the year %d: use one up to %d", field, t.Year(), latestYear)
	}
}

func (l *limits) status(st Status) {
	for _, n := range []int64{st.Replicas, st.Updated, st.Ready, st.Available, st.Unavailable} {
		l.count("a number of the status", n)
	}
	l.optional("terminating of the status", st.Terminating)
	l.optional("collisions of the status", st.Collisions)
	for _, c := range st.Conditions {
		l.instant("condition "+c.Type+", updated", c.Updated)
		l.instant("condition "+c.Type+", transition", c.Transition)
	}
}

func (l *limits) set(rs *ReplicaSet) {
	if l.name == nil {
		l.name, l.uid = map[string]bool{}, map[string]bool{}
	}
	switch {
	case rs.Name == "" || rs.UID == "":
		l.fail("ReplicaSet %q has no name or no uid", rs.Name)
	case l.name[rs.Name] || l.uid[rs.UID]:
		l.fail("ReplicaSet %s (uid %s) appears twice", rs.Name, rs.UID)
	case len(rs.Blocking) > MaxBlocking:
		l.fail("ReplicaSet %s describes %d pods, more than the %d that are read", rs.Name, len(rs.Blocking), MaxBlocking)
	case len(rs.TerminatingPods) > decision.MaxTerminatingPods:
		l.fail("ReplicaSet %s describes %d terminating pods, more than the %d that are read", rs.Name, len(rs.TerminatingPods), decision.MaxTerminatingPods)
	case len(rs.TerminatingEndedPods) > decision.MaxTerminatingPods:
		l.fail("ReplicaSet %s describes %d terminating pods that have ended, more than the %d that are read", rs.Name, len(rs.TerminatingEndedPods), decision.MaxTerminatingPods)
	case len(rs.Disrupted) > MaxDisrupted:
		l.fail("ReplicaSet %s describes %d disrupted pods, more than the %d that are read", rs.Name, len(rs.Disrupted), MaxDisrupted)
	}
	l.name[rs.Name], l.uid[rs.UID] = true, true
	for _, n := range []int64{rs.Replicas, rs.MinReady, rs.StatusReplicas, rs.Ready, rs.Available, rs.NonTerminal, rs.Unavailable, rs.TerminatingNow, rs.TerminatingEnded} {
		l.count("a number of ReplicaSet "+rs.Name, n)
	}
	l.optional("terminating of ReplicaSet "+rs.Name, rs.Terminating)
	l.optional("least of ReplicaSet "+rs.Name, rs.Least)
	l.instant("created of ReplicaSet "+rs.Name, rs.Created)
	if rs.Lost != nil {
		l.count("lost pods of ReplicaSet "+rs.Name, rs.Lost.Count)
	}
	if c := rs.Startup; c != nil {
		l.count("pods that came of ReplicaSet "+rs.Name, c.Pods)
		if c.Fastest < 0 || c.Slowest < c.Fastest || c.Slowest > MaxStartupTime {
			l.fail("ReplicaSet %s says that pods became ready in %s to %s: use 0 to %s", rs.Name, c.Fastest, c.Slowest, MaxStartupTime)
		}
	}
	if rs.Failure != nil {
		l.instant("failure of ReplicaSet "+rs.Name, rs.Failure.Transition)
	}
	for i := range rs.Blocking {
		l.pod(&rs.Blocking[i])
	}
	for _, p := range slices.Concat(rs.TerminatingPods, rs.TerminatingEndedPods) {
		l.instant("pod "+p.Name+", until", p.Until)
	}
	l.deletion("ReplicaSet "+rs.Name, rs.Deletion)
	for _, p := range rs.Disrupted {
		l.instant("pod "+p.Name+", created", p.Created)
		l.instant("pod "+p.Name+", disrupted", p.At)
	}
}

func (l *limits) deletion(of string, d *decision.Deletion) {
	if d != nil {
		l.instant("deletion of "+of, d.Since)
		l.count("what blocks the deletion of "+of, d.Blocking)
	}
}

func (l *limits) pod(p *decision.Pod) {
	for _, at := range []time.Time{p.Created, p.ReadySince, p.Since, p.Running} {
		l.instant("a time of pod "+p.Name, at)
	}
	l.count("pods like pod "+p.Name, p.Like)
	if p.Exit != nil {
		l.instant("exit of pod "+p.Name, p.Exit.At)
		l.count("restarts of pod "+p.Name, p.Exit.Restarts)
	}
}
