package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/loopscope/loopscope/cmd/sandbox/internal/release"
)

// kubernetesPrograms are the components that may come from another release than the sandbox's own.
var kubernetesPrograms = []string{nameAPIServer, nameControllerManager, nameScheduler}

// versionLimit bounds how long a program may take to print its version.
const versionLimit = 20 * time.Second

// programs are Kubernetes' components, each of which is either linked into the sandbox or a program
// of its own in dir. The zero value has them all linked in.
type programs struct {
	dir      string
	versions map[string]*utilversion.Version // of those in dir, by name
}

// findPrograms asks the programs in dir for their versions. What dir lacks is the sandbox's own,
// where Kubernetes supports the two side by side; otherwise the error says what is missing.
func findPrograms(ctx context.Context, dir string) (programs, error) {
	if dir == "" {
		return programs{}, nil
	}
	if runtime.GOOS != "linux" {
		return programs{}, errors.New("--components-dir works on Linux only: elsewhere nothing would end these programs if the sandbox were killed")
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return programs{}, fmt.Errorf("--components-dir=%s: %w", dir, err)
	}
	p := programs{dir: absolute, versions: map[string]*utilversion.Version{}}
	for _, name := range kubernetesPrograms {
		version, err := askVersion(ctx, filepath.Join(absolute, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return programs{}, fmt.Errorf("--components-dir=%s: %w", dir, err)
		default:
			p.versions[name] = version
		}
	}
	if len(p.versions) == 0 {
		return programs{}, fmt.Errorf("--components-dir=%s: want a directory with %s there", dir, strings.Join(kubernetesPrograms, ", "))
	}
	if err := p.checkSkew(); err != nil {
		return programs{}, fmt.Errorf("--components-dir=%s: %w", dir, err)
	}
	return p, nil
}

// askVersion runs a program of Kubernetes with --version.
func askVersion(ctx context.Context, path string) (*utilversion.Version, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return nil, fmt.Errorf("%s is not a program: want an executable file", filepath.Base(path))
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w; is it a program for this machine?", filepath.Base(path), err)
	}
	version, err := release.Parse(string(out), kubernetesVersion)
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", filepath.Base(path), err)
	}
	return version, nil
}

// checkSkew holds the versions against Kubernetes' version skew policy: neither
// kube-controller-manager nor kube-scheduler may be newer than kube-apiserver, or more than one
// minor release older.
func (p programs) checkSkew() error {
	server := p.version(nameAPIServer)
	for _, name := range []string{nameControllerManager, nameScheduler} {
		own := p.version(name)
		if own.Major() == server.Major() && own.Minor() <= server.Minor() && own.Minor()+1 >= server.Minor() {
			continue
		}
		fix := "Take both from one release"
		for _, missing := range []string{nameAPIServer, name} {
			if p.versions[missing] == nil {
				fix = fmt.Sprintf("The directory has no %s, and the sandbox's own is %s: put one of the same release there", missing, kubernetesVersion)
			}
		}
		return fmt.Errorf("%s v%s does not work with kube-apiserver v%s: it may be neither newer nor more than one minor release older. %s", name, own, server, fix)
	}
	return nil
}

// version is that of a component.
func (p programs) version(name string) *utilversion.Version {
	if v := p.versions[name]; v != nil {
		return v
	}
	return utilversion.MustParseSemantic(kubernetesVersion)
}

// path is the file of a component, "" where it is the sandbox's own.
func (p programs) path(component string) string {
	name := programOf(component)
	if p.versions[name] == nil {
		return ""
	}
	return filepath.Join(p.dir, name)
}

// String says which release of Kubernetes runs, and where it is from.
func (p programs) String() string {
	if len(p.versions) == 0 {
		return "Kubernetes " + kubernetesVersion
	}
	whole := len(p.versions) == len(kubernetesPrograms)
	parts := make([]string, 0, len(kubernetesPrograms))
	for _, name := range kubernetesPrograms {
		whole = whole && p.version(name).String() == p.version(nameAPIServer).String()
		from := "built in"
		if p.versions[name] != nil {
			from = "from " + p.dir
		}
		parts = append(parts, fmt.Sprintf("%s v%s (%s)", name, p.version(name), from))
	}
	if whole {
		return fmt.Sprintf("Kubernetes v%s from %s", p.version(nameAPIServer), p.dir)
	}
	return "Kubernetes: " + strings.Join(parts, ", ")
}
