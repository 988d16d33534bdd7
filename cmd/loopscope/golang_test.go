package main

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// The collector keeps to the limit of the container, unless the environment says otherwise,
// and the log has what came of it.
func TestTuneGo(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }()
	for _, c := range []struct {
		name   string
		env    map[string]string
		cgroup memlimit.Provider
		memory string
		limit  int64 // 0 for what it was
		gc     int
		log    string
	}{
		{"a container", nil, memlimit.Limit(512 << 20), "460 MiB, nine tenths of what its container may use", 512 << 20 / 10 * 9, gcPercent, "GOGC=200 "},
		{"no limit", nil, func() (uint64, error) { return 0, memlimit.ErrNoLimit }, "not limited", math.MaxInt64, gcPercent, "GOTRACEBACK=single"},
		{"no cgroup", nil, func() (uint64, error) { return 0, errors.New("no cgroup") }, "not limited", math.MaxInt64, gcPercent, `error="failed to set GOMEMLIMIT: no cgroup"`},
		{"the environment", map[string]string{"GOMEMLIMIT": "400MiB", "GOGC": "50", "GOTRACEBACK": "all"}, memlimit.Limit(512 << 20), "GOMEMLIMIT=400MiB of the environment", math.MaxInt64, 100, "GOTRACEBACK=all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			debug.SetGCPercent(100)
			debug.SetMemoryLimit(math.MaxInt64)
			for name, value := range map[string]string{"GOGC": "", "GOTRACEBACK": ""} {
				t.Setenv(name, value)
			}
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			var log bytes.Buffer
			memory := tuneGo(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), c.cgroup)
			if memory != c.memory || !strings.Contains(log.String(), c.log) || !strings.Contains(log.String(), `msg="Settings of Go"`) || !strings.Contains(log.String(), "GOMAXPROCS=") {
				t.Errorf("memory %q, want %q; log: %s", memory, c.memory, log.String())
			}
			if gc := debug.SetGCPercent(100); gc != c.gc {
				t.Errorf("GOGC is %d, want %d", gc, c.gc)
			}
			if is := debug.SetMemoryLimit(-1); is/1024 != c.limit/1024 {
				t.Errorf("the limit is %d, want %d", is, c.limit)
			}
		})
	}
}
