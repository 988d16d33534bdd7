// Package charttest renders the chart with Helm's own library, and holds the renders against
// goldens and against what kustomize builds. It is a module of its own, so that no program has
// Helm among its requirements.
package charttest
