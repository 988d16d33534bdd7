package situations_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func goldenPath(name string) string {
	return filepath.Join("testdata", "situations", name+".txt")
}

// compare holds what was told to the golden text: a line for the sentence before
// and one for that after the deadline, and one more for each place that says
// something else.
func compare(t *testing.T, name string, told []telling) {
	t.Helper()
	var text strings.Builder
	for _, x := range told {
		text.WriteString(x.when + ": " + x.text + "\n")
		for _, other := range x.others {
			text.WriteString("  but " + other + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(goldenPath(name), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	golden, err := os.ReadFile(goldenPath(name))
	if err != nil {
		t.Fatalf("%v: write it with -update", err)
	}
	if diff := cmp.Diff(string(golden), text.String()); diff != "" {
		t.Errorf("it says something else (-golden +now); if that is right, run with -update:\n%s", diff)
	}
}

// what varies from run to run, and what stands for it.
var varying = []struct {
	pattern *regexp.Regexp
	plain   string
}{
	{regexp.MustCompile(`\s+`), " "},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`), "<clock>"},
	{regexp.MustCompile(`\b(web)-[0-9a-z]{6,10}-[0-9a-z]{5}\b`), "$1-<hash>-<pod>"},
	{regexp.MustCompile(`\b(web)-[0-9a-z]{8,10}\b`), "$1-<hash>"},
	{regexp.MustCompile(`\b(web|old|set|rc)-[0-9a-z]{5}\b`), "$1-<pod>"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|d|h|m|s)( \d+(d|h|m|s))*\b`), "<time>"}, // after the names, which may end like one
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\brv \d+\b`), "rv <rv>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:<port>"},
	{regexp.MustCompile(`\bkubelet of sandbox-\d+`), "kubelet of <node>"}, // where the scheduler had put the pod
	{regexp.MustCompile(`\b(back-off|restarting|restarts?|restarted|Try) \d+`), "$1 <n>"},
	{regexp.MustCompile(`\b\d+ (restarts?)\b`), "<n> $1"},
}

// plain is a sentence without what varies. The namespace is written as "ns", as
// every situation has its own.
func plain(text, namespace string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), namespace+"/", "ns/")
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.plain)
	}
	return strings.TrimSpace(text)
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a/web is waiting: 1 of 2 for 2m 40s,  web-7d4b9c6f5x-q8m2s\n crashed 3 times.": "ns/web is waiting: 1 of 2 for <time>, web-<hash>-<pod> crashed 3 times.",
		"a/web is settled: web-7d4b9c6f5x since 03:05, rv 12.":                          "ns/web is settled: web-<hash> since <clock>, rv <rv>.",
		"new pod web-7d4b9c6f5x-2457d needs it":                                         "new pod web-<hash>-<pod> needs it",
		"deadline in 9m 4s; back-off 16s":                                               "deadline in <time>; back-off <time>",
		"when the kubelet of sandbox-3 stops it":                                        "when the kubelet of <node> stops it",
	} {
		if got := plain(text, "a"); got != want {
			t.Errorf("plain(%q) is %q, want %q", text, got, want)
		}
	}
}
