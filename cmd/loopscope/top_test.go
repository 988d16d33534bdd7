package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/app"
)

// consoleOn is a running console on the recording of a night.
func consoleOn(t *testing.T) string {
	t.Helper()
	program, err := app.NewView(t.Context(), app.ViewOptions{File: recordingOf(t), Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := program.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return program.URL()
}

// TestTop prints the overview of a real console, in the words of its page.
func TestTop(t *testing.T) {
	server := consoleOn(t)
	out, err := run(t, "top", "-A", "--server", server)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 Deployment is waiting.\n0 failed, 1 waiting, 0 moving, 0 on hold, 0 settled; cluster ", "STATE", "WHY\n", "waiting  ", "shop", "web", "3 of 3", "cannot pull web:404"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("what is no terminal is coloured: %q", out)
	}
	if res, err := http.Get(server + "/deployments"); err != nil {
		t.Fatal(err)
	} else {
		page, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if !strings.Contains(string(page), "1 Deployment is waiting.") {
			t.Error("the page has another headline")
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"top"}, "Nothing matches"},
		{[]string{"top"}, "-A lists the Deployments of every namespace."},
		{[]string{"top", "--loop", "replicationcontroller"}, "-A lists the ReplicationControllers of every namespace."},
		{[]string{"top", "-n", "shop"}, "cannot pull"},
		{[]string{"top", "-A", "is:waiting"}, "cannot pull"},
		{[]string{"top", "-A", "is:failed"}, "Nothing matches"},
		{[]string{"top", "-A", "--", "-ns:shop"}, "Nothing matches"},
	} {
		out, err := run(t, append(c.args[:1:1], append([]string{"--server", server}, c.args[1:]...)...)...)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%v: %v, no %q in\n%s", c.args, err, c.want, out)
		}
	}
	for args, want := range map[string]bool{"-A": true, "-A is:settled": false, "-A -o json": true} {
		if _, err := run(t, append([]string{"top", "--exit-code", "--server", server}, strings.Fields(args)...)...); errors.As(err, new(needsYou)) != want || err != nil && !want {
			t.Errorf("%s: somebody is needed: %v, want %v", args, err, want)
		}
	}
	if _, err := run(t, "top", "-A", "--server", server, "colour:red"); err == nil || !strings.Contains(err.Error(), `the term "colour:red" is not known. Terms: a part of a name`) {
		t.Errorf("an unknown term: %v", err)
	}
	for where, most := range map[string]string{"-A": "16 terms", "-nshop": "15 terms beside the namespace"} {
		args := append([]string{"top", where, "--server", server}, slices.Repeat([]string{"web"}, 16)...)
		if _, err := run(t, append(args, "more")...); err == nil || !strings.Contains(err.Error(), "a filter has at most "+most+": omit ") || strings.Contains(err.Error(), "not known") {
			t.Errorf("%s with more terms than a filter has: %v", where, err)
		}
		if _, err := run(t, args[:len(args)-1]...); err != nil {
			t.Errorf("%s with 15 terms: %v", where, err)
		}
	}
	out, err = run(t, "top", "-A", "--server", server, "-o", "json")
	var rows []topRow
	if err != nil || json.Unmarshal([]byte(out), &rows) != nil || len(rows) != 1 || rows[0].Name != "web" || rows[0].State.Word != "waiting" || len(rows[0].Since) == 0 {
		t.Errorf("as JSON: %v %+v\n%s", err, rows, out)
	}
}

func TestTopErrorsSayWhatToDo(t *testing.T) {
	strange := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	t.Cleanup(strange.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	for want, args := range map[string][]string{
		"choose wide, name, json":     {"top", "-o", "xml"},
		"omit -o":                     {"top", "-w", "-o", "json"},
		"omit --exit-code":            {"top", "-w", "--exit-code"},
		"--limit has to be positive":  {"top", "--limit", "0"},
		"100ms or more":               {"top", "-w", "--every", "1ms"},
		"not a terminal":              {"top", "-w", "--server", strange.URL},
		"is not an address":           {"top", "--server", "localhost"},
		"Is Loopscope running there?": {"top", "--server", closed.URL},
		"of another version?":         {"top", "--server", strange.URL},
	} {
		if _, err := run(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// TestTopPages reads as many pages as the limit asks for, and not one more.
func TestTopPages(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/about.json" {
			_, _ = io.WriteString(w, "{}")
			return
		}
		asked++
		next, row := "/deployments?after=a&q=ns%3Ashop", `{"namespace":"shop","name":"n","state":{"tone":"ok","word":"settled"},"why":"x\u001b[2Jy","since":[{"since":"2026-11-21T03:00:00Z"}]}`
		if r.URL.Query().Get("q") != "ns:shop" || asked > 1 && r.URL.Query().Get("after") != "a" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = io.WriteString(w, `{"now":"2026-11-21T03:04:48Z","cluster":"c","page":{"headline":"h","groups":[{"rows":[`+row+","+row+`]}],"next":"`+next+`"}}`)
	}))
	t.Cleanup(server.Close)
	out, err := run(t, "top", "-n", "shop", "--limit", "5", "--server", server.URL)
	if err != nil || asked != 3 || strings.Count(out, "settled") != 5 || !strings.Contains(out, "raise --limit") || !strings.Contains(out, "4m 48s") || strings.Contains(out, "\x1b") {
		t.Errorf("%v, %d pages asked for:\n%q", err, asked, out)
	}
}

// TestTopQueue tells what a key waits for once.
func TestTopQueue(t *testing.T) {
	for _, c := range []struct{ queue, note, want string }{
		{"timer", `[{"text":"timer in "},{"until":"2026-11-21T03:02:34Z"}]`, "timer in 10s"},
		{"timer", `[{"text":"deadline in "},{"until":"2026-11-21T03:02:34Z"}]`, "timer, deadline in 10s"},
		{"idle", `"no timer"`, "idle"},
	} {
		r := topRow{Queue: c.queue}
		if err := json.Unmarshal([]byte(c.note), &r.QueueNote); err != nil {
			t.Fatal(err)
		}
		if got := r.queue(night); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestTopScreen draws over what was there, and keeps the last answer where the
// console is away.
func TestTopScreen(t *testing.T) {
	list := topList{now: night, cluster: "c", headline: "One.", rows: []topRow{{Namespace: "shop", Name: "web", State: mark{"wait", "waiting"}}}}
	got := topPrinter{colour: true}.screen(list, nil, night)
	if !strings.HasPrefix(got, "\x1b[HOne.\x1b[K\n") || !strings.HasSuffix(got, "\x1b[J") || strings.Contains(strings.ReplaceAll(got, "\x1b[K\n", ""), "\n") || !strings.Contains(got, "\x1b[33mwaiting\x1b[0m") {
		t.Errorf("%q", got)
	}
	got = topPrinter{}.screen(list, errors.New("gone"), night)
	if !strings.Contains(got, "03:02:24: gone\x1b[K\nWhat follows is the last answer.") || !strings.Contains(got, "waiting") || strings.Contains(got, "\x1b[33m") {
		t.Errorf("%q", got)
	}
	t.Setenv("NO_COLOR", "1")
	if coloured(os.Stdout) {
		t.Error("coloured in spite of NO_COLOR")
	}
}

// FuzzPageText: whatever a console answers is read or refused, and never tells a
// terminal to do something.
func FuzzPageText(f *testing.F) {
	for _, text := range []string{`"x"`, `[{"text":"a"},{"until":"2026-11-21T03:02:24Z"}]`, `[]`, `null`, `"\u001b[2J"`, `[{"since":1}]`, `{`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var text pageText
		if json.Unmarshal(data, &text) != nil {
			return
		}
		if s := text.at(night); strings.ContainsAny(s, "\x1b\n\r\x07") {
			t.Fatalf("%q says %q", data, s)
		}
	})
}

// TestTopInAnOutage marks the rows that are of before it, and says in the story as of when it is.
func TestTopInAnOutage(t *testing.T) {
	answers := map[string]string{
		"/deployments.json": `{"now":"2026-03-01T20:05:00Z","cluster":"dev","notice":{"title":"The API server does not answer","text":"Since 20:01:07."},"page":{"headline":"Both Deployments need no action.","groups":[{"rows":[
			{"namespace":"shop","name":"idle","state":{"tone":"ok","word":"settled"},"since":"3m 2s","asOf":"2026-03-01T20:01:07.5Z","why":"3 of 3 available.","queue":"idle","queueNote":"no timer"},
			{"namespace":"shop","name":"due","state":{"tone":"wait","word":"waiting"},"since":[{"since":"2026-03-01T20:04:48Z"}],"why":"The API server does not answer.","queue":"back-off","queueNote":""}]}]}}`,
		"/deployments/shop/idle/story.json": `{"page":{"story":{"began":"2026-03-01T20:00:00Z","asOf":"2026-03-01T20:01:07.5Z","text":"shop/idle is moving.","counts":{"syncs":4,"writes":2,"conflicts":1,"unanswered":3,"outages":1},
			"beats":[{"kind":"outage","at":"2026-03-01T20:01:07.5Z","object":"API server","outage":{"began":"2026-03-01T20:01:07.5Z","lack":"etcd","error":"/readyz: etcd failed","due":[{"object":"Deployment idle"}]}}]}}}`,
	}
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answers[r.URL.Path]) }))
	t.Cleanup(console.Close)
	out, err := run(t, "top", "-A", "--server", console.URL)
	if err != nil || !strings.Contains(out, "settled  3m 2s, as of 20:01:07  shop") || !strings.Contains(out, "waiting  12s                    shop") {
		t.Errorf("top: %v\n%s", err, out)
	}
	out, err = run(t, "top", "-A", "--server", console.URL, "-o", "json")
	var rows []topRow
	if err != nil || json.Unmarshal([]byte(out), &rows) != nil || len(rows) != 2 || rows[0].AsOf == nil || rows[0].AsOf.Second() != 7 || rows[1].AsOf != nil {
		t.Errorf("as JSON: %v\n%s", err, out)
	}
	out, err = run(t, "story", "deployment/idle", "-n", "shop", "--server", console.URL)
	for _, want := range []string{"This is as of 20:01:07 UTC, when the API server last served.\n", "2 writes, 0 refused, 1 conflict, 3 unanswered\n", "outage  The API server has been without its etcd since (etcd failed). Pending: deciding on Deployment idle; will be retried when it is back\n"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("story: %v, no %q in\n%s", err, want, out)
		}
	}
}

// TestTopCountsWhatIsInNoTable: what has a list of its own is told of below the table, and somebody is needed for it too.
func TestTopCountsWhatIsInNoTable(t *testing.T) {
	beside := `{"loop":"replicaset","text":[{"text":"2 ReplicaSets without a Deployment are waiting"},{"text":": shop/big, shop/web."}],"failed":0,"waiting":2}`
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/deployments.json":
			_, _ = io.WriteString(w, `{"now":"2026-03-01T20:05:00Z","cluster":"dev","page":{"headline":"No Deployments yet.","groups":[],"beside":[`+beside+`]}}`)
		case "/replicasets.json":
			_, _ = io.WriteString(w, `{"now":"2026-03-01T20:05:00Z","cluster":"dev","page":{"headline":"2 ReplicaSets without a Deployment are waiting.","groups":[{"rows":[
				{"namespace":"shop","name":"big","state":{"tone":"wait","word":"waiting"},"why":"no node has room."}]}]}}`)
		}
	}))
	t.Cleanup(console.Close)
	out, err := run(t, "top", "-A", "--exit-code", "--server", console.URL)
	if !errors.As(err, new(needsYou)) || !strings.HasSuffix(out, "\n2 ReplicaSets without a Deployment are waiting: shop/big, shop/web. --loop replicaset lists them.\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run(t, "top", "-A", "--loop", "rs", "-o", "name", "--server", console.URL); err != nil || !strings.Contains(out, "replicaset.apps/big\n") {
		t.Errorf("--loop rs: %v\n%s", err, out)
	}
	beside = `{"loop":"replicaset","text":"The only ReplicaSet without a Deployment needs no action.","failed":0,"waiting":0}`
	if out, err := run(t, "top", "-A", "--exit-code", "--server", console.URL); err != nil || !strings.Contains(out, "needs no action.") {
		t.Errorf("%v\n%s", err, out)
	}
}
