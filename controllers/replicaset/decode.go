package replicaset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// The limits of a snapshot that comes from outside.
const (
	// MaxSnapshotBytes bounds the text of one snapshot.
	MaxSnapshotBytes = 8 << 20
	// MaxSnapshotPods bounds its candidate pods.
	MaxSnapshotPods = 10_000
	// latestYear leaves room for every timer that is counted from an instant.
	latestYear = 9000
)

// Decode reads a snapshot that was recorded or written by hand. It refuses what
// this version cannot decide on, and says what to change.
func Decode(data []byte) (*Snapshot, error) {
	if len(data) > MaxSnapshotBytes {
		return nil, fmt.Errorf("decode snapshot: %d bytes are more than the %d that are read: record fewer pods", len(data), MaxSnapshotBytes)
	}
	if err := decision.CheckVersion(data, SnapshotVersion); err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	var s Snapshot
	reader := json.NewDecoder(bytes.NewReader(data))
	reader.DisallowUnknownFields()
	if err := reader.Decode(&s); err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	return &s, nil
}

// check refuses values that the API server would never have let through.
func (s *Snapshot) check() error {
	switch {
	case s.Kind != "ReplicaSet" && s.Kind != "ReplicationController":
		return fmt.Errorf("kind %q: use ReplicaSet or ReplicationController", s.Kind)
	case s.Now.IsZero():
		return errors.New(`no "now": give the instant of the decision`)
	case s.Found && s.Name == "":
		return errors.New("found, but without a name")
	case s.Want < 0 || s.Want > math.MaxInt32:
		return fmt.Errorf("want %d: use 0 to %d", s.Want, math.MaxInt32)
	case s.MinReady < 0 || s.MinReady > math.MaxInt32:
		return fmt.Errorf("minReadySeconds %d: use 0 to %d", s.MinReady, math.MaxInt32)
	case s.Burst < 1 || s.Burst > math.MaxInt32:
		return fmt.Errorf("burst %d: use 1 or more, upstream uses 500", s.Burst)
	case s.Expect.Creates > math.MaxInt32 || s.Expect.Deletes > math.MaxInt32:
		return fmt.Errorf("%d creations and %d deletions expected: use up to %d", s.Expect.Creates, s.Expect.Deletes, math.MaxInt32)
	case len(s.Pods) > MaxSnapshotPods:
		return fmt.Errorf("%d pods are more than the %d that are read", len(s.Pods), MaxSnapshotPods)
	case len(s.TerminatingPods) > decision.MaxTerminatingPods:
		return fmt.Errorf("it describes %d terminating pods, more than the %d that are read", len(s.TerminatingPods), decision.MaxTerminatingPods)
	case s.Lost != nil && (s.Lost.Count < 0 || s.Lost.Count > math.MaxInt32):
		return fmt.Errorf("%d lost pods: use 0 to %d", s.Lost.Count, math.MaxInt32)
	case s.Deletion != nil && (s.Deletion.Blocking < 0 || s.Deletion.Blocking > math.MaxInt32):
		return fmt.Errorf("%d pods that block its deletion: use 0 to %d", s.Deletion.Blocking, math.MaxInt32)
	}
	return errors.Join(s.checkTimes(), s.checkPods())
}

// checkTimes refuses instants that no clock shows, as adding to them would leave
// the years that can be written down.
func (s *Snapshot) checkTimes() error {
	instants := map[string]time.Time{"now": s.Now, "expect.since": s.Expect.Since, "expect.expires": s.Expect.Expires, "held": s.Held}
	if n := s.Recent; n != nil {
		instants["news at"], instants["news told"] = n.At, n.Told
	}
	for i, e := range s.Echo {
		instants[fmt.Sprintf("echo %d since", i)], instants[fmt.Sprintf("echo %d check", i)] = e.Since, e.Check
	}
	if s.Deletion != nil {
		instants["deletion"] = s.Deletion.Since
	}
	for _, p := range s.TerminatingPods {
		instants["pod "+p.Name+" until"] = p.Until
	}
	for _, p := range s.Pods {
		instants["pod "+p.Name+" created"], instants["pod "+p.Name+" readySince"] = p.Created, p.ReadySince
		instants["pod "+p.Name+" since"], instants["pod "+p.Name+" running"] = p.Since, p.Running
		if p.Exit != nil {
			instants["pod "+p.Name+" exit"] = p.Exit.At
		}
		if p.Disruption != nil {
			instants["pod "+p.Name+" disrupted"] = p.Disruption.At
		}
	}
	for _, name := range slices.Sorted(maps.Keys(instants)) {
		if year := instants[name].Year(); year > latestYear {
			return fmt.Errorf("%s is in the year %d: use one up to %d", name, year, latestYear)
		}
	}
	return nil
}

func (s *Snapshot) checkPods() error {
	names, uids := map[string]bool{}, map[string]bool{}
	for i, p := range s.Pods {
		switch {
		case p.Name == "" || p.UID == "":
			return fmt.Errorf("pod %d has no name or no uid", i)
		case names[p.Name] || uids[p.UID]:
			return fmt.Errorf("pod %s (uid %s) appears twice", p.Name, p.UID)
		}
		names[p.Name], uids[p.UID] = true, true
	}
	return nil
}
