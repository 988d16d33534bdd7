// Package deployment decides for one Deployment. It may not do I/O, read a
// clock, log, or import anything but the standard library and its sibling pure
// packages: the same Snapshot always gives the same Verdict.
package deployment
