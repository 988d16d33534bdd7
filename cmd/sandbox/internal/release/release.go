// Package release reads of which release of Kubernetes a component is. It stands by itself so that
// fuzzing it does not compile Kubernetes.
package release

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// longest is far more than any version needs, in bytes.
const longest = 100

// Parse reads what --version prints, "Kubernetes v1.30.14". The error quotes what it was given, at most
// 60 bytes of it, and names one that is understood.
func Parse(out, example string) (*version.Version, error) {
	text, found := strings.CutPrefix(strings.TrimSpace(out), "Kubernetes ")
	if !found || len(text) > longest {
		return nil, fmt.Errorf("it printed %.60q; want a line such as \"Kubernetes %s\"", out, example)
	}
	parsed, err := version.ParseSemantic(text)
	if err != nil {
		return nil, fmt.Errorf("it printed %.60q: %w", out, err)
	}
	return parsed, nil
}
