package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// Called as a plugin of kubectl the program is what kubectl's users expect; called by its own
// name it is as ever.
func TestAsPlugin(t *testing.T) {
	for _, c := range []struct {
		called, args, want string
	}{
		{"loopscope", "", ""},
		{"/usr/bin/loopscope", "top", "top"},
		{"/home/me/.krew/bin/kubectl-loopscope", "", "open"},
		{"kubectl-loopscope", "--context prod", "open --context prod"},
		{"kubectl-loopscope", "-n shop --no-browser", "open -n shop --no-browser"},
		{"kubectl-loopscope", "why deploy/web", "why deploy/web"},
		{"kubectl-loopscope", "wyh deploy/web", "wyh deploy/web"},
		{"kubectl-loopscope", "--help", "--help"},
		{"kubectl-loopscope", "--version", "--version"},
		{"kubectl-loopscope.exe", "top -A", "top -A"},
		{"kubectl_complete-loopscope", "why depl", "__complete why depl"},
	} {
		root := newRoot(streams{out: new(bytes.Buffer), err: new(bytes.Buffer)})
		got := asPlugin(root, c.called, strings.Fields(c.args))
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s %s runs %q, want %q", c.called, c.args, got, c.want)
		}
	}
}

// Help and errors of the plugin say what its users type.
func TestPluginSpeaksAsKubectl(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"top", "--help"}, {"tpo"}} {
		var out bytes.Buffer
		root := newRoot(streams{out: &out, err: &out})
		root.SetArgs(asPlugin(root, pluginName, args))
		if err := root.Execute(); err != nil {
			out.WriteString(err.Error())
		}
		text := out.String()
		if n := strings.Count(text, "kubectl loopscope "); n == 0 || strings.Count(text, "  loopscope ") > 0 {
			t.Errorf("%q says\n%s", args, text)
		}
	}
}
