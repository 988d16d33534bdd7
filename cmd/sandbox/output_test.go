package main

import (
	"bytes"
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
