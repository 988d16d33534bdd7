package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/component-base/version/verflag"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// theirFlags are those of the real kube-controller-manager, by name.
func theirFlags(t *testing.T) map[string]*pflag.Flag {
	t.Helper()
	// It looks for --version among the flags of the program, which tests of commands replace.
	program := pflag.CommandLine
	pflag.CommandLine = pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	defer func() { pflag.CommandLine = program }()
	verflag.Version("version", verflag.VersionFalse, "")
	flags := map[string]*pflag.Flag{}
	controllermanager.NewControllerManagerCommand().Flags().VisitAll(func(flag *pflag.Flag) {
		flags[strings.ReplaceAll(flag.Name, "_", "-")] = flag // as its command line has it
	})
	return flags
}

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
	for name, flag := range theirFlags(t) {
		if !flag.Hidden && flag.Deprecated == "" && listed[name] != 1 {
			t.Errorf("--%s is in deploy/FLAGS.md %d times, want once", name, listed[name])
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("deploy/FLAGS.md has --%s, which kube-controller-manager has not", name)
	}
}

// TestDefaultsOfTheControllerManager: what deploy/FLAGS.md calls the same has the same default in
// both programs.
func TestDefaultsOfTheControllerManager(t *testing.T) {
	text, err := os.ReadFile("../../deploy/FLAGS.md")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(testplane.Loopscope(t), "manager", "--write-config-to=-").Output()
	if err != nil {
		t.Fatal(err)
	}
	var ours map[string]any
	if err := yaml.Unmarshal(out, &ours); err != nil {
		t.Fatal(err)
	}
	theirs, compared := theirFlags(t), 0
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z0-9-]+)` \\| same \\|").FindAllStringSubmatch(string(text), -1) {
		value, has := ours[fieldOf(row[1])]
		if !has {
			continue // --help is of the command alone.
		}
		compared++
		got := fmt.Sprint(value)
		if _, is := value.([]any); is {
			got = strings.ReplaceAll(got, " ", ",") // as pflag writes a list
		}
		if want := theirs[row[1]].DefValue; got != want {
			t.Errorf("--%s is %s, and there %s", row[1], got, want)
		}
	}
	if compared < 10 {
		t.Errorf("%d flags were compared", compared)
	}
}

// fieldOf is what a flag is called in a configuration file.
func fieldOf(flag string) string {
	words := strings.Split(flag, "-")
	for i := range words[1:] {
		words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
	}
	return strings.Join(words, "")
}
