package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// TestDecisionsPrinted compares each format with its golden file.
func TestDecisionsPrinted(t *testing.T) {
	for _, c := range []struct {
		file string
		args []string
	}{
		{"decisions-replicaset.md", []string{"replicaset"}},
		{"decisions-replicaset.mmd", []string{"replicaset", "-o", "mermaid"}},
		{"decisions-deployment.mmd", []string{"deployment", "-o", "mermaid"}},
		{"decisions-deployment.dot", []string{"deployment", "-o", "dot"}},
		{"decisions-replicaset.svg", []string{"replicaset", "-o", "svg"}},
	} {
		out, err := run(t, append([]string{"decisions"}, c.args...)...)
		if err != nil {
			t.Fatalf("%v: %v", c.args, err)
		}
		golden(t, "testdata/"+c.file, []byte(out))
	}
}

// TestDecisionsOfAllLoops: without a loop each format but SVG has all of them.
func TestDecisionsOfAllLoops(t *testing.T) {
	for format, head := range map[string]string{"markdown": "## ", "mermaid": "## ", "dot": `digraph "`} {
		out, err := run(t, "decisions", "-o", format)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range app.Loops() {
			c := l.Catalogue
			if !strings.Contains(out, head+c.Loop) {
				t.Errorf("%s lacks %s", format, c.Loop)
			}
		}
	}
}

// TestDecisionsDrawn: each loop comes as XML that says in words what it draws.
func TestDecisionsDrawn(t *testing.T) {
	for _, l := range app.Loops() {
		c := l.Catalogue
		out, err := run(t, "decisions", c.Loop, "-o", "svg")
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(strings.NewReader(out)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", c.Loop, err)
			}
		}
		for _, q := range c.Questions {
			if !strings.Contains(out, ">"+q.ID+"</text>") {
				t.Errorf("%s is not drawn", q.ID)
			}
		}
	}
}

func TestDecisionsRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"daemonset"}, []string{`"daemonset" is not a loop`, "deployment, replicaset, replicationcontroller or rollingupdate"}},
		{[]string{"-o", "svg"}, []string{"an SVG draws one loop"}},
		{[]string{"deployment", "-o", "png"}, []string{`"png" is not known`, "markdown, mermaid, dot or svg"}},
		{[]string{"deployment", "replicaset"}, []string{"accepts at most 1 arg(s)"}},
	} {
		out, err := run(t, append([]string{"decisions"}, c.args...)...)
		if err == nil || out != "" {
			t.Errorf("%v: printed %q, error %v", c.args, out, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q does not say %q", c.args, err, want)
			}
		}
	}
}

func TestDecisionsCompletion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{""}, []string{"deployment", "replicaset", "replicationcontroller", "rollingupdate"}},
		{[]string{"deployment", ""}, nil},
		{[]string{"-o", ""}, decisionFormats},
	} {
		out, err := run(t, append([]string{cobra.ShellCompNoDescRequestCmd, "decisions"}, c.args...)...)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(strings.Fields(out), func(s string) bool { return strings.HasPrefix(s, ":") })
		if !slices.Equal(got, c.want) {
			t.Errorf("%v completes to %v, want %v", c.args, got, c.want)
		}
	}
}

// FuzzDecisions proves that a loop and a format are printed or refused with those
// that there are.
func FuzzDecisions(f *testing.F) {
	for _, words := range [][2]string{{"deployment", "svg"}, {"", "dot"}, {"replicaset", "markdown"}, {"Deployment", "mermaid"}, {"pod", "svg"}, {"deployment", ""}, {"", "svg"}} {
		f.Add(words[0], words[1])
	}
	f.Fuzz(func(t *testing.T, loop, format string) {
		var args []string
		if loop != "" {
			args = append(args, loop)
		}
		var out strings.Builder
		err := (&decisionsOptions{output: format}).run(t.Context(), &out, args)
		switch {
		case err != nil && (out.Len() > 0 || !strings.Contains(err.Error(), prose.Or(loopNames())) && !strings.Contains(err.Error(), prose.Or(decisionFormats))):
			t.Fatalf("%q %q: printed %d bytes, error %v", loop, format, out.Len(), err)
		case err == nil && (out.Len() == 0 || !slices.Contains(decisionFormats, format) || loop != "" && app.Loops().Named(loop) == ""):
			t.Fatalf("%q %q printed %d bytes", loop, format, out.Len())
		}
	})
}
