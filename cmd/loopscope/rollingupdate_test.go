package main

import (
	"io"
	"net/http"
	"net/http/httptest"
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
		{"web web-2 --rollback", `omit the new name, "web-2"`},
		{"web --rollback -f a.yaml", "omit --filename"},
		{"web --rollback --surge=3 --timeout=1m", "changes nothing else of it: omit --surge and --timeout"},
		{"web --rollback --unavailable=0 --update-period=1s --cleanup=delete", "omit --unavailable, --update-period and --cleanup"},
		{"web --rollback --container=c --image-pull-policy=Never", "omit --container and --image-pull-policy"},
		{"web --rollback --deployment-label-key=track", "omit --deployment-label-key"},
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

// halfOld and halfNew are two in the middle of an update, as an API server has them.
const (
	halfOld = `{"kind":"ReplicationController","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","uid":"u-1","resourceVersion":"7","annotations":{
"rollingupdate.loopscope.dev/request":"{\"version\":1,\"id\":\"r1\",\"to\":\"web-2\"}","kubectl.kubernetes.io/next-controller-id":"web-2","kubectl.kubernetes.io/original-replicas":"3"}},
"spec":{"replicas":2,"selector":{"app":"web","v":"1"},"template":{"metadata":{"labels":{"app":"web","v":"1"}},"spec":{"containers":[{"name":"c","image":"web:1"}]}}},"status":{"replicas":2}}`
	halfNew = `{"kind":"ReplicationController","apiVersion":"v1","metadata":{"name":"web-2","namespace":"shop","uid":"u-2","resourceVersion":"8","annotations":{
"kubectl.kubernetes.io/update-source-id":"web:u-1","kubectl.kubernetes.io/desired-replicas":"3"}},
"spec":{"replicas":1,"selector":{"app":"web","v":"2"},"template":{"metadata":{"labels":{"app":"web","v":"2"}},"spec":{"containers":[{"name":"c","image":"web:2"}]}}},"status":{"replicas":1}}`
)

// A dry run of the way back says what it would do, or prints both, and asks for nothing.
func TestRollbackDryRun(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPut && r.URL.Query().Get("dryRun") == "All":
			w.Header().Set("Content-Type", r.Header.Get("Content-Type")) // It is written as protobuf.
			_, _ = io.Copy(w, r.Body)
		case r.Method != http.MethodGet:
			t.Errorf("it wrote: %s %s", r.Method, r.URL)
		case strings.HasSuffix(r.URL.Path, "/pods"):
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}`)
		case strings.HasSuffix(r.URL.Path, "/web"):
			_, _ = io.WriteString(w, halfOld)
		default:
			_, _ = io.WriteString(w, `{"kind":"ReplicationControllerList","apiVersion":"v1","metadata":{},"items":[`+halfOld+","+halfNew+"]}")
		}
	}))
	defer api.Close()
	config := contexts(t, api.URL)
	for flags, want := range map[string][]string{
		"--dry-run":                {"web has 2 pods of web:1; web-2 has 1 pod of web:2", "moving back", "WOULD WRITE", "ReplicationController web"},
		"--dry-run=server":         {"WOULD WRITE", "PLAN"},
		"--dry-run=client -o json": {`"name": "web"`, `"name": "web-2"`, `\"abort\":true`},
		"--dry-run=server -o yaml": {"name: web-2", `"abort":true`},
	} {
		out, err := run(t, append(strings.Fields("rolling-update web --rollback "+flags), "--kubeconfig", config)...)
		if err != nil {
			t.Errorf("%s: %v", flags, err)
		}
		for _, part := range want {
			if !strings.Contains(out, part) {
				t.Errorf("%s: it says\n%s\nwithout %q", flags, out, part)
			}
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
		{"pause", rollingupdate.Request{Paused: true}, "", rollingupdate.Request{}, "is paused already"},
		{"abort", rollingupdate.Request{Paused: true}, "delete", rollingupdate.Request{Abort: true}, ""},
		{"abort", rollingupdate.Request{Abort: true}, "", rollingupdate.Request{}, "is being taken back already"},
		{"resume", rollingupdate.Request{Paused: true, Cleanup: "delete"}, "", rollingupdate.Request{Cleanup: "delete"}, ""},
		{"resume", rollingupdate.Request{}, "", rollingupdate.Request{}, "is not paused"},
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
