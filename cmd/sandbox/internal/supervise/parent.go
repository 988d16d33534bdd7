package supervise

import (
	"fmt"
	"io"
	"os"
)

// parentPipe is the descriptor on which a child notices its parent's death: the
// first of the extra files that launch hands over.
const parentPipe = 3

// ExitWithParent ends this process when the parent's end of the pipe closes,
// which the kernel does however the parent dies. A child that lives on would
// keep ports, memory and a data directory that nobody cleans up.
func ExitWithParent() {
	pipe := os.NewFile(parentPipe, "parent")
	go func() {
		_, _ = io.Copy(io.Discard, pipe)
		fmt.Fprintln(os.Stderr, "the parent process is gone; exiting")
		os.Exit(1)
	}()
}
