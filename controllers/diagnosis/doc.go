// Package diagnosis reads why pods are not available out of what the cluster says
// of them: the status that kubelet and scheduler write, and the words with which
// the API server refuses a pod. Sentences, held writes, estimates and pages of all
// loops take their causes from here, so that no two of them name different ones.
//
// It may not do I/O or read a clock: the same pods give the same diagnosis.
package diagnosis
