package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/cmd/sandbox/internal/supervise"
)

// programsIn makes a directory of programs that only print a version; "" makes a file that is none.
func programsIn(t *testing.T, versions map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, version := range versions {
		script, mode := "#!/bin/sh\necho '"+version+"'\n", os.FileMode(0o700)
		if version == "" {
			mode = 0o600
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindPrograms(t *testing.T) {
	const server, manager, scheduler = nameAPIServer, nameControllerManager, nameScheduler
	for _, c := range []struct {
		name     string
		versions map[string]string
		want     string // part of what is said, or of the error
		fails    bool
	}{
		{"a whole release", map[string]string{server: "Kubernetes v1.30.14", manager: "Kubernetes v1.30.14", scheduler: "Kubernetes v1.30.14"}, "Kubernetes v1.30.14 from ", false},
		{"managed", map[string]string{server: "Kubernetes v1.33.5-eks-1234567", manager: "Kubernetes v1.33.5-eks-1234567", scheduler: "Kubernetes v1.33.5-eks-1234567"}, "Kubernetes v1.33.5-eks-1234567 from ", false},
		{"an older manager alone", map[string]string{manager: "Kubernetes v1.35.4"}, "kube-apiserver v1.36.3 (built in), kube-controller-manager v1.35.4 (from ", false},
		{"a newer server alone", map[string]string{server: "Kubernetes v1.37.0"}, "kube-apiserver v1.37.0 (from ", false},
		{"an old server alone", map[string]string{server: "Kubernetes v1.30.14"}, "kube-controller-manager v1.36.3 does not work with kube-apiserver v1.30.14: it may be neither newer nor more than one minor release older. The directory has no kube-controller-manager, and the sandbox's own is v1.36.3: put one of the same release there", true},
		{"no scheduler", map[string]string{server: "Kubernetes v1.30.14", manager: "Kubernetes v1.30.14"}, "The directory has no kube-scheduler", true},
		{"no server", map[string]string{manager: "Kubernetes v1.34.4", scheduler: "Kubernetes v1.34.4"}, "The directory has no kube-apiserver", true},
		{"mixed", map[string]string{server: "Kubernetes v1.30.14", manager: "Kubernetes v1.31.14", scheduler: "Kubernetes v1.30.14"}, "Take both from one release", true},
		{"nothing", nil, "want a directory with kube-apiserver, kube-controller-manager, kube-scheduler there", true},
		{"no program", map[string]string{server: ""}, "kube-apiserver is not a program: want an executable file", true},
		{"another program", map[string]string{server: "hello"}, `it printed "hello\n"; want a line such as "Kubernetes v1.36.3"`, true},
		{"no version", map[string]string{server: "Kubernetes latest"}, `it printed "Kubernetes latest\n"`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := findPrograms(t.Context(), programsIn(t, c.versions))
			said := p.String()
			if err != nil {
				said = err.Error()
			}
			if (err != nil) != c.fails || !strings.Contains(said, c.want) {
				t.Errorf("it says %q (%v), want %q", said, err, c.want)
			}
		})
	}
}

// TestBuiltInPrograms: without a directory everything is the sandbox's own.
func TestBuiltInPrograms(t *testing.T) {
	p, err := findPrograms(t.Context(), "")
	if err != nil || p.String() != "Kubernetes "+kubernetesVersion || p.path(nameLoops) != "" {
		t.Errorf("%s, %q, %v", p, p.path(nameLoops), err)
	}
	if _, err := findPrograms(t.Context(), filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Error("a directory that does not exist was taken")
	}
}

// TestLoopsAreTheControllerManager: both run the same program, and what is not Kubernetes' never does.
func TestLoopsAreTheControllerManager(t *testing.T) {
	p, err := findPrograms(t.Context(), programsIn(t, map[string]string{nameControllerManager: "Kubernetes v1.35.4"}))
	if err != nil {
		t.Fatal(err)
	}
	b := blueprint{state: newTestState(t), programs: p}
	manager := filepath.Join(p.dir, nameControllerManager)
	for _, c := range []struct {
		spec supervise.Spec
		want string
	}{{b.loops(), manager}, {b.controllerManager(), manager}, {b.etcd(), ""}, {b.kwok(), ""}, {b.scheduler(), ""}} {
		if c.spec.Program != c.want {
			t.Errorf("%s runs %q, want %q", c.spec.Name, c.spec.Program, c.want)
		}
	}
}
