package main

import (
	"strings"
	"testing"
)

// FuzzDeploymentName proves that the words after explain name one Deployment or
// are refused with what to write instead.
func FuzzDeploymentName(f *testing.F) {
	for _, words := range [][2]string{{"deployment/web", ""}, {"deploy", "web"}, {"Deployments.apps/web", ""}, {"pod/web", ""}, {"web", ""},
		{"deployment/", ""}, {"deployment/a/b", ""}, {"", ""}, {"deployment", "a/b"}, {"/", "/"}} {
		f.Add(words[0], words[1])
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		args := []string{first}
		if second != "" {
			args = append(args, second)
		}
		name, err := deploymentName(args)
		switch {
		case err != nil && (name != "" || !strings.Contains(err.Error(), "write deployment/NAME")):
			t.Fatalf("%q: %q, %v", args, name, err)
		case err == nil && (name == "" || strings.Contains(name, "/") || !strings.HasPrefix(strings.ToLower(first), "deploy")):
			t.Fatalf("%q names %q", args, name)
		}
	})
}
