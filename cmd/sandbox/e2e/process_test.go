package e2e_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// processReader is a role for what a process shows of itself, which viewers do not have.
func (s *secured) processReader(t *testing.T) string {
	t.Helper()
	const name = "process-reader"
	if _, err := s.client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{}); err == nil {
		return name
	}
	args := []string{"create", "clusterrole", name, "--verb=get"}
	for _, path := range processPaths {
		args = append(args, "--non-resource-url="+path)
	}
	s.plane.Kubectl(t, args...)
	return name
}

// processPaths are those at which all components show what they are doing.
var processPaths = []string{"/metrics", "/metrics/*", "/configz", "/flagz", "/statusz", "/debug/flags", "/debug/flags/*", "/debug/pprof/*"}

// ofProcess reports whether a path is one of them.
func ofProcess(path string) bool {
	return slices.ContainsFunc(processPaths, func(of string) bool {
		prefix, all := strings.CutSuffix(of, "*")
		return path == of || all && strings.HasPrefix(path, prefix)
	})
}
