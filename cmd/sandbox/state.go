package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// temporaryPrefix begins the name of every state directory we may delete.
const temporaryPrefix = "loopscope-sandbox-"

// longestSocketPath is what a unix socket's address holds on every system.
const longestSocketPath = 100

// state is the directory a sandbox lives in: data, credentials, logs, socket.
// Directories are 0700 and files 0600, for it holds the cluster's keys.
type state struct {
	Dir       string
	Temporary bool
	socketDir string // set when Dir is too long a path for a socket
	lock      *os.File
}

// openState creates or reuses dir, or makes a temporary directory when dir is
// empty, and locks it against a second sandbox.
func openState(dir string) (*state, error) {
	s := &state{Dir: dir, Temporary: dir == ""}
	if err := s.create(); err != nil {
		return nil, err
	}
	if err := s.acquire(); err != nil {
		return nil, err
	}
	for _, sub := range []string{s.logs(), s.pki()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("create state directory: %w", err), s.close())
		}
	}
	return s, nil
}

func (s *state) create() error {
	if s.Temporary {
		dir, err := os.MkdirTemp("", temporaryPrefix)
		if err != nil {
			return fmt.Errorf("create temporary state directory: %w", err)
		}
		s.Dir = dir
		return nil
	}
	absolute, err := filepath.Abs(s.Dir)
	if err != nil {
		return fmt.Errorf("resolve --state-dir %s: %w", s.Dir, err)
	}
	s.Dir = absolute
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("create --state-dir: %w", err)
	}
	if err := s.refuseForeign(); err != nil {
		return err
	}
	// An existing directory may be open to others; the keys inside must not be.
	if err := os.Chmod(s.Dir, 0o700); err != nil {
		return fmt.Errorf("close --state-dir to others: %w", err)
	}
	return nil
}

// refuseForeign keeps us from spreading over, and closing to others, a
// directory that holds something else, such as a home directory.
func (s *state) refuseForeign() error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("read --state-dir: %w", err)
	}
	if _, err := os.Stat(s.lockPath()); len(entries) > 0 && err != nil {
		return fmt.Errorf("--state-dir %s holds other files and was not made by a sandbox; choose a new or an empty directory", s.Dir)
	}
	return nil
}

// acquire takes the directory's lock, which ends with the process.
func (s *state) acquire() error {
	file, err := os.OpenFile(s.lockPath(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open lock of state directory: %w", err)
	}
	if err := lockFile(file); err != nil {
		_ = file.Close()
		return fmt.Errorf("state directory %s is in use by another sandbox; stop that one or choose another --state-dir: %w", s.Dir, err)
	}
	s.lock = file
	return nil
}

// close releases the directory, and removes it if it is temporary.
func (s *state) close() error {
	errs := []error{s.lock.Close()}
	if s.socketDir != "" {
		errs = append(errs, os.RemoveAll(s.socketDir))
	}
	if s.Temporary {
		errs = append(errs, os.RemoveAll(s.Dir))
	} else {
		errs = append(errs, removeIfExists(s.socketPath()))
	}
	return errors.Join(errs...)
}

func removeIfExists(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (s *state) path(name string) string      { return filepath.Join(s.Dir, name) }
func (s *state) pki() string                  { return s.path("pki") }
func (s *state) pkiFile(name string) string   { return filepath.Join(s.pki(), name) }
func (s *state) logs() string                 { return s.path("logs") }
func (s *state) log(component string) string  { return filepath.Join(s.logs(), component+".log") }
func (s *state) kubeconfig() string           { return s.path("kubeconfig") }
func (s *state) kubeconfigOf(u string) string { return s.path(u + ".kubeconfig") }
func (s *state) auditLog() string             { return s.path("audit.log") }
func (s *state) history() string              { return s.path("history.db") }
func (s *state) auditPolicy() string          { return s.path("audit-policy.yaml") }
func (s *state) lockPath() string             { return s.path("sandbox.lock") }
func (s *state) portsFile() string            { return s.path("ports.json") }

// socketPath is where the control socket lies.
func (s *state) socketPath() string {
	if s.socketDir != "" {
		return filepath.Join(s.socketDir, "control.sock")
	}
	return s.path("control.sock")
}

// prepareSocket makes socketPath usable: it clears what a crashed sandbox left,
// and moves the socket to a short path when the state directory's is too long.
func (s *state) prepareSocket() error {
	if len(s.socketPath()) > longestSocketPath {
		dir, err := os.MkdirTemp("", temporaryPrefix+"s-")
		if err != nil {
			return fmt.Errorf("create directory for the control socket: %w", err)
		}
		s.socketDir = dir
	}
	if err := removeIfExists(s.socketPath()); err != nil {
		return fmt.Errorf("remove stale control socket: %w", err)
	}
	return nil
}

// writeSecret replaces path by data in one step, readable by us alone.
func writeSecret(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*") // created 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Base(path), err), removeIfExists(file.Name()))
	}
	return nil
}
