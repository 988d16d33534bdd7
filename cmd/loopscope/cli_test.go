package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var update = flag.Bool("update", false, "write the golden files")

// run is the command line as a user meets it.
func run(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	stdout, _, err = runBoth(t, args...)
	return stdout, err
}

// runBoth tells what is printed beside the output, too.
func runBoth(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out, errOut bytes.Buffer
	root := newRoot(streams{out: &out, err: &errOut})
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

func TestErrorsSayWhatToDo(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(garbage, []byte("not: [a kubeconfig"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"unknown command", []string{"bogus"}, []string{`"bogus" is not a command`, "--help"}},
		{"unknown flag", []string{"manager", "--bogus"}, []string{"--bogus", "loopscope manager --help"}},
		{"a flag's value", []string{"manager", "--concurrent-rc-syncs", "many"}, []string{"many", "loopscope manager --help"}},
		{"all that is wrong at once", []string{"manager", "--controllers=foo,-bar,deployment", "--concurrent_rc_syncs=0", "--kube-api-burst=0", "--min-resync-period=1s", "--controller-start-interval=-1s", "--watch", "--untraced", "--contention-profiling", "--leader-elect-lease-duration=1s", "--leader-elect-renew-deadline=1s", "--leader-elect-retry-period=1s", "--leader-elect-resource-name=A_", "--leader-elect-resource-namespace=", "--dangerously-act-beside-a-leader"},
			[]string{`"foo" is not in the list of known controllers`, `"bar" is not in the list of known controllers`, "--controllers takes deployment-controller, ", "--controllers=*,-replicationcontroller-controller", "--kube-api-qps and --kube-api-burst have to be positive",
				"--min-resync-period has to be a minute", "--controller-start-interval has to be 0s", "omit --untraced", "give --profiling as well",
				"--leader-elect-lease-duration: must be greater than --leader-elect-renew-deadline", "--leader-elect-renew-deadline: must be more than 1.2s", `--leader-elect-resource-name: "A_" is not the name`,
				"--leader-elect-resource-namespace: must not be empty", "give --leader-elect=false as well"}},
		{"a way in that is none", []string{"manager", "--console-auth=foo"}, []string{"give token or none as --console-auth"}},
		{"a token that nobody asks for", []string{"manager", "--console-auth=none", "--console-token-file=x"}, []string{"--console-token-file means nothing with a console that asks for no token: leave out one of --console-auth and --console-token-file"}},
		{"a token of a recording that nobody asks for", []string{"view", "x", "--console-auth=none", "--console-token-file=x"}, []string{"leave out one of --console-auth and --console-token-file"}},
		{"a token that is not there", []string{"manager", "--console-token-file=/does/not/exist", "--kubeconfig", contexts(t, "http://127.0.0.1:1")}, []string{"--console-token-file: token: open /does/not/exist: no such file"}},
		{"an interval of no watch", []string{"top", "--every", "5s"}, []string{"--every is how often --watch refreshes: give --watch as well"}},
		{"a timeout that is none", []string{"explain", "deployment/web", "--request-timeout", "xx", "--kubeconfig", contexts(t, "http://127.0.0.1:1")}, []string{"--request-timeout=xx is not a time: give one such as 30s"}},
		{"an export of no time", []string{"export", "--since", "1h", "--until", "2h"}, []string{"--since is not before --until: nothing lies between the two"}},
		{"a lock that is no Lease", []string{"manager", "--leader-elect-resource-lock=endpoints", "--leader-elect-retry-period=0s"}, []string{`resourceLock value must be "leases"`, "--leader-elect-retry-period: must be greater than zero"}},
		{"arguments nobody takes", []string{"manager", "now"}, []string{`omit "now"`, "manager --help"}},
		{"no cluster", []string{"manager"}, []string{"no cluster is configured", "--kubeconfig", "make sandbox"}},
		{"a kubeconfig that is not there", []string{"manager", "--kubeconfig", "/does/not/exist"}, []string{"/does/not/exist", "--kubeconfig"}},
		{"a kubeconfig that is none", []string{"explain", "deployment/web", "--kubeconfig", garbage}, []string{garbage}},
		{"a context that is not there", []string{"explain", "deployment/web", "--context", "prod"}, []string{"prod"}},
		{"nothing to explain", []string{"explain"}, []string{"which object?", "deployment/web"}},
		{"no name", []string{"explain", "web"}, []string{"KIND/NAME"}},
		{"another kind", []string{"explain", "pod/web"}, []string{`not "pod/web"`, "--at or --sync"}},
		{"another format", []string{"explain", "deployment/web", "-o", "xml"}, []string{`"xml"`, "choose json, yaml or kyaml"}},
		{"a command that is meant", []string{"tpo"}, []string{`"tpo" is not a command`, "did you mean top?"}},
		{"a context among others", []string{"manager", "--context", "prod", "--kubeconfig", contexts(t, "http://127.0.0.1:1")}, []string{`no context "prod"`, "those there are: one, two"}},
		{"a name alone", []string{"explain", "stuck"}, []string{`"stuck" is half of an object's name`, "deployment/stuck"}},
		{"a kind alone", []string{"story", "deploy"}, []string{"which Deployment?", "deployment/web"}},
		{"two objects", []string{"explain", "deployment/web", "deployment/api"}, []string{"one object at a time", `omit "deployment/api"`}},
		{"too many words", []string{"explain", "deployment", "web", "api"}, []string{"one object at a time", `omit "api"`}},
		{"a kind of the history alone", []string{"explain", "rs/web"}, []string{`not "rs/web"`, "--at or --sync", "replicaset"}},
		{"a kind without a story", []string{"story", "rs", "web"}, []string{`"rs/web" has no story`, "deployment"}},
		{"a story by name", []string{"story", "deployment/web", "-o", "name"}, []string{`"name" is not known`, "choose json, yaml or kyaml"}},
		{"a loop that is none", []string{"decisions", "pod"}, []string{`"pod" is not a loop`, "replicationcontroller"}},
		{"an object to export", []string{"export", "deployment/web"}, []string{"takes no KIND/NAME", "--loop", "loopscope export --help"}},
		{"a word to export", []string{"export", "web"}, []string{`omit "web"`, "loopscope export --help"}},
		{"a format of a recording", []string{"export", "-o", "json"}, []string{"JSON Lines always", "-o ./json"}},
		{"nothing to replay", []string{"replay"}, []string{"which recording?", "loopscope replay --help"}},
		{"nothing to view", []string{"view"}, []string{"which recording?", "loopscope view --help"}},
		{"two recordings to view", []string{"view", "a", "b"}, []string{"one recording", `omit "b"`}},
		{"a word after version", []string{"version", "1"}, []string{`omit "1"`}},
		{"nothing to migrate", []string{"migrate"}, []string{"which ReplicationController?", "migrate --help"}},
		{"a Deployment that is to be one", []string{"migrate", "deployment/web"}, []string{"ReplicationControllers", `"deployment/web" is none`, "rc/NAME"}},
		{"a ReplicationController twice", []string{"migrate", "rc", "web", "web"}, []string{"rc/web", "twice"}},
		{"one name for several", []string{"migrate", "rc/web", "rc/api", "--name=x"}, []string{"--name is of one Deployment"}},
		{"a way back that keeps", []string{"migrate", "rc/web", "--undo", "--keep-rc"}, []string{"omit --keep-rc"}},
		{"a way back to a name", []string{"migrate", "rc/web", "--undo", "--name=x"}, []string{"omit --name"}},
		{"a limit of a plan", []string{"migrate", "rc/web", "--timeout=1s"}, []string{"give --write as well"}},
		{"a plan in another format", []string{"migrate", "rc/web", "-o", "xml"}, []string{`"xml"`, "choose json"}},
		{"nowhere to migrate", []string{"migrate", "rc/web"}, []string{"no cluster is configured", "--kubeconfig"}},
		{"nothing to create", []string{"create"}, []string{"must specify one of -f and -k"}},
		{"what kubectl creates of words", []string{"create", "deployment", "web", "--image=nginx"}, []string{"--image", "loopscope create --help"}},
		{"a kind and a name", []string{"create", "deployment", "web"}, []string{"kubectl create deployment web --dry-run=client -o yaml | loopscope create -f -"}},
		{"a limit without a watch", []string{"create", "-f", "x", "--timeout=1s"}, []string{"give --watch as well"}},
		{"a watch of nothing written", []string{"create", "-f", "x", "--dry-run=server", "--watch"}, []string{"omit --dry-run"}},
		{"a dry run that posts", []string{"create", "-f", "x", "--raw", "/api", "--dry-run=client"}, []string{"--raw posts the file as it is: omit --dry-run"}},
		{"a dry run of the server that posts", []string{"create", "-f", "x", "--raw", "/api", "--dry-run=server"}, []string{"--raw posts the file as it is: omit --dry-run"}},
		{"an edit that is explained", []string{"create", "-f", "x", "--edit", "--explain"}, []string{"--explain cannot be used with --edit"}},
		{"an edit that is none", []string{"create", "-f", "x", "--edit", "--dry-run=client"}, []string{"omit --dry-run"}},
		{"an apply that nobody merges", []string{"apply", "-f", "x", "--dry-run=client"}, []string{"--dry-run=server"}},
		{"an apply of the client", []string{"apply", "-f", "x", "--server-side=false"}, []string{"use kubectl apply"}},
		{"an apply that deletes", []string{"apply", "-f", "x", "--prune"}, []string{"--prune", "loopscope apply --help"}},
		{"help for what is none", []string{"help", "explian"}, []string{`"explian" is not a command`, "did you mean explain?"}},
		{"help for half of what is none", []string{"help", "rolling-update", "stauts"}, []string{`"stauts" is not a command of loopscope rolling-update`}},
		{"a shell that is none", []string{"completion", "bsh"}, []string{`"bsh" is not a command of loopscope completion`}},
		{"nowhere to create", []string{"create", "-f", "x"}, []string{"no cluster is configured", "--kubeconfig"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := run(t, c.args...)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if said := errorText(err); !strings.Contains(said, want) {
					t.Errorf("%q does not say %q", said, want)
				}
			}
			if said := errorText(err); !strings.HasSuffix(said, err.Error()) {
				t.Errorf("%q is printed as %q: words of it pass for a credential", err, said)
			}
		})
	}
}

// The help of every command has examples, names each flag once, and what a flag takes by what
// it is.
func TestHelp(t *testing.T) {
	root := newRoot(streams{out: io.Discard, err: io.Discard})
	for _, cmd := range append(root.Commands(), root) {
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		out, err := run(t, args...)
		if err != nil || !strings.Contains(out, "Examples:") {
			t.Errorf("%v: error %v, help %q", args, err, out)
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Hidden || flag.Deprecated != "" {
				return
			}
			if n := len(regexp.MustCompile(`(?m)^ +(-\w, )?--`+flag.Name+` `).FindAllString(out, -1)); n != 1 {
				t.Errorf("%v has --%s %d times:\n%s", args, flag.Name, n, out)
			}
			if name, _ := pflag.UnquoteUsage(flag); strings.Contains(name, " ") {
				t.Errorf("%v: --%s takes a %q", args, flag.Name, name)
			}
		})
	}
	for command, want := range map[string]string{"--help": "exit code 0", "top --help": "exit code is 0", "explain --help": "exit code is 0", "replay --help": "code is 1"} {
		if out, err := run(t, strings.Fields(command)...); err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("%s does not say %q: %v", command, want, err)
		}
	}
}

func TestVersion(t *testing.T) {
	out, err := run(t, "version")
	if err != nil || !strings.HasPrefix(out, "loopscope ") || !strings.Contains(out, "Kubernetes v1.36") {
		t.Errorf("version prints %q, error %v", out, err)
	}
	out, err = run(t, "version", "-o", "json")
	var told map[string]string
	if err != nil || json.Unmarshal([]byte(out), &told) != nil || told["version"] != stamped() || told["rules"] != rulesOf {
		t.Errorf("version prints %q, error %v", out, err)
	}
}

func TestObjectArg(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"deployment/web"}, "deployment web"}, {[]string{"deploy/web"}, "deployment web"}, {[]string{"Deployments.apps/web"}, "deployment web"},
		{[]string{"deployment", "web"}, "deployment web"}, {[]string{"rs/web"}, "replicaset web"}, {[]string{"RC", "web"}, "replicationcontroller web"},
		{[]string{"widgets/web"}, "widget web"}, // of a program whose loops are not known here
		{[]string{"web"}, ""}, {[]string{"deployment/"}, ""}, {[]string{"/web"}, ""}, {[]string{"deployment/a/b"}, ""},
	} {
		loop, name, err := objectArg(c.args)
		if got := strings.TrimSpace(loop + " " + name); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q, %v, want %q", c.args, got, err, c.want)
		}
	}
}

// stuck is a rollout to an image that does not exist.
func stuck(now time.Time) *deployment.Snapshot {
	deadline := int64(600)
	return &deployment.Snapshot{
		Version: deployment.SnapshotVersion, Now: now, Found: true, Namespace: "shop", Name: "web", UID: "d", RV: "9",
		Created: now.Add(-time.Hour), Generation: 2, Selector: "app=web", Want: 3, Strategy: "RollingUpdate",
		MaxSurge: &deployment.IntOrPercent{Percent: "25%"}, MaxUnavailable: &deployment.IntOrPercent{Percent: "25%"}, Deadline: &deadline,
		Revision: "2", NextName: "web-new", NextHash: "new", CollisionName: "web-other", CollisionHash: "other",
		Status: deployment.Status{
			ObservedGeneration: 2, Replicas: 4, Updated: 1, Ready: 3, Available: 3, Unavailable: 1,
			Conditions: []decision.Condition{
				{Type: "Available", Status: "True", Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability."},
				{Type: "Progressing", Status: "True", Reason: "ReplicaSetUpdated", Message: `ReplicaSet "web-new" is progressing.`, Updated: now.Add(-5 * time.Minute), Transition: now.Add(-time.Hour)},
			},
		},
		ReplicaSets: []deployment.ReplicaSet{
			{Name: "web-old", UID: "o", RV: "5", Created: now.Add(-time.Hour), Mine: true, Matches: true, Replicas: 3, StatusReplicas: 3, Ready: 3, Available: 3, Revision: "1", Desired: "3", Max: "4", NonTerminal: 3},
			{
				Name: "web-new", UID: "n", RV: "8", Created: now.Add(-5 * time.Minute), Mine: true, Matches: true, SameTemplate: true,
				Replicas: 1, StatusReplicas: 1, Revision: "2", Desired: "3", Max: "4", NonTerminal: 1, Unavailable: 1,
				Blocking: []deployment.Pod{{Name: "web-new-x7", Phase: "Pending", Node: "n1", Reason: "ImagePullBackOff", Message: `Back-off pulling image "web:404": not found`, Image: "web:404", Created: now.Add(-5 * time.Minute), Since: now.Add(-5 * time.Minute)}},
			},
		},
		LastProgress: now.Add(-5 * time.Minute),
	}
}

func TestExplainText(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 2, 24, 0, time.UTC)
	s := stuck(now)
	x := decision.Sync{Core: deployment.NewSync(s)}
	x.Run(decision.Nobody)
	told := x.Tell(decision.Try{}, now)
	trace := &telemetry.Trace{
		Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"},
		Rounds: x.Rounds, Report: x.Report, Numbers: told.Numbers, Sentence: told.Sentence,
	}
	var out bytes.Buffer
	if err := explainText(&out, trace, evidence{}, now); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/explain-stuck.txt", out.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// What keeps pods lasts; that they were taken away happened.
func TestExplainSaysSinceWhen(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 2, 24, 0, time.UTC)
	p := printer{now: now}
	for _, c := range []struct {
		finding decision.Finding
		want    string
	}{
		{decision.Finding{Code: "crash-loop", Count: 2, Since: now.Add(-time.Minute)}, ", for 1m"},
		{decision.Finding{Code: "evicted", Count: 1, Since: now.Add(-time.Minute)}, ", 1m ago"},
		{decision.Finding{Code: "preempted", Count: 2, Since: now.Add(-time.Minute)}, ", the first 1m ago"},
		{decision.Finding{Code: "evicted", Count: 2}, ""},
	} {
		if got := p.since(&c.finding); got != c.want {
			t.Errorf("%+v: %q, want %q", c.finding, got, c.want)
		}
	}
}

// TestExplainNamesWhatIsInTheWay: a message that several have stands there once, and of what is not named
// at all there are not "more".
func TestExplainNamesWhatIsInTheWay(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 2, 24, 0, time.UTC)
	pod := func(name, reason, message string) decision.Blocker {
		return decision.Blocker{Kind: "Pod", Name: name, Reason: reason, Message: message, Since: now.Add(-time.Minute)}
	}
	for _, c := range []struct {
		blockers []decision.Blocker
		count    int64
		want     string
	}{
		{nil, 2, ""},
		{[]decision.Blocker{pod("a", "BackOff", "not found"), pod("b", "BackOff", "not found"), pod("c", "BackOff", "denied"), pod("d", "BackOff", "not found")}, 6,
			"a  BackOff for 1m: not found\nb  BackOff for 1m\nc  BackOff for 1m: denied\nd  BackOff for 1m: not found\nand 2 more\n"},
		{[]decision.Blocker{pod("a", "", "")}, 1, "a  not ready for 1m\n"},
		{[]decision.Blocker{{Kind: "ReplicaSet", Name: "web-1", Since: now.Add(-time.Minute)}}, 1, "web-1  for 1m\n"},
	} {
		var out bytes.Buffer
		p := printer{w: tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0), now: now}
		p.blockers(decision.Held{Blockers: c.blockers, BlockerCount: c.count})
		_ = p.w.Flush()
		if got := strings.ReplaceAll(out.String(), "    ", ""); got != c.want {
			t.Errorf("it prints %q, want %q", got, c.want)
		}
	}
}
