package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

// TestOptions: what is wrong is said before anything is built.
func TestOptions(t *testing.T) {
	for want, o := range map[string]options{
		"-version=: give one as v1.2.3":      {},
		"-version=1.2.3: give one as v1.2.3": {version: "1.2.3"},
		"-version=v1.2: give one":            {version: "v1.2"},
		"-version=v1.2.3+a: give one":        {version: "v1.2.3+a"},
		// CVE-2025-53542 (Headlamp): the name of a version that was a command.
		"-version=v1.2.3;touch x: give one":            {version: "v1.2.3;touch x"},
		"-version=v1.2.3-$(touch x): give one":         {version: "v1.2.3-$(touch x)"},
		`"linux" is no platform: give OS/ARCH`:         {version: "v1.2.3", platforms: []string{"linux"}},
		`"linux/amd64/v2" is no platform`:              {version: "v1.2.3", platforms: []string{"linux/amd64/v2"}},
		"is there already: remove it, or name another": {version: "v1.2.3", out: t.TempDir()},
	} {
		if o.out == "" {
			o.out = filepath.Join(t.TempDir(), "dist")
		}
		if err := run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

// small is a repository with a program that builds at once.
func small(t *testing.T) string {
	t.Helper()
	repo := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                "module github.com/loopscope/loopscope\n\ngo 1.26.0\n",
		"LICENSE":               "Apache-2.0\n",
		"cmd/loopscope/main.go": "package main\n\nvar version string\n\nfunc main() { println(version) }\n",
	} {
		path := filepath.Join(repo, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "one"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return repo
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRelease makes one of a small program, and another one, which is the same to the last byte.
func TestRelease(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	repo := small(t)
	o := options{version: "v1.2.3", repo: repo, platforms: []string{"linux/amd64", "windows/amd64"}}
	var outs []string
	for range 2 {
		o.out = filepath.Join(t.TempDir(), "dist")
		if err := run(ctx, o); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, o.out)
	}
	files, err := os.ReadDir(outs[0])
	if err != nil || len(files) != 7 {
		t.Errorf("it made %v: %v", files, err)
	}
	for _, f := range files {
		if a, b := readFile(t, filepath.Join(outs[0], f.Name())), readFile(t, filepath.Join(outs[1], f.Name())); !bytes.Equal(a, b) {
			t.Errorf("%s differs between two releases of one commit", f.Name())
		}
	}
	t.Run("checksums", func(t *testing.T) {
		cmd := exec.CommandContext(ctx, "sha256sum", "--check", "--strict", "checksums.txt")
		cmd.Dir = o.out
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, said)
		}
	})
	t.Run("archives", func(t *testing.T) { archives(t, o.out) })
	t.Run("krew", func(t *testing.T) { krew(t, o.out) })
	t.Run("statement", func(t *testing.T) { stated(t, o) })
	if err := os.WriteFile(filepath.Join(repo, "more.go"), []byte("package more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.out = filepath.Join(t.TempDir(), "dist")
	if err := run(ctx, o); err == nil || !strings.Contains(err.Error(), "commit or stash them") {
		t.Errorf("changes that no commit has: %v", err)
	}
}

func archives(t *testing.T, out string) {
	packed, err := gzip.NewReader(bytes.NewReader(readFile(t, filepath.Join(out, "loopscope_v1.2.3_linux_amd64.tar.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(packed)
	modes := map[string]int64{}
	for {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[header.Name] = header.Mode
	}
	if len(modes) != 2 || modes["loopscope"] != 0o755 || modes["LICENSE"] != 0o644 {
		t.Errorf("the archive for Linux holds %v", modes)
	}
	z, err := zip.OpenReader(filepath.Join(out, "loopscope_v1.2.3_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if len(z.File) != 2 || z.File[1].Name != "loopscope.exe" {
		t.Errorf("the archive for Windows holds %v", z.File)
	}
}

// krew: what its own checks ask of a manifest, which are of a package that only krew may import.
func krew(t *testing.T, out string) {
	var p index.Plugin
	if err := yaml.UnmarshalStrict(readFile(t, filepath.Join(out, "loopscope.yaml")), &p); err != nil {
		t.Fatal(err)
	}
	if p.Kind != "Plugin" || p.Name != "loopscope" || p.Spec.Version != "v1.2.3" || p.Spec.ShortDescription == "" || len(p.Spec.Platforms) != 2 {
		t.Errorf("the manifest is %+v", p)
	}
	for _, platform := range p.Spec.Platforms {
		sum := sumOf(readFile(t, filepath.Join(out, filepath.Base(platform.URI))))
		if platform.Sha256 != sum || !regexp.MustCompile(`^https://`).MatchString(platform.URI) || platform.Selector == nil || len(platform.Files) == 0 || platform.Bin != platform.Files[0].From {
			t.Errorf("a platform is %+v, and the sum %s", platform, sum)
		}
	}
}

// stated: the statement and the lists of parts name what is there.
func stated(t *testing.T, o options) {
	var s statement
	if err := json.Unmarshal(readFile(t, filepath.Join(o.out, "provenance.json")), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Subject) != 6 {
		t.Errorf("it is about %v", s.Subject)
	}
	for _, of := range s.Subject {
		if sum := sumOf(readFile(t, filepath.Join(o.out, of.Name))); of.Digest["sha256"] != sum {
			t.Errorf("%s has the sum %s, and not %s", of.Name, sum, of.Digest["sha256"])
		}
	}
	from, err := sourceOf(t.Context(), o.repo)
	if err != nil || s.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != from.commit {
		t.Errorf("it names %v, and the commit is %s: %v", s.Predicate.BuildDefinition.ResolvedDependencies, from.commit, err)
	}
	parts := string(readFile(t, filepath.Join(o.out, "loopscope_v1.2.3_windows_amd64.cdx.json")))
	if !strings.Contains(parts, `"bomFormat": "CycloneDX"`) || !strings.Contains(parts, "pkg:golang/std@") {
		t.Errorf("the parts are %.500s", parts)
	}
}
