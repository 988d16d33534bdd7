// Command release makes what a release consists of: a static binary for each platform, built
// twice and compared, in an archive of its own; their checksums; what each is made of; a manifest
// for krew; and a statement of where they come from. It may not sign or publish anything.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

const project = "https://github.com/loopscope/loopscope"

// platforms are those of a release.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"

type options struct {
	version   string
	repo, out string
	platforms []string
	cold      bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.version, "version", "", "version of the release, as v1.2.3")
	flag.StringVar(&o.repo, "repo", ".", "working tree, in which nothing may be uncommitted")
	flag.StringVar(&o.out, "out", "dist", "directory to make; it may not be there yet")
	flag.BoolVar(&o.cold, "cold", false, "compile everything anew for the second build, instead of linking alone")
	list := flag.String("platforms", platforms, "what to build for, as OS/ARCH,OS/ARCH")
	flag.Parse()
	o.platforms = strings.Split(*list, ",")
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// check is everything that is wrong with the options.
func (o options) check() error {
	var errs []error
	if !semver.IsValid(o.version) || semver.Canonical(o.version) != o.version {
		errs = append(errs, fmt.Errorf("-version=%s: give one as v1.2.3 or v1.2.3-rc.1", o.version))
	}
	for _, p := range o.platforms {
		if os, arch, two := strings.Cut(p, "/"); !two || os == "" || arch == "" || strings.Contains(arch, "/") {
			errs = append(errs, fmt.Errorf("-platforms: %q is no platform: give OS/ARCH", p))
		}
	}
	if _, err := os.Lstat(o.out); !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("-out=%s is there already: remove it, or name another directory", o.out))
	}
	return errors.Join(errs...)
}

func run(ctx context.Context, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	from, err := sourceOf(ctx, o.repo)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "loopscope-release-")
	if err != nil {
		return err
	}
	defer func() { _ = removeAll(work) }()
	binaries, err := build(ctx, o, from, work)
	if err != nil {
		return err
	}
	made, err := assemble(ctx, o, from, binaries)
	if err != nil {
		return err
	}
	fmt.Printf("%s of commit %s, in %s:\n", o.version, from.commit, o.out)
	for _, f := range made {
		fmt.Printf("  %-42s %10d bytes  sha256:%s  %s\n", f.name, f.size, f.sum, f.about)
	}
	fmt.Println("Every binary was built twice, in different directories, with the same result. Nothing is signed: sign checksums.txt and provenance.json.")
	return nil
}

// assemble writes everything into the directory of the release, and returns what it is.
func assemble(ctx context.Context, o options, from source, binaries []binary) ([]file, error) {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return nil, err
	}
	var made []file
	add := func(name, about string, text []byte) error {
		if err := os.WriteFile(filepath.Join(o.out, name), text, 0o644); err != nil {
			return err
		}
		made = append(made, file{name: name, about: about, size: len(text), sum: sumOf(text)})
		return nil
	}
	for _, b := range binaries {
		archive, err := b.archive(from)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.platform(), err)
		}
		parts, err := b.parts(ctx, o.version)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.platform(), err)
		}
		if err := errors.Join(add(b.archiveName(o.version), "binary", archive), add(b.baseName(o.version)+".cdx.json", "what it is made of (CycloneDX)", parts)); err != nil {
			return nil, err
		}
	}
	manifest, err := krewManifest(o.version, binaries, made)
	if err != nil {
		return nil, err
	}
	if err := add("loopscope.yaml", "manifest for krew", manifest); err != nil {
		return nil, err
	}
	if err := add("checksums.txt", "sums of all above", checksums(made)); err != nil {
		return nil, err
	}
	statement, err := provenance(o, from, made)
	if err != nil {
		return nil, err
	}
	return made, add("provenance.json", "where they come from (in-toto, SLSA)", statement)
}
