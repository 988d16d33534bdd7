package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/app"
)

func TestHistoryFlags(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	usual := historyOptions{maxAge: time.Hour, maxBytes: "1Gi"}
	for _, c := range []struct {
		name string
		with func(*historyOptions)
		want app.History
		err  string
	}{
		{"nothing given", func(*historyOptions) {}, app.History{Path: filepath.Join(state, "loopscope", "kind.db"), MaxAge: time.Hour, MaxBytes: 1 << 30}, ""},
		{"a file", func(o *historyOptions) { o.path = "x.db" }, app.History{Path: "x.db", MaxAge: time.Hour, MaxBytes: 1 << 30}, ""},
		{"off", func(o *historyOptions) { o.path = "off" }, app.History{}, ""},
		{"a size", func(o *historyOptions) { o.path, o.maxBytes = "x.db", "200M" }, app.History{Path: "x.db", MaxAge: time.Hour, MaxBytes: 200_000_000}, ""},
		{"no size", func(o *historyOptions) { o.maxBytes = "large" }, app.History{}, "--history-max-bytes=large"},
		{"too little", func(o *historyOptions) { o.maxBytes = "1Mi" }, app.History{}, "give 16Mi or more"},
		{"no time", func(o *historyOptions) { o.maxAge = 0 }, app.History{}, "--history-max-age=0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := usual
			c.with(&o)
			got, err := o.settings("kind", slog.New(slog.DiscardHandler))
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("settings = %+v, %v, want %+v, %q", got, err, c.want, c.err)
			}
		})
	}
}

func TestUsualHistory(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "blocked")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		env       map[string]string
		want, err string
	}{
		{"a state directory", map[string]string{"XDG_STATE_HOME": dir + "/s", "HOME": "/nowhere"}, dir + "/s/loopscope/c.db", ""},
		{"a home", map[string]string{"HOME": dir + "/h"}, dir + "/h/.local/state/loopscope/c.db", ""},
		{"a relative state directory", map[string]string{"XDG_STATE_HOME": "s", "HOME": dir + "/h"}, dir + "/h/.local/state/loopscope/c.db", ""},
		{"no home", nil, "", "no home directory"},
		{"a container's home", map[string]string{"HOME": "/"}, "", "no home directory"},
		{"a home that is none", map[string]string{"HOME": blocked}, "", "make the state directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := usualHistory("c", func(name string) string { return c.env[name] })
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("usualHistory = %q, %v, want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

// What cannot be had by itself is said once, with what to do.
func TestNoHistoryIsSaid(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	var log bytes.Buffer
	o := historyOptions{maxAge: time.Hour, maxBytes: "1Gi"}
	got, err := o.settings("kind", slog.New(slog.NewTextHandler(&log, nil)))
	if got != (app.History{}) || err != nil || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "--history=PATH") {
		t.Errorf("settings = %+v, %v, log %q", got, err, log.String())
	}
}

func FuzzFileName(f *testing.F) {
	for _, name := range []string{"kind-dev", "", "..", "a/b", "arn:aws:eks:eu-west-1:1:cluster/x", strings.Repeat("x", 300), "\x00"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, a string) {
		name := fileName(a)
		if name == "" || len(name) > 100 || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			t.Fatalf("the file of %q is %q", a, name)
		}
	})
}
