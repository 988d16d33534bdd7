package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	flagRow  = regexp.MustCompile("(?m)^\\| (`--[^|]*`) \\| ([^|]*) \\|")
	flagName = regexp.MustCompile("`--([a-z0-9-]+)`")
)

// TestFlagsOfTheManager: the table beside kube-controller-manager's flags has every flag of the
// manager once, and says of no other that it is here.
func TestFlagsOfTheManager(t *testing.T) {
	text, err := os.ReadFile("../../deploy/FLAGS.md")
	if err != nil {
		t.Fatal(err)
	}
	theirs, own, found := strings.Cut(string(text), "\n## What only ")
	if !found {
		t.Fatal("there is no section of the manager's own flags")
	}
	here := map[string]int{}
	for _, row := range flagRow.FindAllStringSubmatch(theirs, -1) {
		switch {
		case slices.Contains([]string{"same", "differs"}, row[2]):
			count(here, row[1])
		case !slices.Contains([]string{"other name", "missing", "not applicable"}, row[2]):
			t.Errorf("%s is %q, which is none of the words that the document declares", row[1], row[2])
		}
	}
	for _, row := range flagRow.FindAllStringSubmatch(own, -1) {
		count(here, row[1])
	}
	managerFlags(t).VisitAll(func(flag *pflag.Flag) {
		if here[flag.Name] != 1 {
			t.Errorf("--%s is in the tables of deploy/FLAGS.md %d times as a flag of the manager, want once", flag.Name, here[flag.Name])
		}
		delete(here, flag.Name)
	})
	for name := range here {
		t.Errorf("deploy/FLAGS.md has --%s, which the manager has not", name)
	}
}

func count(here map[string]int, names string) {
	for _, name := range flagName.FindAllStringSubmatch(names, -1) {
		here[name[1]]++
	}
}

func managerFlags(t *testing.T) *pflag.FlagSet {
	t.Helper()
	commands := newRoot(streams{out: io.Discard, err: io.Discard}).Commands()
	i := slices.IndexFunc(commands, func(cmd *cobra.Command) bool { return cmd.Name() == "manager" })
	if i < 0 {
		t.Fatal("there is no manager")
	}
	return commands[i].Flags()
}
