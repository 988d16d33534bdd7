// Package effects observes ReplicationControllers that are updated to others, and carries out
// what package rollingupdate decides.
package effects
