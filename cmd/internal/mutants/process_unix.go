//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// inGroup gives a command a process group of its own, so that what it started ends
// with it where the command itself is killed.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return killGroup(cmd) }
}

// killGroup kills what is left of a command and of what it started.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
