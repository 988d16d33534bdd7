package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// source is what is built.
type source struct {
	repo   string
	commit string
	at     time.Time // of the commit: everything in a release is that old
}

// sourceOf finds the commit of a working tree in which nothing else is.
func sourceOf(ctx context.Context, repo string) (source, error) {
	changed, err := output(ctx, repo, nil, "git", "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if changed != "" {
		return source{}, fmt.Errorf("the working tree has changes that no commit has, of which a release could not say where they come from: commit or stash them\n%s", changed)
	}
	said, err := output(ctx, repo, nil, "git", "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return source{}, err
	}
	commit, seconds, _ := strings.Cut(said, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("time of commit %s: %w", commit, err)
	}
	return source{repo: repo, commit: commit, at: time.Unix(at, 0).UTC()}, nil
}

// binary is a program for one platform.
type binary struct {
	os, arch, path string
}

func (b binary) platform() string { return b.os + "/" + b.arch }

// program is what it is called in its archive.
func (b binary) program() string {
	if b.os == "windows" {
		return "loopscope.exe"
	}
	return "loopscope"
}

func (b binary) baseName(version string) string {
	return fmt.Sprintf("loopscope_%s_%s_%s", version, b.os, b.arch)
}

// settings are what a build depends on besides the source and the version of Go.
var settings = []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOTOOLCHAIN=local"}

func flags(version string) []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.version=" + version}
}

// build builds every platform twice, each time in an export of the commit of its own.
func build(ctx context.Context, o options, from source, work string) ([]binary, error) {
	var twice [2][]binary
	for i := range twice {
		dir := filepath.Join(work, fmt.Sprintf("%d", i+1), strings.Repeat("deeper", i))
		if err := export(ctx, from, dir); err != nil {
			return nil, err
		}
		env := settings
		if o.cold && i > 0 {
			env = append(env[:len(env):len(env)], "GOCACHE="+filepath.Join(work, "cache"))
		}
		for _, p := range o.platforms {
			fmt.Printf("build %d of %s\n", i+1, p)
			b := binary{path: filepath.Join(dir, "bin", strings.ReplaceAll(p, "/", "-"))}
			b.os, b.arch, _ = strings.Cut(p, "/")
			args := append([]string{"build", "-o", b.path}, append(flags(o.version), "./cmd/loopscope")...)
			if _, err := output(ctx, dir, append([]string{"GOOS=" + b.os, "GOARCH=" + b.arch}, env...), "go", args...); err != nil {
				return nil, err
			}
			twice[i] = append(twice[i], b)
		}
	}
	for i, b := range twice[0] {
		if err := same(b, twice[1][i]); err != nil {
			return nil, err
		}
	}
	return twice[0], nil
}

func same(a, b binary) error {
	first, err1 := os.ReadFile(a.path)
	second, err2 := os.ReadFile(b.path)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !bytes.Equal(first, second) {
		return fmt.Errorf("two builds of %s differ: %s and %s", a.platform(), sumOf(first), sumOf(second))
	}
	return nil
}

// export writes the files of the commit.
func export(ctx context.Context, from source, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	archive := dir + ".tar"
	if _, err := output(ctx, from.repo, nil, "git", "archive", "--output="+archive, from.commit); err != nil {
		return err
	}
	if _, err := output(ctx, dir, nil, "tar", "-xf", archive); err != nil {
		return err
	}
	return os.Remove(archive)
}

// output runs a command and returns what it prints, without the last line's end.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said.String())
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// goVersion is that of the compiler, which is the one that this program was built with: it is
// run with `go run`.
func goVersion() string { return strings.TrimPrefix(runtime.Version(), "go") }

// removeAll removes a directory, in which Go's cache may have left what cannot be written.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // It is about to go.
		}
		return nil
	})
	return os.RemoveAll(dir)
}
