package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

func TestPrefixerWritesWholeLines(t *testing.T) {
	var out bytes.Buffer
	p := &prefixer{to: &out, prefix: "[x] "}
	for _, part := range []string{"one", " line\nand a", "nother\n", "half"} {
		if n, err := p.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("Write(%q) = %d, %v", part, n, err)
		}
	}
	if want := "[x] one line\n[x] and another\n"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

func TestProgressCountsFromTheStart(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, clock.RealClock{})
	p.done("etcd", time.Now().Add(-2*time.Second))
	if got := out.String(); !strings.HasPrefix(got, "  etcd ") || !strings.Contains(got, "2.0 s   (at 0.0 s)") {
		t.Errorf("printed %q", got)
	}
}
