package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// state keeps the fates of earlier runs. A plant that was killed is not planted again
// while the state is kept; one that survived is, as there may be a test for it by now.
type state struct {
	file *os.File // nil keeps nothing

	mu    sync.Mutex
	known map[string]kept
}

// kept is a line of the state.
type kept struct {
	ID   string `json:"id"`
	Fate status `json:"status"`
}

func openState(o options, root string) (*state, error) {
	s := &state{known: map[string]kept{}}
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
	return k.Fate, is && k.Fate != survived
}

func (s *state) keep(r result) error {
	if s.file == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line, err := json.Marshal(kept{ID: r.plant.id(), Fate: r.status})
	if err != nil {
		return err
	}
	_, err = s.file.Write(append(line, '\n'))
	return err
}
