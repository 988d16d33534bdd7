//go:build unix && !linux

package supervise

import "syscall"

// childAttributes puts a child into a process group of its own, so that Ctrl-C
// reaches the parent alone and we choose the order of stopping. The inherited
// pipe alone tells the child here that its parent died.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
