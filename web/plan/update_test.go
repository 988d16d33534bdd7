package plan

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// asked is a rolling update of three pods that is asked for and has not begun.
func asked(t testing.TB, fields string) *rollingupdate.Snapshot {
	t.Helper()
	r, err := rollingupdate.ParseRequest(`{"version":1,"id":"a","image":"web:2"` + fields + `}`)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	s := &rollingupdate.Snapshot{Version: 1, Now: now, Namespace: "shop", Name: "web", Request: r, NewName: "web-7d", OldKey: "5b", NewKey: "7d",
		Old: &rollingupdate.Controller{Name: "web", UID: "w", RV: "1", Size: 3, Replicas: 3, Containers: []rollingupdate.Container{{Name: "web", Image: "web:1"}}}}
	for i := range 3 {
		name := fmt.Sprint("web-", i)
		s.Old.Pods = append(s.Old.Pods, rollingupdate.Pod{UID: name, Pod: decision.Pod{Name: name, Node: "n", Ready: true, Created: now.Add(-time.Hour), ReadySince: now.Add(10*time.Second - time.Hour)}})
	}
	return s
}

// TestWhatIfUpdate: the plan of an update with a change, as the page heads it.
func TestWhatIfUpdate(t *testing.T) {
	for _, c := range []struct{ query, headline, then string }{
		{"", "What if web were changed?", "completed 0s ago"},
		{"updatePeriod=0s", "With updatePeriod 0s, it ends after 30s instead of 3m.", "completed 0s ago"},
		{"startup=2m", "With startup 2m, it ends after 6m instead of 3m.", "completed 0s ago"},
		{"surge=3", "With surge 3, there are at most 6 pods instead of 4, it takes 2 scale writes instead of 6 and it ends after 1m instead of 3m.", "completed 0s ago"},
		{"unavailable=100%25", "at least 1 stay available instead of 3", "completed 10s ago"},
		{"desired=5", "With desired 5, ", "completed 0s ago"},
		{"cleanup=delete", "With cleanup delete, sizes and times stay the same, and the last steps are others.", "web-7d is at rest: the update from web was completed"},
		{"paused=true", "it ends waiting instead of complete", "is paused"},
		{"abort=true", "it ends taken back instead of complete", "was taken back"},
		{"newPods=stuck", "it ends deadline exceeded instead of complete", "cannot pull web:2"},
		{"surge=x", "That cannot be planned yet", ""},
		{"surge=5000", "That cannot be planned yet", ""},
		{"timeout=0s", "That cannot be planned yet", ""},
		{"cleanup=burn", "That cannot be planned yet", ""},
		{"newPods=maybe", "That cannot be planned yet", ""},
		{"abort=perhaps", "That cannot be planned yet", ""},
	} {
		args, _ := url.ParseQuery(c.query)
		p := Propose(asked(t, ""), args)
		f, err := Simulate(t.Context(), p, nobodyElse, 8*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, then := f.Headline("web", p), f.Then(p).Plain("").At(time.Time{}); !strings.Contains(got, c.headline) || !strings.Contains(then, c.then) {
			t.Errorf("%q: %s %s", c.query, got, then)
		}
	}
}

// TestUpdateRows: a plan of an update tells its steps in the words of its loop, with their times.
func TestUpdateRows(t *testing.T) {
	p, err := AheadOfRollingUpdate(t.Context(), asked(t, `,"cleanup":"delete"`), 0)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range p.Rows {
		rows = append(rows, fmt.Sprintf("%s: %s: %d + %d", r.When, r.Then, r.Old.N, r.New.N))
	}
	want := []string{
		"at once: labelled its template, so that its pods can be told from the new ones: 3 + 0",
		"at once: labelled 3 pods, so that they can be told from the new ones: 3 + 0",
		"at once: narrowed its selector to its own pods: 3 + 0",
		"at once: wrote down that it has 3 pods, to be able to go back: 3 + 0",
		"at once: created web-7d without pods: 3 + 0",
		"at once: scaled web-7d from 0 to 1 pod: 3 + 1",
		"1m: scaled web from 3 to 2 pods: 2 + 1",
		"1m: scaled web-7d from 1 to 2 pods: 2 + 2",
		"2m: scaled web from 2 to 1 pod: 1 + 2",
		"2m: scaled web-7d from 2 to 3 pods: 1 + 3",
		"3m: scaled web from 1 to 0 pods: 0 + 3",
		"3m: removed its notes from web-7d, as the update has ended: 0 + 3",
		"3m: deleted web, which has no pods any more: 0 + 3",
	}
	if got := strings.Join(rows, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("%s", got)
	}
	if last := p.Rows[len(p.Rows)-1]; last.Mark == nil || last.Mark.Word != "complete" || p.Takes != "3m" {
		t.Errorf("%+v, %s", last.Mark, p.Takes)
	}
	if p, err := AheadOfRollingUpdate(t.Context(), asked(t, ""), 3); err != nil || p.Rows[len(p.Rows)-1].Mark.Word == "complete" {
		t.Errorf("without room for another pod: %+v, %v", p.Rows, err)
	}
	if _, err := AheadOfRollingUpdate(t.Context(), &rollingupdate.Snapshot{}, 0); err == nil {
		t.Error("no update is planned")
	}
}

// TestNothingToPlan: where nobody asks for an update there is no plan of one.
func TestNothingToPlan(t *testing.T) {
	idle := asked(t, "")
	idle.Request = nil
	unreadable := *idle
	unreadable.RequestError = "no JSON"
	parked, old := *idle, *idle.Old
	parked.Old, old.Parked = &old, &rollingupdate.Parked{Size: 3, From: "web-7d", UID: "n"}
	for why, s := range map[string]*rollingupdate.Snapshot{"is gone": {}, "is not being updated": idle, "has a request that cannot be read": &unreadable,
		"has no request any more and only takes over its new pods": &parked} {
		got, command := Propose(s, nil).Nothing()
		if got != why || (command == "loopscope -n shop rolling-update web --image=IMAGE --dry-run") != (s == idle) {
			t.Errorf("%q, not %q; instead %q", got, why, command)
		}
	}
}

// FuzzWhatIfUpdate: no address breaks the page of an update, is planned in spite of a message,
// or prints a command that a shell reads otherwise than as words.
func FuzzWhatIfUpdate(f *testing.F) {
	for _, q := range []string{"", "desired=5&surge=50%25", "updatePeriod=1h&timeout=1s", "cleanup=delete&paused=true", "abort=true", "newPods=stuck&startup=9000h", "surge='%0a$(id)", "desired=5001", "timeout=%00", "updatePeriod=-1s", "startup=999999h"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, err := url.ParseQuery(text)
		if err != nil || len(text) > 1024 {
			return
		}
		p := proposeUpdate(asked(t, ""), args)
		most := p.most(p.snapshot(true))
		if p.OK() && most > sim.MaxPods {
			t.Fatalf("%q plans %d pods", text, most)
		}
		if !p.OK() || most > 20 {
			return
		}
		plans, err := Simulate(t.Context(), p, nobodyElse, 8*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(plans.Views(p)); err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Commands() {
			if at := strings.Index(c, "'"); at >= 0 && strings.Count(c, "'") != 2 {
				t.Fatalf("%q prints %s", text, c)
			}
		}
	})
}

// TestUpdateCommands hands what is printed to a real shell, and reads the request back.
func TestUpdateCommands(t *testing.T) {
	s := asked(t, "")
	s.Namespace = "it's; rm -rf $HOME"
	p := Propose(s, url.Values{"desired": {"4"}, "surge": {"25%"}, "timeout": {"10m"}, "startup": {"3s"}})
	if list := p.Commands(); len(list) != 2 || !strings.HasSuffix(list[0], " --replicas=4") {
		t.Fatal(list)
	}
	out, err := exec.Command("sh", "-c", `kubectl() { printf '%s\n' "$1" "$3" "$5" "$7"; }; `+p.Commands()[1]).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	text, ok := strings.CutPrefix(lines[3], rollingupdate.AnnotationRequest+"=")
	r, err := rollingupdate.ParseRequest(text)
	if !ok || err != nil || lines[0] != "annotate" || lines[1] != "web" || lines[2] != s.Namespace || r.Surge.StrVal != "25%" || r.ID != "a" || time.Duration(*r.Timeout) != 10*time.Minute {
		t.Errorf("%q: %v", lines, err)
	}
}
