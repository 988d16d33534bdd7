package bench

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// profilePart is how many seconds one file of a profile is of: "go tool pprof" adds them up.
const profilePart = 2

// profile keeps what the process of our loops does in files of that name, until what it returns is
// called. It does nothing where no profiles are asked for.
func (l *loops) profile(t *testing.T, name string) (end func()) {
	t.Helper()
	if l.profiles == "" {
		return func() {}
	}
	url, over, ended := l.dashboard(t), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			if err := l.download(fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", url, profilePart), fmt.Sprintf("%s-cpu-%03d", name, n)); err != nil {
				t.Errorf("profile: %v", err)
				return
			}
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	end = sync.OnceFunc(func() { close(over); <-ended })
	t.Cleanup(end) // Where the phase fails.
	return end
}

// profileMemory keeps what is in memory, and what was allocated since the start.
func (l *loops) profileMemory(t *testing.T, name string) {
	t.Helper()
	if l.profiles == "" {
		return
	}
	if err := l.download(l.dashboard(t)+"/debug/pprof/heap?gc=1", name+"-heap"); err != nil {
		t.Errorf("profile of the memory: %v", err)
	}
}

func (l *loops) download(url, name string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s: %w", url, response.Status, data, err)
	}
	return os.WriteFile(filepath.Join(l.profiles, strings.ReplaceAll(fmt.Sprintf("%s-%s.pb.gz", l.side, name), " ", "-")), data, 0o600)
}
