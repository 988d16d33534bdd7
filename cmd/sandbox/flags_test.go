package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/component-base/version/verflag"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// TestFlagsOfTheControllerManager: deploy/FLAGS.md has every flag of the real
// kube-controller-manager once, and no other.
func TestFlagsOfTheControllerManager(t *testing.T) {
	text, err := os.ReadFile("../../deploy/FLAGS.md")
	if err != nil {
		t.Fatal(err)
	}
	theirs, _, _ := strings.Cut(string(text), "\n## What only ")
	listed := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`--[^|]*`) \\|").FindAllStringSubmatch(theirs, -1) {
		for _, name := range regexp.MustCompile("`--([a-z0-9-]+)`").FindAllStringSubmatch(row[1], -1) {
			listed[name[1]]++
		}
	}
	// It looks for --version among the flags of the program, which tests of commands replace.
	program := pflag.CommandLine
	pflag.CommandLine = pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	t.Cleanup(func() { pflag.CommandLine = program })
	verflag.Version("version", verflag.VersionFalse, "")
	controllermanager.NewControllerManagerCommand().Flags().VisitAll(func(flag *pflag.Flag) {
		name := strings.ReplaceAll(flag.Name, "_", "-") // as its command line has it
		if !flag.Hidden && flag.Deprecated == "" && listed[name] != 1 {
			t.Errorf("--%s is in deploy/FLAGS.md %d times, want once", name, listed[name])
		}
		delete(listed, name)
	})
	for name := range listed {
		t.Errorf("deploy/FLAGS.md has --%s, which kube-controller-manager has not", name)
	}
}
