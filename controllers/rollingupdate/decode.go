package rollingupdate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// The limits of a snapshot that comes from outside.
const (
	// MaxSnapshotBytes bounds the text of one snapshot.
	MaxSnapshotBytes = 8 << 20
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
		return nil, fmt.Errorf("%d bytes are more than the %d that are read: record fewer pods", len(data), MaxSnapshotBytes)
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
	return &s, s.check()
}

// check refuses values that the API server, or the loop, would never have let through.
func (s *Snapshot) check() error {
	switch {
	case s.Now.IsZero():
		return errors.New(`no "now": give the instant of the decision`)
	case s.Name == "":
		return errors.New("no name")
	case s.New != nil && s.New.Name != s.NewName:
		return fmt.Errorf("the new one is called %q, and newName is %q", s.New.Name, s.NewName)
	case s.Old != nil && s.Old.Name != s.Name:
		return fmt.Errorf("the old one is called %q, and the update is of %q", s.Old.Name, s.Name)
	}
	if err := s.Request.check(); err != nil {
		return err
	}
	if err := s.Result.check(); err != nil {
		return err
	}
	for _, e := range s.Echo {
		if err := errors.Join(checkYear("echo", e.Since), checkYear("echo", e.Check)); err != nil {
			return err
		}
	}
	if r := s.Refused; r != nil {
		if err := checkYear("refused", r.At); err != nil {
			return err
		}
	}
	return errors.Join(checkYear("now", s.Now), s.Old.check(), s.New.check())
}

// check refuses what ParseRequest does not give.
func (r *Request) check() error {
	if r == nil {
		return nil
	}
	if r.Surge == nil || r.Unavailable == nil || r.UpdatePeriod == nil || r.Timeout == nil || r.DeploymentKey == "" {
		return errors.New("the request lacks its defaults")
	}
	if problems := r.problems(); len(problems) > 0 {
		return fmt.Errorf("request: %w", problems[:1])
	}
	return nil
}

func (r *Result) check() error {
	if r == nil {
		return nil
	}
	if !isID(r.ID) || !isName(r.From) || !isName(r.To) || r.Ended != Complete && r.Ended != Aborted || r.At.IsZero() {
		return errors.New("result cannot be")
	}
	return checkYear("result", r.At)
}

func (c *Controller) check() error {
	if c == nil {
		return nil
	}
	switch {
	case c.Size < 0 || c.Size > math.MaxInt32 || c.Replicas < 0 || c.Replicas > math.MaxInt32:
		return fmt.Errorf("%s has %d pods and is to have %d: use 0 to %d", c.Name, c.Replicas, c.Size, math.MaxInt32)
	case c.MinReady < 0 || c.MinReady > math.MaxInt32:
		return fmt.Errorf("%s: minReadySeconds %d: use 0 to %d", c.Name, c.MinReady, math.MaxInt32)
	}
	for what, n := range map[string]*int64{"desired": c.Desired, "original": c.Original} {
		if n != nil && (*n < 0 || *n > math.MaxInt32) {
			return fmt.Errorf("%s: %s %d: use 0 to %d", c.Name, what, *n, math.MaxInt32)
		}
	}
	if p := c.Parked; p != nil && !p.valid() {
		return fmt.Errorf("%s: parked cannot be", c.Name)
	}
	err := errors.Join(c.checkDeletion(), checkYear(c.Name+" stepped", c.Stepped), checkYear(c.Name+" refusedSince", c.RefusedSince))
	if c.Progress != nil {
		err = errors.Join(err, checkYear(c.Name+" condition", c.Progress.Transition))
	}
	for i := range c.Pods {
		p := &c.Pods[i]
		err = errors.Join(err, checkYear(p.Name+" created", p.Created), checkYear(p.Name+" readySince", p.ReadySince), checkYear(p.Name+" since", p.Since))
		if p.Like < 0 || p.Like > math.MaxInt32 {
			err = errors.Join(err, fmt.Errorf("%s: %d pods like it: use 0 to %d", p.Name, p.Like, math.MaxInt32))
		}
	}
	return err
}

func (c *Controller) checkDeletion() (err error) {
	if d := c.Deletion; d != nil {
		if d.Blocking < 0 || d.Blocking > math.MaxInt32 {
			return fmt.Errorf("%s: %d pods that block its deletion: use 0 to %d", c.Name, d.Blocking, math.MaxInt32)
		}
		err = checkYear(c.Name+" deletion", d.Since)
	}
	if len(c.Terminating) > decision.MaxTerminatingPods {
		return fmt.Errorf("%s describes %d terminating pods, more than the %d that are read", c.Name, len(c.Terminating), decision.MaxTerminatingPods)
	}
	for _, p := range c.Terminating {
		err = errors.Join(err, checkYear(p.Name+" until", p.Until))
	}
	return err
}

// checkYear refuses instants that no clock shows, as adding to them would leave the years
// that can be written down.
func checkYear(what string, at time.Time) error {
	if year := at.Year(); year > latestYear {
		return fmt.Errorf("%s is in the year %d: use one up to %d", what, year, latestYear)
	}
	return nil
}
