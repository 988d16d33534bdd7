package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

func TestProgressCountsFromTheStart(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, clock.RealClock{})
	p.done("etcd", time.Now().Add(-2*time.Second))
	if got := out.String(); !strings.HasPrefix(got, "  etcd ") || !strings.Contains(got, "2.0 s   (at 0.0 s)") {
		t.Errorf("printed %q", got)
	}
}

// TestCutOffIsOneSentence: where the user does not wait, what did not end is no list; any other error stays as it is.
func TestCutOffIsOneSentence(t *testing.T) {
	forced, force := context.WithCancel(t.Context())
	failed := errors.Join(errors.New("stop history: disk full"), errors.New("stop journal: context canceled"))
	if err := cutOff(forced, failed); !errors.Is(err, failed) {
		t.Errorf("without a second signal: %v", err)
	}
	force()
	if err := cutOff(forced, nil); err != nil {
		t.Errorf("all had ended: %v", err)
	}
	if err := cutOff(forced, failed); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("after a second signal: %v", err)
	}
}
