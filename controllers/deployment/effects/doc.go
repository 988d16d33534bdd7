// Package effects is the acting part of the Deployment loop: it reads caches into a Snapshot,
// carries out the Verdict's actions, publishes the Report, and wakes Deployments by what
// informers say. It may not decide: every choice is made and recorded by package deployment.
package effects
