//go:build unix

package main

import (
	"os"
	"syscall"
)

// lockFile locks file for this process alone, or fails at once.
func lockFile(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// processExists reports whether a process with this id exists, ours or not.
func processExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}
