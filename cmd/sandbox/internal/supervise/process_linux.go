package supervise

import "syscall"

// childAttributes puts a child into a process group of its own, so that Ctrl-C
// reaches the parent alone and we choose the order of stopping, and has the
// kernel kill it when the thread that started it ends (see spawner).
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
