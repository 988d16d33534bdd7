package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/telemetry/safetext"
)

// twoRows is a console whose list goes on.
func twoRows(t *testing.T) string {
	t.Helper()
	const list = `{"now":"2026-11-21T03:04:48Z","cluster":"c","notice":{"title":"The API server does not answer","text":"Since 03:04."},"page":{"headline":"One failed.","tally":[{"word":"failed","count":1}],"groups":[{"rows":[
		{"namespace":"shop","name":"web","state":{"tone":"fail","word":"failed"},"since":[{"since":"2026-11-21T03:00:00Z"}],"revision":"7","why":"No progress <yet>.","asked":"RR-4 is it complete? no","available":"1 of 3",
		 "meter":{"newAvailable":1,"oldAvailable":2,"notAvailable":3,"floor":2,"ceiling":4},"lastAt":"2026-11-21T03:04:40Z","lastDid":"nothing to write","queue":"timer","queueNote":[{"text":"deadline in "},{"until":"2026-11-21T03:05:48Z"}]},
		{"namespace":"pay","name":"api","state":{"tone":"ok","word":"settled"},"since":"","why":"3 of 3 available.","available":"3 of 3","numbers":"3 claims","lastAt":"2026-11-21T03:04:00Z","lastDid":"wrote","queue":"idle","queueNote":"no timer"}]}]`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/deployments.json":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"code":"not-found","message":"There is no such page."}}`)
		case r.URL.Query().Get("after") == "":
			_, _ = io.WriteString(w, list+`,"next":"/deployments?after=x"}}`)
		default:
			_, _ = io.WriteString(w, list+`}}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestTopCountsPods: only where new pods are told from old ones are they told apart.
func TestTopCountsPods(t *testing.T) {
	for want, m := range map[string]topMeter{
		"1 new, 2 old, 3 not available (2 to 4)": {New: 1, Old: 2, Not: 3, Floor: 2, Ceiling: 4},
		"0 available, 2 not available":           {Not: 2, Ceiling: 2, Alike: true},
	} {
		if got := (topRow{Meter: &m}).pods(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTopOutputs: each format has the rows, and what is no row does not stand among those
// that a program reads.
func TestTopOutputs(t *testing.T) {
	const notice, more = "The API server does not answer. Since 03:04.\n", "There are more: raise --limit, or give a term.\n"
	server := twoRows(t)
	top := func(args ...string) (string, string) {
		t.Helper()
		out, beside, err := runBoth(t, append([]string{"top", "-A", "--server", server}, args...)...)
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return out, beside
	}
	for _, c := range []struct{ args, out, beside string }{
		{"--limit 2", notice + "One failed.\n1 failed; cluster c at 03:04:48 UTC\n\n" +
			"STATE    SINCE   NAMESPACE  NAME  AVAILABLE  QUEUE                  WHY\n" +
			"failed   4m 48s  shop       web   1 of 3     timer, deadline in 1m  No progress <yet>.\n" +
			"settled          pay        api   3 of 3     idle                   3 of 3 available.\n" + more, ""},
		{"--limit 1 -o wide --no-headers", "failed  4m 48s  shop  web  1 of 3  timer, deadline in 1m  7  1 new, 2 old, 3 not available (2 to 4)  8s ago, nothing to write  RR-4 is it complete? no  No progress <yet>.\n", notice + more},
		{"-o name", "deployment.apps/web\ndeployment.apps/api\ndeployment.apps/web\ndeployment.apps/api\n", notice},
		{"-o NAME --limit 2", "deployment.apps/web\ndeployment.apps/api\n", notice + more},
	} {
		if out, beside := top(strings.Fields(c.args)...); out != c.out || beside != c.beside {
			t.Errorf("%s prints\n%s\nand beside it\n%s\nwant\n%s\nand\n%s", c.args, out, beside, c.out, c.beside)
		}
	}
	wide, _ := top("--limit", "2", "-o", "wide")
	for _, want := range []string{"QUEUE                  REVISION  PODS                                    LAST-SYNC                 ASKED                    WHY\n", "3 claims"} {
		if !strings.Contains(wide, want) {
			t.Errorf("no %q in\n%s", want, wide)
		}
	}
	for _, format := range []string{"json", "yaml", "kyaml"} {
		out, beside := top("-o", format)
		var rows []topRow
		text, err := yaml.YAMLToJSON([]byte(out)) // All three are YAML.
		if err != nil || json.Unmarshal(text, &rows) != nil || len(rows) != 4 || rows[0].Meter.Ceiling != 4 || rows[1].Numbers != "3 claims" || beside != notice {
			t.Errorf("%s: %v, %+v, beside it %q\n%s", format, err, rows, beside, out)
		}
		if format == "json" && (!json.Valid([]byte(out)) || !strings.Contains(out, "<yet>") || strings.HasSuffix(out, "\n\n")) {
			t.Errorf("not as it should be:\n%s", out)
		}
	}
}

// What a program asks for is no null where there is nothing.
func TestTopOfNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"page":{"headline":"h","empty":{"heading":"Nothing matches."}}}`)
	}))
	t.Cleanup(server.Close)
	for _, c := range [][2]string{{"json", "[]\n"}, {"yaml", "[]\n"}, {"name", ""}} {
		out, beside, err := runBoth(t, "top", "-A", "--server", server.URL, "-o", c[0])
		if err != nil || out != c[1] || beside != "Nothing matches.\n" {
			t.Errorf("%s: %v, %q, beside it %q", c[0], err, out, beside)
		}
	}
}

// A kind that a console does not have is told from a name that it does not have.
func TestKindsOfAConsole(t *testing.T) {
	server := twoRows(t)
	for command, want := range map[string]string{
		"top -A --loop pod":     `has no list of the kind "pod"; ` + "`loopscope manager` has deployment",
		"story po/web -n shop":  `has no stories of the kind "po"; ` + "`loopscope manager` has deployment",
		"story Pods/web -n pay": `has no stories of the kind "pod"`,
	} {
		if _, err := run(t, append(strings.Fields(command), "--server", server)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", command, err, want)
		}
	}
	if _, err := run(t, "story", "deployment/none", "-n", "shop", "--server", consoleOn(t)); err == nil || !strings.Contains(err.Error(), "shop/none") || !strings.Contains(err.Error(), "`loopscope top -A` lists") {
		t.Errorf("a name that is not known: %v", err)
	}
}

// The story and the trace are the same in every format.
func TestDataOutputs(t *testing.T) {
	file, server := nightly(t), consoleOn(t)
	for _, command := range []string{"explain --sync aaaa/311 --history " + file, "story deployment/web -n shop --server " + server} {
		var first any
		for _, format := range []string{"json", "yaml", "kyaml"} {
			out, err := run(t, append(strings.Fields(command), "-o", format)...)
			if err != nil {
				t.Fatalf("%s -o %s: %v", command, format, err)
			}
			text, err := yaml.YAMLToJSON([]byte(out))
			if err != nil {
				t.Fatalf("%s -o %s: %v\n%s", command, format, err, out)
			}
			if first == nil {
				first = string(text)
			}
			if first != string(text) {
				t.Errorf("%s -o %s is not what -o json is:\n%s", command, format, out)
			}
		}
	}
}

// FuzzOutput: whatever a text holds, it is printed in every format, and what is for reading in
// it comes out as it was.
func FuzzOutput(f *testing.F) {
	for _, text := range []string{"", "a\nb: - c", "\x00\x1b\x7f\u0085\u009b\u2028\ufeff\ufffe\uffff\U000e0041", "ünïcode 你好 🎉", "no", "1e3", "'\"#&*!|>%@`", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []string{"json", "yaml", "kyaml"} {
			var out strings.Builder
			o := outputFlag{value: format}
			if err := o.print(newSafeWriter(&out), map[string]string{"text": text}); err != nil {
				t.Fatalf("%s of %q: %v", format, text, err)
			}
			var back map[string]string
			if err := yaml.Unmarshal([]byte(out.String()), &back); err != nil || utf8.ValidString(text) && safetext.Shown(text) && back["text"] != text {
				t.Fatalf("%s of %q says %q, %v:\n%s", format, text, back["text"], err, out.String())
			}
		}
	})
}
