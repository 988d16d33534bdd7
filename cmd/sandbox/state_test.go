package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPortsAreTakenAgainWhileFree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ports.json")
	first := portsIn(t, file)
	seen := map[int]bool{}
	for _, port := range first.all() {
		if *port < firstPort || *port >= firstPort+manyBlocks*blockSize || seen[*port] {
			t.Errorf("port %d chosen twice, or out of its range, in %+v", *port, first)
		}
		seen[*port] = true
	}
	if again := portsIn(t, file); again != first {
		t.Errorf("ports %+v the second time, want %+v", again, first)
	}
	holder, err := net.Listen("tcp", address(first.Scheduler))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	second := portsIn(t, file)
	if second.Scheduler == first.Scheduler {
		t.Errorf("took port %d although it is busy", second.Scheduler)
	}
	second.Scheduler = first.Scheduler
	if first != second {
		t.Errorf("ports %+v the second time, want %+v but for the scheduler's", second, first)
	}
}

// portsIn chooses ports and gives them back.
func portsIn(t *testing.T, file string) ports {
	t.Helper()
	p, guard, err := choosePorts(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPortsAreChosenByOneSandbox: also before its children listen, and where it had them the last time.
func TestPortsAreChosenByOneSandbox(t *testing.T) {
	dir := t.TempDir()
	first, guard, err := choosePorts(filepath.Join(dir, "first.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	for _, file := range []string{"second.json", "first.json"} {
		second := portsIn(t, filepath.Join(dir, file))
		for i, port := range second.all() {
			if slices.ContainsFunc(first.all(), func(p *int) bool { return *p == *port }) {
				t.Errorf("%s: port %d (%d.) is another sandbox's already", file, *port, i+1)
			}
		}
	}
}

func TestPortsSurviveABadFile(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "not JSON", "out of range": `{"apiServer":80,"scheduler":81}`, "beyond the range": `{"apiServer":65000}`,
		"twice": `{"etcdClient":20001,"etcdPeer":20001,"apiServer":20001,"scheduler":20001,"controllerManager":20001,"loops":20001}`, "negative": `{"apiServer":-20000}`,
	} {
		file := filepath.Join(t.TempDir(), "ports.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := portsIn(t, file)
		seen := map[int]bool{}
		for _, port := range p.all() {
			if seen[*port] || (*port-firstPort)/blockSize != (p.APIServer-firstPort)/blockSize {
				t.Errorf("%s: ports %+v, want different ones of one block", name, p)
			}
			seen[*port] = true
		}
	}
}

func TestStateIsLockedAndPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "deep")
	first, err := openState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openState(dir); err == nil || !strings.Contains(err.Error(), "in use by another sandbox") {
		t.Errorf("opening it twice: %v, want an error that says who has it", err)
	}
	checkPrivate(t, dir)
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openState(dir)
	if err != nil {
		t.Fatalf("opening it after the close: %v", err)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}

func TestStateLeavesForeignDirectoriesAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := openState(dir); err == nil || !strings.Contains(err.Error(), "choose a new or an empty directory") {
		t.Errorf("opening a directory of somebody else's: %v, want an error with advice", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("its mode is now %v (%v), want it unchanged", info.Mode(), err)
	}
}

func TestTemporaryStateIsRemoved(t *testing.T) {
	s, err := openState("")
	if err != nil {
		t.Fatal(err)
	}
	if err := writeSecret(s.path("secret"), []byte("x")); err != nil {
		t.Error(err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("%s remains (%v)", s.Dir, err)
	}
}

// TestSweepRemovesWhatTheDeadLeft: and nothing that is not ours.
func TestSweepRemovesWhatTheDeadLeft(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	const nobody = 1 << 30 // above any process id
	ours, err := os.MkdirTemp("", temporaryPrefix)
	if err != nil {
		t.Fatal(err)
	}
	kept, foreign := t.TempDir(), filepath.Join(os.TempDir(), "foreign")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	records := []*record{
		{PID: nobody, StateDir: ours, Temporary: true},
		{PID: nobody + 1, StateDir: kept},
		{PID: nobody + 2, StateDir: foreign, Temporary: true},
		{PID: os.Getpid(), StateDir: kept},
	}
	for _, r := range records {
		if err := r.save(); err != nil {
			t.Fatal(err)
		}
	}
	sweepStale()
	exists := map[string]bool{}
	for _, dir := range []string{ours, kept, foreign} {
		_, err := os.Stat(dir)
		exists[dir] = err == nil
	}
	if diff := cmp.Diff(map[string]bool{ours: false, kept: true, foreign: true}, exists); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}
	if left := readRecords(); len(left) != 1 || left[0].PID != os.Getpid() {
		t.Errorf("records left: %+v, want that of the living process", left)
	}
}
