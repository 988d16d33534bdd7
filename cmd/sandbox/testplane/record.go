package testplane

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// RecordInto names the directory in which suites leave recordings of our loops
// for "loopscope replay"; none are made where it is not set.
const RecordInto = "LOOPSCOPE_RECORD"

// recordLimit is how long an export may take.
const recordLimit = 10 * time.Minute

var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// RecordingFile is a new file for a recording of this test, "" where none is
// wanted. The directory is made.
func RecordingFile(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(RecordInto)
	if dir == "" {
		return ""
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Errorf("%s: %v", RecordInto, err)
		return ""
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%d.jsonl", unsafeInNames.ReplaceAllString(t.Name(), "-"), time.Now().UnixNano()))
}

// record leaves what our loops did in a recording, while their console still runs.
func record(t testing.TB, dashboard string, exited <-chan struct{}) {
	t.Helper()
	if dashboard == "" {
		return
	}
	select {
	case <-exited:
		return
	default:
	}
	path := RecordingFile(t)
	if path == "" {
		return
	}
	if err := download(dashboard+"/export.jsonl?limit=1000000", path); err != nil {
		t.Errorf("record: %v", err)
		return
	}
	t.Logf("recorded in %s", path)
}

func download(url, path string) (err error) {
	client := http.Client{Timeout: recordLimit}
	reply, err := client.Get(url)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, reply.Status)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err = io.Copy(file, reply.Body); err == nil && reply.Trailer.Get("Loopscope-More") != "false" {
		err = fmt.Errorf("%s did not give everything", url)
	}
	return err
}
