package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry/decision"
)

const manifests = "../../../deploy"

// TestFilesAreFresh: what is there is what is declared.
func TestFilesAreFresh(t *testing.T) {
	all, err := files(manifests)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		if got, err := os.ReadFile(filepath.Join(manifests, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s is out of date: run make generate (%v)", name, err)
		}
	}
}

// TestViewersOpenEveryObject: the console has pages of each loop of which syncs are kept, and links to them.
func TestViewersOpenEveryObject(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(manifests, "secure-port.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range app.Recorded() {
		if path := decision.PathOf(l.Name) + "/*"; !strings.Contains(string(text), `"`+path+`"`) {
			t.Errorf("viewers may not get %s", path)
		}
	}
}

// TestNothingIsLeftOver: of a dashboard that is gone its copy has to go, too.
func TestNothingIsLeftOver(t *testing.T) {
	all, err := files(manifests)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(manifests, "chart", "loopscope", "files"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if name, err := filepath.Rel(manifests, path); err != nil || all[filepath.ToSlash(name)] == nil {
			t.Errorf("%s has no source: remove it (%v)", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestShadowsReadAlone: no role of a process that only watches may write, or read what the loops do not.
func TestShadowsReadAlone(t *testing.T) {
	for name, objects := range map[string][]any{"shadow": shadowRights(), "namespaced": namespacedRights()} {
		text, err := documents(objects)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"create", "update", "patch", "delete", "*", "secrets", "configmaps"} {
			if strings.Contains(string(text), "- "+word+"\n") {
				t.Errorf("%s may %s:\n%s", name, word, text)
			}
		}
		if !strings.Contains(string(text), "- watch\n") {
			t.Errorf("%s is\n%s", name, text)
		}
	}
}
