package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// slow is from when on a test runs after all others: most mistakes are noticed before.
const slow = 300 * time.Millisecond

// address bounds the memory of a test: a loop that a mistake lets run forever should
// not take the machine's.
const address = 16 << 20 // KiB

// suite is the tests of one package, which may be planted into it or into another.
type suite struct {
	dir string // of the package
	pkg string // below the module's root
	// slow matches the names of slow tests, "" if there are none.
	slow string
	// took is how long they run without a mistake.
	took time.Duration
}

// newSuite knows how to run the tests of a package.
func newSuite(root, pkg string) *suite {
	return &suite{dir: filepath.Join(root, pkg), pkg: pkg, took: 10 * time.Minute}
}

// houses are the packages above one whose tests reach into it, the nearest first: what
// several rooms have in common is tested there, once for all of them.
func houses(ctx context.Context, root, pkg string) ([]string, error) {
	var found []string
	for above := filepath.Dir(pkg); above != "."; above = filepath.Dir(above) {
		tests, err := filepath.Glob(filepath.Join(root, above, "*_test.go"))
		if err != nil {
			return nil, err
		}
		if len(tests) == 0 {
			continue
		}
		list := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-f", "{{.Dir}}", "./"+above)
		list.Dir = root
		said, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list what the tests of %s reach: %w", above, err)
		}
		if slices.Contains(strings.Split(string(said), "\n"), filepath.Join(root, pkg)) {
			found = append(found, above)
		}
	}
	return found, nil
}

// drawing is the environment of tests that draw at random with rapid: the same draws for
// every plant, or its status would depend on them; and no time and no files for what fails
// on purpose.
var drawing = []string{"RAPID_SEED=1", "RAPID_NOFAILFILE=true", "RAPID_SHRINKTIME=1ms"}

// baseline runs the tests without a mistake. They must pass.
func (s *suite) baseline(ctx context.Context, binary, scratch string) error {
	start := time.Now()
	said, err := s.run(ctx, binary, scratch, 0, "-test.v")
	if err != nil {
		return fmt.Errorf("the tests of %s fail without a mistake: %w\n%s", s.pkg, err, tail(said))
	}
	s.took, s.slow = time.Since(start), slowTests(said)
	if !bytes.Contains(said, []byte("--- PASS")) {
		return fmt.Errorf("%s has no tests, so every mistake would survive: write some", s.pkg)
	}
	return nil
}

var passed = regexp.MustCompile(`(?m)^--- PASS: (\S+) \(([0-9.]+)s\)$`)

func slowTests(said []byte) string {
	var names []string
	for _, match := range passed.FindAllSubmatch(said, -1) {
		if seconds, err := strconv.ParseFloat(string(match[2]), 64); err == nil && seconds >= slow.Seconds() {
			names = append(names, string(match[1]))
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

var compileError = regexp.MustCompile(`mutant-(\d+)\.go:`)

// build makes a test binary with the mutants of one package in it, and tells which of them do not
// compile and so are not in it. Symbols are of no use there and cost half of the link.
func (s *suite) build(ctx context.Context, root, scratch string, mutants []mutant) (binary string, bad map[int]bool, err error) {
	binary, bad = filepath.Join(scratch, "tests"), map[int]bool{}
	for {
		file, err := s.overlay(root, scratch, mutants)
		if err != nil {
			return "", nil, err
		}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-gcflags=-e", "-overlay", file, "-o", binary, "./"+s.pkg)
		cmd.Dir = root
		said, err := cmd.CombinedOutput()
		if err == nil {
			return binary, bad, nil
		}
		if len(mutants) == 1 && ctx.Err() == nil {
			return "", map[int]bool{mutants[0].number: true}, nil
		}
		found := compileError.FindAllSubmatch(said, -1)
		if len(found) == 0 || ctx.Err() != nil {
			return "", nil, fmt.Errorf("build the tests of %s: %w\n%s", s.pkg, cmp.Or(ctx.Err(), err), tail(said))
		}
		for _, match := range found {
			number, _ := strconv.Atoi(string(match[1]))
			bad[number] = true
		}
		mutants = slices.DeleteFunc(mutants, func(x mutant) bool { return bad[x.number] })
	}
}

// overlay writes a package with the mutants in it.
func (s *suite) overlay(root, scratch string, mutants []mutant) (string, error) {
	texts, in := map[string][]byte{}, map[string][]mutant{}
	for _, x := range mutants {
		in[x.plant.file] = append(in[x.plant.file], x)
		texts[filepath.Join(root, x.plant.pkg, "mutants_switch.go")] = []byte(switchFile(x.plant.name))
	}
	for file, list := range in {
		path := filepath.Join(root, file)
		source, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if texts[path], err = switched(path, source, list); err != nil {
			return "", err
		}
	}
	return overlay(scratch, texts)
}

// errTimeout is why tests did not end by themselves.
var errTimeout = errors.New("timeout")

// run runs tests of the binary, with one plant switched on, in the package's directory. Whatever they start or
// leave behind goes with them.
func (s *suite) run(ctx context.Context, binary, scratch string, number int, flags ...string) ([]byte, error) {
	temp, err := os.MkdirTemp(scratch, "temp")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	limit := 3*s.took + 20*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, limit+10*time.Second, errTimeout)
	defer cancel()
	args := slices.Concat([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, address), binary,
		"-test.failfast", "-test.paniconexit0", "-test.timeout=" + limit.String()}, flags)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir, cmd.Env = s.dir, slices.Concat(os.Environ(), drawing, []string{"TMPDIR=" + temp, fmt.Sprintf("%s=%d", variable, number)})
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	inGroup(cmd)
	if err = cmd.Run(); cmd.Process != nil {
		_ = killGroup(cmd) // Mostly there is nothing left.
	}
	if bytes.Contains(said.Bytes(), []byte("panic: test timed out after")) {
		err = errTimeout
	}
	return said.Bytes(), cmp.Or(context.Cause(ctx), err)
}

// tail is the end of what tests said.
func tail(said []byte) string {
	const most = 4000
	return string(said[max(0, len(said)-most):])
}
