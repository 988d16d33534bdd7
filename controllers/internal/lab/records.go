package lab

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// RecordedTurn runs the pure part of a sync.
//
//go:noinline
func RecordedTurn[T any, P interface {
	*T
	Core() decision.Core
	Now() time.Time
	Snapshot() (telemetry.Snapshot, error)
}](t *testing.T, observe func() P) (weak.Pointer[T], *telemetry.Trace) {
	t.Helper()
	target := observe()
	s := decision.Sync{Core: target.Core()}
	s.Run(func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		return slices.Repeat([]decision.Outcome{{State: decision.NotTried}}, len(v.Actions)), decision.Learnt{}
	})
	told := s.Tell(decision.Try{}, target.Now())
	trace := &telemetry.Trace{Rounds: s.Rounds, Report: s.Report, Numbers: told.Numbers, Sentence: told.Sentence}
	var err error
	if trace.Snapshot, err = target.Snapshot(); err != nil {
		t.Fatal(err)
	}
	return weak.Make((*T)(target)), trace
}

// WallTimeAlone fails where an instant of a snapshot has a reading of a clock that the record
// cannot hold, and where one of those fields was not tried.
func WallTimeAlone(t *testing.T, snapshot any, fields ...string) {
	t.Helper()
	found := map[string]bool{}
	instants(reflect.ValueOf(snapshot), "", func(at string, x time.Time) {
		if strings.Contains(x.String(), "m=") || x.Location() != time.UTC {
			t.Errorf("%T%s is %s", snapshot, at, x)
		}
		found[at] = found[at] || !x.IsZero()
	})
	for _, at := range fields {
		if !found[at] {
			t.Errorf("%s was not tried: %v", at, found)
		}
	}
}

// instants calls visit with every time.Time in v and where it is.
func instants(v reflect.Value, at string, visit func(at string, t time.Time)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			instants(v.Elem(), at, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			instants(v.Index(i), at+"[]", visit)
		}
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			visit(at, t)
			return
		}
		for i := range v.NumField() {
			instants(v.Field(i), at+"."+v.Type().Field(i).Name, visit)
		}
	}
}
