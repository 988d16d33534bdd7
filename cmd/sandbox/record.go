package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// record says where a running sandbox is. It lies in a directory of the user's,
// one file per sandbox, so that other commands find it.
type record struct {
	PID        int       `json:"pid"`
	Started    time.Time `json:"started"`
	StateDir   string    `json:"stateDir"`
	Temporary  bool      `json:"temporary"`
	Kubernetes string    `json:"kubernetes"` // which release runs, in words
	Kubeconfig string    `json:"kubeconfig"`
	Socket     string    `json:"socket"`
	SocketDir  string    `json:"socketDir,omitempty"`
	Dashboard  string    `json:"dashboard,omitempty"`
	Ready      bool      `json:"ready"`
}

func newRecord(s *state, pid int, started time.Time) *record {
	return &record{
		PID: pid, Started: started, StateDir: s.Dir, Temporary: s.Temporary,
		Kubeconfig: s.kubeconfig(), Socket: s.socketPath(), SocketDir: s.socketDir,
	}
}

// recordDirectory is the first place of the user's own that exists.
func recordDirectory() string {
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); runtime != "" {
		return filepath.Join(runtime, "loopscope-sandbox")
	}
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "loopscope-sandbox")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("%srecords-%d", temporaryPrefix, os.Getuid()))
}

func (r *record) path() string {
	return filepath.Join(recordDirectory(), fmt.Sprintf("%d.json", r.PID))
}

func (r *record) save() error {
	if err := os.MkdirAll(recordDirectory(), 0o700); err != nil {
		return fmt.Errorf("record the running sandbox: %w", err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record the running sandbox: %w", err)
	}
	return writeSecret(r.path(), data)
}

func (r *record) remove() error { return removeIfExists(r.path()) }

// alive reports whether the sandbox answers.
func (r *record) alive() bool {
	_, err := askSandbox(r.Socket, controlRequest{Operation: operationStatus})
	return err == nil
}

// readRecords returns every record, whether its sandbox lives or not. Files
// that are not records are left out.
func readRecords() []record {
	files, err := filepath.Glob(filepath.Join(recordDirectory(), "*.json"))
	if err != nil {
		return nil
	}
	var records []record
	for _, file := range files {
		var r record
		data, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(data, &r) == nil && r.PID > 0 && r.path() == file {
			records = append(records, r)
		}
	}
	return records
}

var errNoneRunning = errors.New("no sandbox is running; start one with: sandbox")

// findRunning returns the sandbox of the given state directory, or, when that
// is empty, the one started last.
func findRunning(stateDir string) (record, error) {
	wanted, err := absoluteOrEmpty(stateDir)
	if err != nil {
		return record{}, err
	}
	var found record
	for _, r := range readRecords() {
		if (wanted == "" || r.StateDir == wanted) && r.Started.After(found.Started) && r.alive() {
			found = r
		}
	}
	switch {
	case found.PID != 0:
		return found, nil
	case wanted != "":
		return record{}, fmt.Errorf("no sandbox is running with --state-dir %s", stateDir)
	default:
		return record{}, errNoneRunning
	}
}

func absoluteOrEmpty(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve --state-dir %s: %w", dir, err)
	}
	return absolute, nil
}

// sweepStale removes what sandboxes left behind that could not clean up, such
// as those that were killed. Only directories we named ourselves are touched.
func sweepStale() {
	for _, r := range readRecords() {
		if processExists(r.PID) || r.alive() {
			continue
		}
		if r.Temporary {
			removeTemporary(r.StateDir)
		}
		removeTemporary(r.SocketDir)
		_ = r.remove()
	}
}

func removeTemporary(dir string) {
	if filepath.Dir(dir) == filepath.Clean(os.TempDir()) && strings.HasPrefix(filepath.Base(dir), temporaryPrefix) {
		_ = os.RemoveAll(dir) // a later start tries again
	}
}
