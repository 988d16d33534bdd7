//go:build unix

package history

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a file belongs to the user of the process.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}

// trusted reports whether a file belongs to that user or to root.
func trusted(info fs.FileInfo, user int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Uid == 0 || int(stat.Uid) == user
}

// nlink is how many names a file has.
func nlink(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink)
}
