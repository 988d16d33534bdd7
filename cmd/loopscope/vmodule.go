package main

import (
	"context"
	"log/slog"
	"path"
	"runtime"
	"strings"

	logsapi "k8s.io/component-base/logs/api/v1"
)

// byFile logs more of some files than of all others. It decides on a line that is made already: only
// that knows where it was written.
type byFile struct {
	slog.Handler
	all   *slog.LevelVar
	files logsapi.VModuleConfiguration
}

// Enabled reports whether a line of any file is logged at that level.
func (h byFile) Enabled(_ context.Context, level slog.Level) bool {
	if level >= h.all.Level() {
		return true
	}
	for _, f := range h.files {
		if level >= slog.Level(-int(f.Verbosity)) {
			return true
		}
	}
	return false
}

// Handle logs a line that its file may.
func (h byFile) Handle(ctx context.Context, line slog.Record) error {
	if line.Level < h.all.Level() && line.Level < h.of(line.PC) {
		return nil
	}
	return h.Handler.Handle(ctx, line)
}

// of is the level of a place in the program, by the first pattern that its file matches.
func (h byFile) of(pc uintptr) slog.Level {
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	file := strings.TrimSuffix(path.Base(frame.File), ".go")
	for _, f := range h.files {
		if is, _ := path.Match(f.FilePattern, file); is { // Patterns were checked.
			return slog.Level(-int(f.Verbosity))
		}
	}
	return h.all.Level()
}

// WithAttrs and WithGroup are slog's.
func (h byFile) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// WithGroup returns a handler whose attributes are in a group.
func (h byFile) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}
