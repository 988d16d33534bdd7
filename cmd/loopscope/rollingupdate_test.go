package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// What is wrong with the arguments is said before any cluster is asked.
func TestRollingUpdateArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "which ReplicationController?"},
		{"web", "what is the new one? Give --image or -f"},
		{"web web --image=a", "web cannot be replaced by itself"},
		{"web --image=a -f b", "give one of them"},
		{"web --image=a -o yaml", "-o prints what would be written: give --dry-run as well"},
		{"web --image=a --dry-run -o xml", `"xml" is not known; choose json, yaml or kyaml`},
		{"web --image=a --dry-run --detach", "omit --detach"},
		{"web --rollback --image=a", "omit --image"},
		{"web --rollback --poll-interval=-5s", "--poll-interval has to be 100ms or more"},
		{"web --rollback --poll-interval=0", "--poll-interval has to be 100ms or more"},
		{"web --rollback --deployment-label-key=", "--deployment-label-key may not be empty"},
		{"web --rollback --dry-run=bogus", `--dry-run "bogus": use none, client or server`},
		{"web --rollback --dry-run --detach", "omit --detach"},
		{"web --rollback -o yaml", "-o prints what would be written: give --dry-run as well"},
		{"web --rollback --dry-run -o xml", `"xml" is not known; choose json, yaml or kyaml`},
		{"resume", "which update?"},
		{"pause web --detach", "unknown flag: --detach"},
	} {
		if _, err := run(t, append([]string{"rolling-update"}, strings.Fields(c.args)...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}

// Only what is given is asked for: the rest has its default, or stays as it is.
func TestRollingUpdateRequest(t *testing.T) {
	for args, want := range map[string]rollingupdate.Request{
		"--image=a": {Image: "a"},
		"--image=a --surge=25% --update-period=1m --deployment-label-key=track": {
			Image: "a", Surge: rollingupdate.Amount("25%"), UpdatePeriod: new(rollingupdate.Period(time.Minute)), DeploymentKey: "track",
		},
		"--image=a --unavailable=1 --timeout=1s --cleanup=preserve --container=c --image-pull-policy=Never": {
			Image: "a", Unavailable: rollingupdate.Amount("1"), Timeout: new(rollingupdate.Period(time.Second)), Cleanup: rollingupdate.Preserve, Container: "c", ImagePullPolicy: "Never",
		},
	} {
		o := &rollingOptions{}
		cmd := &cobra.Command{}
		o.addFlags(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if got := o.request([]string{"web"}); got.Text() != want.Text() {
			t.Errorf("%s asks for %s, want %s", args, got.Text(), want.Text())
		}
	}
}

// Each way to steer changes what it is for, and refuses what has been done.
func TestSteerings(t *testing.T) {
	for _, c := range []struct {
		verb    string
		on      rollingupdate.Request
		cleanup rollingupdate.Cleanup
		want    rollingupdate.Request
		fails   string
	}{
		{"pause", rollingupdate.Request{}, "", rollingupdate.Request{Paused: true}, ""},
		{"pause", rollingupdate.Request{Paused: true}, "", rollingupdate.Request{}, "it is paused already"},
		{"abort", rollingupdate.Request{Paused: true}, "delete", rollingupdate.Request{Abort: true}, ""},
		{"abort", rollingupdate.Request{Abort: true}, "", rollingupdate.Request{}, "it is being taken back already"},
		{"resume", rollingupdate.Request{Paused: true, Cleanup: "delete"}, "", rollingupdate.Request{Cleanup: "delete"}, ""},
		{"resume", rollingupdate.Request{}, "", rollingupdate.Request{}, "it is not paused"},
		{"resume", rollingupdate.Request{Cleanup: "delete"}, "rename", rollingupdate.Request{Cleanup: "rename"}, ""},
	} {
		r := c.on
		err := steerings[c.verb].change(&r, c.cleanup)
		if c.fails != "" {
			if err == nil || err.Error() != c.fails {
				t.Errorf("%s %s: %v, want %s", c.verb, c.on.Text(), err, c.fails)
			}
			continue
		}
		if err != nil || r.Text() != c.want.Text() {
			t.Errorf("%s %s: %s, %v, want %s", c.verb, c.on.Text(), r.Text(), err, c.want.Text())
		}
	}
}
