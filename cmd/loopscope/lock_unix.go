//go:build unix

package main

import (
	"os"
	"syscall"
)

// lockFile waits until no other process has locked the file. Closing it unlocks it.
func lockFile(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX) }
