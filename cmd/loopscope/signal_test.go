package main

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// signalledCommand is the command that a child process runs until it gets a signal.
const signalledCommand = "LOOPSCOPE_SIGNALLED_COMMAND"

// TestSignalledChild is that process, and nothing in any other.
func TestSignalledChild(t *testing.T) {
	if command := os.Getenv(signalledCommand); command != "" {
		os.Args = append([]string{"loopscope"}, strings.Fields(command)...)
		main()
	}
}

// TestSignalsEndReading: a file that never ends, a pipe that says nothing and an address that
// does not answer keep no command from ending with a signal.
func TestSignalsEndReading(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
	reached, over := make(chan struct{}, 16), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			_, _ = io.WriteString(w, "{}")
			return
		}
		if path, answers := strings.CutPrefix(r.URL.Path, "/reads"); answers && r.Method == http.MethodGet {
			answerReads(w, path)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		reached <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	defer silent.Close()
	defer close(over)
	config := contexts(t, silent.URL)
	for _, c := range []struct {
		command string
		signal  os.Signal
		text    string // goes on without an end; "" for silence
		said    string
	}{
		{"replay PIPE", syscall.SIGTERM, "\n", "error: interrupted"},
		{"replay PIPE", os.Interrupt, "", "error: interrupted"},
		{"view PIPE", os.Interrupt, "\n", "error: interrupted"},
		{"view PIPE", syscall.SIGTERM, "", "error: interrupted"},
		{"create -f PIPE", os.Interrupt, "", "error: interrupted before anything was sent"},
		{"create -f PIPE --explain", syscall.SIGTERM, "", "error: interrupted before anything was sent"},
		{"create -f ADDRESS", syscall.SIGTERM, "", "error: interrupted before anything was sent"},
		{"create -f FILE", os.Interrupt, "", "error: interrupted before anything was sent"},
		{"create -f FILE --raw /api/v1/namespaces/shop/configmaps", syscall.SIGTERM, "", "error: interrupted: whether the file was posted is not known"},
		{"create -f FILE -s READS --validate=false", os.Interrupt, "", "error: interrupted: whether configmaps/a was created is not known"},
		{"create -f FILE -s READS --validate=false --dry-run=server", os.Interrupt, "", "error: interrupted; nothing was written: it was a dry run"},
		{"apply -f FILE -s READS --validate=false --dry-run=server", syscall.SIGTERM, "", "error: interrupted; nothing was written: it was a dry run"},
		{"apply -f PIPE", syscall.SIGTERM, "", "error: interrupted before anything was sent"},
		{"rolling-update web -f PIPE", os.Interrupt, "", "error: interrupted"},
		{"rolling-update web -f ADDRESS", syscall.SIGTERM, "", "error: interrupted"},
		{"rolling-update web --image=web:2", os.Interrupt, "", "error: interrupted"},
	} {
		dir := t.TempDir()
		pipe, file := filepath.Join(dir, "pipe.jsonl"), filepath.Join(dir, "a.json")
		if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(file, []byte(object), 0o600)); err != nil {
			t.Fatal(err)
		}
		child := exec.Command(os.Args[0], "-test.run=^TestSignalledChild$")
		command := strings.NewReplacer("PIPE", pipe, "FILE", file, "READS", silent.URL+"/reads", "ADDRESS", silent.URL+"/a.json").Replace(c.command)
		child.Env = append(os.Environ(), signalledCommand+"="+command, "KUBECONFIG="+config, "KUBECACHEDIR="+dir)
		var said strings.Builder
		child.Stderr = &said
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		if strings.Contains(c.command, "PIPE") {
			to, err := os.OpenFile(pipe, os.O_WRONLY, 0) // Waits until the child reads.
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close() // feed ends with it
			go feed(to, c.text)
		} else {
			select {
			case <-reached:
			case <-ended:
				t.Fatalf("%s ended before it was signalled: %s", c.command, said.String())
			}
		}
		began := time.Now()
		if err := child.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
			t.Logf("%s, %v: ended after %s: %s", c.command, c.signal, time.Since(began), said.String())
			if child.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), c.said) {
				t.Errorf("%s, %v: exit code %d, said %q", c.command, c.signal, child.ProcessState.ExitCode(), said.String())
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s does not end with %v", c.command, c.signal)
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
			<-ended
		}
		for len(reached) > 0 { // What this child asked beside.
			<-reached
		}
	}
}

// answerReads answers what an API server is asked before an object is sent to it.
func answerReads(w http.ResponseWriter, path string) {
	answer, is := map[string]string{
		"/version":    `{}`,
		"/api":        `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":       `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1":     `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["create","get","patch"]}]}`,
		"/openapi/v3": `{"paths":{}}`,
	}[path]
	w.Header().Set("Content-Type", "application/json")
	if !is {
		w.WriteHeader(http.StatusNotFound)
		answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	}
	_, _ = io.WriteString(w, answer)
}

// feed writes a header and this text until nobody reads it.
func feed(to *os.File, text string) {
	w := bufio.NewWriter(to)
	_, err := w.WriteString(`{"format":"loopscope.traces","v":1}` + "\n")
	for err == nil && text != "" {
		_, err = w.WriteString(text)
	}
}
