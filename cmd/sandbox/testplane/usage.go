package testplane

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clockTick is the unit of times in /proc on Linux.
const clockTick = 10 * time.Millisecond

// Usage is what a process has taken since its start.
type Usage struct {
	CPU            time.Duration // by itself and in the kernel
	Resident, Peak int64         // bytes
}

func (u Usage) String() string {
	return fmt.Sprintf("%.1f s of processor, %d MB resident, %d MB at most", u.CPU.Seconds(), u.Resident>>20, u.Peak>>20)
}

// UsageOf is what a running process has taken so far.
func UsageOf(t testing.TB, pid int) (u Usage) {
	t.Helper()
	stat, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(proc(pid, "status"))
	if err != nil {
		t.Fatal(err)
	}
	// The second field is a name in parentheses, which may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const user, system = 14 - 3, 15 - 3 // fields[0] is the third
	u.CPU = time.Duration(integer(t, fields[user])+integer(t, fields[system])) * clockTick
	for line := range strings.Lines(string(status)) {
		switch title, rest, _ := strings.Cut(line, ":"); title {
		case "VmRSS":
			u.Resident = integer(t, strings.Fields(rest)[0]) << 10
		case "VmHWM":
			u.Peak = integer(t, strings.Fields(rest)[0]) << 10
		}
	}
	if u.Resident == 0 || u.Peak == 0 {
		t.Fatalf("process %d has no memory", pid)
	}
	return u
}

func proc(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }

func integer(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("read /proc: %v", err)
	}
	return n
}
