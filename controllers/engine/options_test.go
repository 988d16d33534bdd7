package engine

import (
	"log/slog"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/changes"
)

// A loop that is told nothing acts as in Kubernetes 1.36, and records nothing.
func TestDefaults(t *testing.T) {
	o := Options{}.WithDefaults()
	if o.Mode != Act || o.Burst != 500 || !o.TerminatingReplicas() || !o.PodDeletionCost() || o.Ledger == nil || o.Managers == nil || o.Logger != slog.Default() {
		t.Errorf("the defaults are %+v", o)
	}
	if took := time.Since(o.Clock.Now()); took < 0 || took > time.Hour {
		t.Errorf("its clock is %s behind", took)
	}
	o.Recorder.Record(nil)
	if seq, ok := o.Recorder.SyncOf("Pod", "shop", "web", "1"); ok || seq != 0 {
		t.Errorf("it knows of sync %d", seq)
	}
}

// What a loop is told stays.
func TestOptionsStay(t *testing.T) {
	off := func() bool { return false }
	clock := testclock.NewFakeClock(lab.At)
	told := Options{
		Mode: Watch, Burst: 1, TerminatingReplicas: off, PodDeletionCost: off, Clock: clock, Recorder: &lab.Recording{},
		Ledger: NewLedger(clock), Managers: changes.NewManagers(), Logger: slog.New(slog.DiscardHandler), Signature: "loopscope",
	}
	o := told.WithDefaults()
	if o.Mode != Watch || o.Burst != 1 || o.TerminatingReplicas() || o.PodDeletionCost() || o.Clock != told.Clock || o.Recorder != told.Recorder ||
		o.Ledger != told.Ledger || o.Managers != told.Managers || o.Logger != told.Logger || o.Signature != "loopscope" {
		t.Errorf("of %+v becomes %+v", told, o)
	}
}
