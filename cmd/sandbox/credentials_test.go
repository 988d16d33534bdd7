package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// checkPrivate sees that nobody else can read anything below dir.
func checkPrivate(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // components remove files of theirs while we look
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		want := os.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func newTestState(t *testing.T) *state {
	t.Helper()
	s, err := openState(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestCredentialsArePrivate(t *testing.T) {
	s := newTestState(t)
	if err := ensureCredentials(s, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := writeKubeconfigs(s, ports{APIServer: 6443}, "http://127.0.0.1:1234"); err != nil {
		t.Fatal(err)
	}
	checkPrivate(t, s.Dir)
	config, err := restConfig(s.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://127.0.0.1:6443"; config.Host != want {
		t.Errorf("host in the kubeconfig: %s, want %s", config.Host, want)
	}
	if text := readFile(t, s.kubeconfig()); !strings.Contains(text, "extension: http://127.0.0.1:1234\n") || !strings.Contains(text, "name: loopscope.dev/console\n") {
		t.Errorf("loopscope's commands do not find the dashboard by\n%s", text)
	}
}

func TestCredentialsAreKeptWhileTheyLast(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name string
		then time.Time // of the second start
		lose string    // file lost between the starts
		keep bool
	}{
		{name: "next day", then: now.Add(24 * time.Hour), keep: true},
		{name: "about to end", then: now.Add(certificateLife - renewBefore + time.Hour)},
		{name: "clock set back", then: now.Add(-48 * time.Hour)},
		{name: "certificate lost", then: now, lose: "kwok.crt"},
		{name: "key lost", then: now, lose: "etcd.key"},
		{name: "service account key lost", then: now, lose: "service-account.pub"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestState(t)
			if err := ensureCredentials(s, now); err != nil {
				t.Fatal(err)
			}
			before := readFile(t, s.pkiFile(fileClusterCA+".crt"))
			if c.lose != "" {
				if err := os.Remove(s.pkiFile(c.lose)); err != nil {
					t.Fatal(err)
				}
			}
			if err := ensureCredentials(s, c.then); err != nil {
				t.Fatal(err)
			}
			if kept := readFile(t, s.pkiFile(fileClusterCA+".crt")) == before; kept != c.keep {
				t.Errorf("credentials kept: %t, want %t", kept, c.keep)
			}
			if !credentialsUsable(s, c.then) {
				t.Error("the credentials are not usable")
			}
		})
	}
}
