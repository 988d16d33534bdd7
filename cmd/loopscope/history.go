package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loopscope/loopscope/cmd/internal/app"
)

// historyOff is the value of --history that keeps none.
const historyOff = "off"

// historyOptions are the flags of a history that is written.
type historyOptions struct {
	path     string
	maxAge   time.Duration
	maxBytes string
}

func (o *historyOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.path, "history", "", `file that keeps syncs beyond the process, or "off" (default loopscope/CLUSTER.db in $XDG_STATE_HOME or ~/.local/state)`)
	flags.DurationVar(&o.maxAge, "history-max-age", 7*24*time.Hour, "maximum age of a kept sync")
	flags.StringVar(&o.maxBytes, "history-max-bytes", "1Gi", "maximum size of the history on disk; uneventful syncs are deleted first")
}

// limit is how large the history may become. The error is everything that is wrong with the flags.
func (o *historyOptions) limit() (bytes int64, err error) {
	var errs []error
	size, err := resource.ParseQuantity(o.maxBytes)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("--history-max-bytes=%s: %w; give a size such as 500Mi or 1Gi", o.maxBytes, err))
	case size.Value() < app.MinHistoryBytes:
		errs = append(errs, fmt.Errorf("--history-max-bytes=%s: give %s or more, or --history=off", o.maxBytes, resource.NewQuantity(app.MinHistoryBytes, resource.BinarySI)))
	}
	if o.maxAge <= 0 {
		errs = append(errs, fmt.Errorf("--history-max-age=%s: give a time above 0, or --history=off", o.maxAge))
	}
	return size.Value(), errors.Join(errs...)
}

// settings are the app's. Where the usual place cannot be had there is no
// history: that is no reason not to run the loops.
func (o *historyOptions) settings(cluster string, log *slog.Logger) (app.History, error) {
	limit, err := o.limit()
	if err != nil {
		return app.History{}, err
	}
	path := o.path
	switch path {
	case historyOff:
		return app.History{}, nil
	case "":
		if path, err = usualHistory(cluster, os.Getenv); err != nil {
			log.Warn("No history is kept: what happens is gone with the process. Give a file with --history=PATH to keep it", "error", err)
			return app.History{}, nil
		}
	}
	return app.History{Path: path, MaxAge: o.maxAge, MaxBytes: limit}, nil
}

// usualHistory is the history of a cluster.
func usualHistory(cluster string, env func(string) string) (string, error) {
	return usualFile(cluster, ".db", env)
}

// usualFile is the file for a cluster in the user's state directory, which it makes.
func usualFile(cluster, ending string, env func(string) string) (string, error) {
	state := env("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // A relative one is to be ignored, says the standard.
		home := env("HOME")
		if home == "" || filepath.Clean(home) == "/" { // A container: what is written there is lost with it.
			return "", errors.New("there is no home directory")
		}
		state = filepath.Join(home, ".local", "state")
	}
	folder := filepath.Join(state, "loopscope")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the state directory: %w", err)
	}
	return filepath.Join(folder, fileName(cluster)+ending), nil
}

var unsafeInFiles = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// fileName is a cluster's name as one of a file: different for every cluster.
func fileName(cluster string) string {
	const longest = 80
	safe := strings.Trim(unsafeInFiles.ReplaceAllString(cluster, "-"), "-")
	if len(safe) > longest {
		safe = safe[:longest]
	}
	if safe == cluster && safe != "" {
		return safe
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(cluster)) // a hash never fails
	return strings.TrimLeft(fmt.Sprintf("%s-%08x", safe, sum.Sum32()), "-")
}
