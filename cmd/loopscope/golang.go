package main

import (
	"cmp"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// gcPercent lets the heap grow to three times what is in use, where Go's own
// double costs a tenth of the loops' CPU: what the record holds is marked again
// in every collection. The environment's GOGC wins.
const gcPercent = 200

// tuneGo sets Go's collector to what the program and its container need, and returns what
// bounds its memory. Of processors Go takes by itself as many as the container's quota
// has (GOMAXPROCS, since Go 1.25). The environment wins over all of it.
func tuneGo(log *slog.Logger, cgroup memlimit.Provider) (memory string) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	limit, err := memlimit.Set(memlimit.WithProvider(cgroup))
	if err != nil {
		log.Debug("The memory limit of the container is not known", "error", err)
	}
	memory = memoryText(limit, os.Getenv("GOMEMLIMIT"))
	log.Info("Settings of Go", "GOGC", cmp.Or(os.Getenv("GOGC"), strconv.Itoa(gcPercent)), "GOMAXPROCS", runtime.GOMAXPROCS(0),
		"GOTRACEBACK", cmp.Or(os.Getenv("GOTRACEBACK"), "single"), "GOMEMLIMIT", memory)
	return memory
}

// memoryText is what bounds the memory of the program, with who says so.
func memoryText(limit int64, env string) string {
	switch {
	case env != "":
		return "GOMEMLIMIT=" + env + " of the environment"
	case limit == math.MaxInt64:
		return "not limited"
	}
	return prose.Thousands(limit>>20) + " MiB, nine tenths of what its container may use"
}
