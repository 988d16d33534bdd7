package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// signalledFile is the recording that a child process replays until it gets a signal.
const signalledFile = "LOOPSCOPE_SIGNALLED_FILE"

// TestSignalledChild is that process, and nothing in any other.
func TestSignalledChild(t *testing.T) {
	if file := os.Getenv(signalledFile); file != "" {
		os.Args = []string{"loopscope", os.Getenv("LOOPSCOPE_SIGNALLED_COMMAND"), file}
		main()
	}
}

// TestSignalsEndReading: a recording that never ends, and a pipe that says nothing,
// keep no command from ending with a signal.
func TestSignalsEndReading(t *testing.T) {
	for _, c := range []struct {
		command string
		signal  os.Signal
		text    string // goes on without an end; "" for silence
	}{{"replay", syscall.SIGTERM, "\n"}, {"replay", os.Interrupt, ""}, {"view", os.Interrupt, "\n"}, {"view", syscall.SIGTERM, ""}} {
		pipe := filepath.Join(t.TempDir(), "pipe.jsonl")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		child := exec.Command(os.Args[0], "-test.run=^TestSignalledChild$")
		child.Env = append(os.Environ(), signalledFile+"="+pipe, "LOOPSCOPE_SIGNALLED_COMMAND="+c.command)
		var said strings.Builder
		child.Stderr = &said
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		to, err := os.OpenFile(pipe, os.O_WRONLY, 0) // Waits until the child reads.
		if err != nil {
			t.Fatal(err)
		}
		go feed(to, c.text)
		began := time.Now()
		if err := child.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		select {
		case <-ended:
			t.Logf("%s, %v: ended after %s", c.command, c.signal, time.Since(began))
			if child.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "error: interrupted") {
				t.Errorf("%s, %v: exit code %d, said %q", c.command, c.signal, child.ProcessState.ExitCode(), said.String())
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s does not end with %v", c.command, c.signal)
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
			<-ended
		}
		_ = to.Close() // feed ends with it
	}
}

// feed writes a header and this text until nobody reads it.
func feed(to *os.File, text string) {
	w := bufio.NewWriter(to)
	_, err := w.WriteString(`{"format":"loopscope.traces","v":1}` + "\n")
	for err == nil && text != "" {
		_, err = w.WriteString(text)
	}
}
