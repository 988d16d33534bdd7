package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainOfWhatCannotBeRead: that there is no Deployment is said where all was read, and alone then.
func TestExplainOfWhatCannotBeRead(t *testing.T) {
	const none = "No Deployment, ReplicaSet or ReplicationController is among the objects"
	const other, broken = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: [}\n"
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answerReads(w, r.URL.Path) }))
	defer api.Close()
	config := contexts(t, api.URL)
	for _, c := range []struct {
		name, text string
		says       bool
		fails      string // "" for not
	}{
		{"none", other, true, ""},
		{"a Deployment with broken YAML", broken, false, "error parsing"},
		{"that beside another object", other + "---\n" + broken, false, "error parsing"},
		{"a kind that is not served", "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\n", false, "no matches for kind"},
		{"nothing", "", false, "no objects passed to create"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "in.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := run(t, "create", "-f", file, "--explain", "--dry-run=client", "--validate=false", "--kubeconfig", config, "--cache-dir", t.TempDir())
			if strings.Contains(out, none) != c.says || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("it says %q, %v", out, err)
			}
		})
	}
}
