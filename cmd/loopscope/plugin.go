package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// The names under which kubectl finds this program on the PATH: as a plugin, and to complete
// what is typed after it.
const (
	pluginName   = "kubectl-loopscope"
	completeName = "kubectl_complete-loopscope"
)

// pluginCommand is what people type then.
const pluginCommand = "kubectl loopscope"

// asPlugin makes the command what kubectl users expect of `kubectl loopscope`, where the program
// was called by one of those names: alone it opens the console.
func asPlugin(root *cobra.Command, called string, args []string) []string {
	name := strings.TrimSuffix(filepath.Base(called), ".exe")
	if name != pluginName && name != completeName {
		return args
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: pluginCommand}
	root.Long += "\n\nWithout a command it opens the console, as '" + pluginCommand + " " + openName + "' does."
	for _, cmd := range append(root.Commands(), root) {
		cmd.Example = strings.ReplaceAll(cmd.Example, "  "+root.Name()+" ", "  "+pluginCommand+" ")
	}
	switch {
	case name == completeName:
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	case opens(root, args):
		return append([]string{openName}, args...)
	}
	return args
}

// opens reports whether no command is named, and no help or version asked for.
func opens(root *cobra.Command, args []string) bool {
	for _, arg := range args {
		switch arg {
		case "-h", "--help", "--version", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			return false
		}
	}
	found, _, err := root.Find(args)
	return err == nil && found == root && (len(args) == 0 || strings.HasPrefix(args[0], "-"))
}
