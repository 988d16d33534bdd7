package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// state keeps the fates of earlier runs. A plant that was killed is not planted again
// while the state is kept; one that survived is, once anything of its package changed.
type state struct {
	root string
	file *os.File // nil keeps nothing

	mu    sync.Mutex
	known map[string]kept
	now   map[string]string // digests of packages
}

// kept is a line of the state.
type kept struct {
	ID   string `json:"id"`
	Fate status `json:"status"`
	// Package is the digest of the package's files then.
	Package string `json:"package"`
}

func openState(o options, root string) (*state, error) {
	s := &state{root: root, known: map[string]kept{}, now: map[string]string{}}
	if o.state == "" || len(o.ids) > 0 {
		return s, nil
	}
	path := o.state
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var k kept
		if err := json.Unmarshal(line, &k); err != nil {
			continue // The line that was being written when the run was stopped.
		}
		s.known[k.ID] = k
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	s.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil && len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		_, err = s.file.WriteString("\n")
	}
	return s, err
}

func (s *state) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// status is that of an earlier run, if it still stands.
func (s *state) status(p plant) (status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, is := s.known[p.id()]
	if !is || k.Fate == survived && k.Package != s.digest(p.pkg) {
		return "", false
	}
	return k.Fate, true
}

func (s *state) keep(r result) error {
	if s.file == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line, err := json.Marshal(kept{ID: r.plant.id(), Fate: r.status, Package: s.digest(r.plant.pkg)})
	if err != nil {
		return err
	}
	_, err = s.file.Write(append(line, '\n'))
	return err
}

// digest tells whether anything in a package's directory changed, its tests' data
// included. The state is locked.
func (s *state) digest(pkg string) string {
	if d, is := s.now[pkg]; is {
		return d
	}
	sum := sha256.New()
	root := filepath.Join(s.root, pkg)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && filepath.Dir(path) == root && entry.Name() != "testdata":
			return filepath.SkipDir // Another package.
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "" // Unlike any digest, so it is planted again.
	}
	s.now[pkg] = hex.EncodeToString(sum.Sum(nil))
	return s.now[pkg]
}
