package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const configHead = "apiVersion: loopscope.dev/v1alpha1\nkind: LoopscopeManagerConfiguration\n"

// manager runs `loopscope manager` with these arguments.
func runManager(args ...string) (out string, err error) {
	var b bytes.Buffer
	root := newRoot(streams{out: &b, err: &b})
	root.SetArgs(append([]string{"manager"}, args...))
	err = root.Execute()
	return b.String(), err
}

// withConfig is the configuration that a file and flags come to.
func withConfig(t testing.TB, text string, flags ...string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manager.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := runManager(append([]string{"--config", path, "--write-config-to=-"}, flags...)...)
	return out, err
}

// A file says what flags say, which win over it, and what was written is read as it was.
func TestConfig(t *testing.T) {
	defaults, err := runManager("--write-config-to=-")
	if err != nil || !strings.HasPrefix(defaults, configHead) {
		t.Fatalf("%v: %s", err, defaults)
	}
	if again, err := withConfig(t, defaults); err != nil || again != defaults {
		t.Errorf("what was written is read as\n%s, %v", again, err)
	}
	text := configHead + `controllers: ["*", "-replicationcontroller"]
concurrentRcSyncs: 7
kubeApiQps: 2.5
kubeApiBurst: 40
leaderElect: false
leaderElectResourceName: "007"
historyMaxAge: 1h
listen: 127.0.0.1:9000
`
	got, err := withConfig(t, text, "--kube_api_burst=50", "--controller-start-interval=2s")
	for _, want := range []string{"\ncontrollers: ['*', -replicationcontroller]\n", "\nconcurrentRcSyncs: 7\n", "\nkubeApiQps: 2.5\n", "\nkubeApiBurst: 50\n", "\nleaderElect: false\n",
		"\nleaderElectResourceName: \"007\"\n", "\nhistoryMaxAge: 1h0m0s\n", "\nlisten: 127.0.0.1:9000\n", "\ncontrollerStartInterval: 2s\n", "\nconcurrentDeploymentSyncs: 5\n"} {
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%v: no %q in\n%s", err, want, got)
		}
	}
	path := filepath.Join(t.TempDir(), "new.yaml")
	if out, err := runManager("--write-config-to", path); err != nil || out != "wrote "+path+"\n" {
		t.Errorf("%q, %v", out, err)
	}
	if written, err := os.ReadFile(path); err != nil || string(written) != defaults {
		t.Errorf("%v: the file has\n%s", err, written)
	}
	if _, err := runManager("--write-config-to", path); err == nil || !strings.Contains(err.Error(), "file exists") {
		t.Errorf("a file that is there: %v", err)
	}
}

// Everything that is wrong with a file is said at once, with its line.
func TestConfigErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"fields": {`apiVersion: loopscope.dev/v1
kind: LoopscopeManagerConfiguration
concurentRcSyncs: 5
concurrentRcSyncs: many
controllers: {a: b}
watch: "yes"
leaderElectLeaseDuration: 5
historyMaxAge: 5 days
kubeApiBurst:
listen: 127.0.0.1:9
listen: 127.0.0.1:9
kubeApiQps: [1]
context: dev
token: secret
help: true
`, []string{`:1: apiVersion is "loopscope.dev/v1", want loopscope.dev/v1alpha1`, ":3: concurentRcSyncs is no field: `loopscope manager --write-config-to=-` has all of them", `:4: concurrentRcSyncs has to be a whole number, and is "many"`,
			":5: controllers has to be a list of texts", `:6: watch has to be true or false, and is "yes"`, `:7: leaderElectLeaseDuration has to be a duration such as 15s, and is "5"`, ":8: historyMaxAge has a value that is none: time: unknown unit",
			":9: kubeApiBurst has no value: leave it out for its default", ":11: listen is there twice", ":12: kubeApiQps has to be a number", ":13: context is no field", ":14: token is no field", ":15: help is no field"}},
		"a list of lists":  {configHead + "controllers: [[a]]\n", []string{":3: controllers has to be a list of texts"}},
		"a value too far":  {configHead + "kubeApiBurst: 99999999999\n", []string{":3: kubeApiBurst has a value that is none"}},
		"no kind":          {"apiVersion: loopscope.dev/v1alpha1\n", []string{"kind is missing: apiVersion: loopscope.dev/v1alpha1, kind: LoopscopeManagerConfiguration"}},
		"another kind":     {"apiVersion: v1\nkind: Pod\n", []string{`:1: apiVersion is "v1"`, `:2: kind is "Pod"`}},
		"two documents":    {configHead + "---\n" + configHead, []string{"more than one document"}},
		"a list":           {"- a\n", []string{":1: fields and their values are expected"}},
		"no YAML":          {"a: [", []string{"manager.yaml: yaml: "}},
		"nothing":          {"", []string{"manager.yaml: EOF"}},
		"what flags check": {configHead + "concurrentRcSyncs: 0\nloggingFormat: xml\nv: 11\ncontrollerShutdownTimeout: -1s\nlisten: 0.0.0.0:1\nhistoryMaxBytes: 1Mi\nhistoryMaxAge: 0s\n", []string{"not a loopback address", "--history-max-bytes=1Mi: give 16Mi or more", "--history-max-age=0s", "--concurrent-rc-syncs has to be positive", "--logging-format=xml", "--v has to be from 0 to 10", "--controller-shutdown-timeout has to be 0s or more"}},
		"more than a file": {strings.Repeat("#", 1<<20+1), []string{"more than 1048576 bytes"}},
	} {
		_, err := withConfig(t, c.text)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in %v", name, want, err)
			}
		}
		if err != nil && !strings.HasSuffix(errorText(err), err.Error()) {
			t.Errorf("%s: %q is printed as %q: words of it pass for a credential", name, err, errorText(err))
		}
	}
	if _, err := runManager("--config", "/does/not/exist"); err == nil || !strings.Contains(err.Error(), "--config: open /does/not/exist: no such file") {
		t.Errorf("no file: %v", err)
	}
}

// FuzzConfig: no file makes it panic, and one that is taken is written as it was read.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{"", configHead, configHead + "controllers: ['*']\nlisten: a\nv: 3\n", "a: &b [*b]\n", configHead + "historyMaxAge: 1h\n? [x]\n: y\n", configHead + "controllers: &x ['*']\nhistory: *x\n", "- 1\n", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := withConfig(t, text)
		if err != nil {
			return
		}
		if twice, err := withConfig(t, once); err != nil || twice != once {
			t.Errorf("%v: written as\n%s\nand then as\n%s", err, once, twice)
		}
	})
}

// The log takes what its flags ask for.
func TestLogFlags(t *testing.T) {
	for _, c := range []struct {
		o     logOptions
		debug bool
		want  string
	}{{logOptions{format: "text"}, false, "level=INFO msg=shown"}, {logOptions{verbosity: debugFrom, format: "json"}, true, `"level":"INFO","msg":"shown"`}} {
		var b bytes.Buffer
		log := c.o.logger(&b)
		log.Info("shown", "password", "password=hunter2")
		log.Debug("debugging")
		if got := b.String(); !strings.Contains(got, c.want) || strings.Contains(got, "debugging") != c.debug || strings.Contains(got, "hunter2") {
			t.Errorf("%+v: %s", c.o, got)
		}
	}
	(&logOptions{format: "text"}).logger(os.Stderr)
}
