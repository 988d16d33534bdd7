package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// survivor is an entry of the list: a plant by its name, and why it changes nothing.
type survivor struct {
	File   string `json:"file"`
	Func   string `json:"func"`
	Kind   string `json:"kind"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Nth counts plants that are otherwise called the same; it is left out for the first.
	Nth int    `json:"nth,omitempty"`
	Why string `json:"why"`
}

// survivors are the mistakes that change nothing.
type survivors []survivor

func readSurvivors(path string) (survivors, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no list of survivors at %s: run this in the module's root, or make an empty file", path)
	}
	if err != nil {
		return nil, err
	}
	var list survivors
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for i, s := range list {
		if strings.TrimSpace(s.Why) == "" {
			return nil, fmt.Errorf("%s: entry %d (%s in %s of %s) does not say why the mistake changes nothing", path, i+1, s.Kind, s.Func, s.File)
		}
	}
	return list, nil
}

func (s survivor) names(p plant) bool {
	return s.File == p.file && s.Func == p.fn && s.Kind == p.kind && s.Before == p.before && s.After == p.after && max(1, s.Nth) == p.nth
}

// why is the reason of a plant that is listed, "" for the others.
func (list survivors) why(p plant) string {
	for _, s := range list {
		if s.names(p) {
			return s.Why
		}
	}
	return ""
}

// stale are the entries that no plant has any more. An entry for a file of a package
// that was not asked for is stale only if its file is gone.
func (list survivors) stale(dir string, plants []plant) (stale []survivor, err error) {
	asked := map[string]bool{}
	named := map[survivor]bool{}
	for _, p := range plants {
		asked[p.file] = true
		for _, s := range list {
			named[s] = named[s] || s.names(p)
		}
	}
	for _, s := range list {
		_, err := os.Stat(filepath.Join(dir, s.File))
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && asked[s.File] && !named[s]:
			stale = append(stale, s)
		case err != nil:
			return nil, err
		}
	}
	return stale, nil
}

// entry is what the list needs to hold a plant.
func entry(p plant) string {
	s := survivor{File: p.file, Func: p.fn, Kind: p.kind, Before: p.before, After: p.after, Why: "..."}
	if p.nth > 1 {
		s.Nth = p.nth
	}
	text, err := yaml.Marshal(survivors{s})
	if err != nil {
		panic(err) // Strings and numbers alone.
	}
	return string(text)
}
