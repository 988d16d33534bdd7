package main

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// FuzzObjectArg proves that the words after explain and story name one object of a
// loop or are refused with what to write instead.
func FuzzObjectArg(f *testing.F) {
	for _, words := range [][2]string{{"deployment/web", ""}, {"deploy", "web"}, {"Deployments.apps/web", ""}, {"pod/web", ""}, {"web", ""},
		{"deployment/", ""}, {"deployment/a/b", ""}, {"", ""}, {"deployment", "a/b"}, {"/", "/"}} {
		f.Add(words[0], words[1])
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		args := []string{first}
		if second != "" {
			args = append(args, second)
		}
		loop, name, err := objectArg(args)
		switch {
		case err != nil && (name != "" || loop != "" || !strings.Contains(err.Error(), "rite KIND/NAME, such as ")):
			t.Fatalf("%q: %q, %v", args, name, err)
		case err == nil && (name == "" || strings.Contains(name, "/") || !decision.IsLoopName(loop)):
			t.Fatalf("%q names %q of %q", args, name, loop)
		}
	})
}
