package plan

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/web/facts"
)

// TestWhatIfCommands hands what is printed to a real shell and reads the patch
// back as JSON, however the object is called.
func TestWhatIfCommands(t *testing.T) {
	for _, name := range []string{"web", "it's; rm -rf $HOME", "`id`\"\\"} {
		s := &deployment.Snapshot{Version: 1, Now: waiting().Now, Found: true, Namespace: "shop " + name, Name: name, Want: 10, Strategy: "RollingUpdate", Images: []string{"a:1", "b:1"},
			MaxSurge: &deployment.IntOrPercent{Int: 1}, MaxUnavailable: &deployment.IntOrPercent{}, Deadline: new(int64(600))}
		p := proposeRollout(s, url.Values{"replicas": {"12"}, "maxSurge": {"3"}, "maxUnavailable": {"50%"}, "progressDeadlineSeconds": {"none"}, "paused": {"true"}, "image": {"a:1, b:2"}, "minReadySeconds": {"5"}})
		if !p.OK() {
			t.Fatalf("%+v", p.Fields)
		}
		list := p.Commands()
		var patches []any
		for _, c := range list {
			out, err := exec.Command("sh", "-c", `kubectl() { printf '%s\n' "$2" "$4" "$7"; }; `+c).Output()
			if err != nil {
				t.Fatalf("%s: %v", c, err)
			}
			lines := strings.Split(string(out), "\n")
			var patch any
			if err := json.Unmarshal([]byte(lines[2]), &patch); err != nil || lines[0] != "deployment/"+name || lines[1] != "shop "+name {
				t.Fatalf("%s: %q, %v", c, lines, err)
			}
			patches = append(patches, patch)
		}
		want := []any{
			map[string]any{"spec": map[string]any{"replicas": 12., "paused": true, "minReadySeconds": 5., "progressDeadlineSeconds": 2147483647.,
				"strategy": map[string]any{"rollingUpdate": map[string]any{"maxSurge": 3., "maxUnavailable": "50%"}}}},
			[]any{map[string]any{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "b:2"}},
		}
		if diff := cmp.Diff(want, patches); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzWhatIf: no address breaks the page, is planned in spite of a message, or
// prints a command that a shell reads otherwise than as words.
func FuzzWhatIf(f *testing.F) {
	for _, q := range []string{"", "replicas=3&maxSurge=1", "maxUnavailable=50%25&image=a:2", "ready=*&fails=x", "paused=true", "minReadySeconds=2147483647&progressDeadlineSeconds=none",
		"image='%0a$(id)", "replicas=%00", "maxSurge=999999999999%25", "replicas=4990&maxSurge=10", "sync=1", "ready=" + strings.Repeat("a", 900)} {
		f.Add(q)
	}
	s := waiting()
	f.Fuzz(func(t *testing.T, text string) {
		args, err := url.ParseQuery(text)
		if err != nil || len(text) > 8192 {
			return
		}
		p := proposeRollout(s, args)
		if n := facts.Numbers(deployment.Numbers(&p.to)).Or("ceiling"); p.OK() && n > sim.MaxPods {
			t.Fatalf("%q plans %d pods", text, n)
		}
		if !p.OK() || p.to.Want > 20 {
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

// waiting is a Deployment two of whose pods are not available.
func waiting() *deployment.Snapshot {
	now := time.Date(2026, 11, 21, 3, 13, 4, 0, time.UTC)
	return &deployment.Snapshot{Version: 1, Now: now, Found: true, Namespace: "shop", Name: "web", UID: "d", RV: "1", Generation: 1, Want: 4, Strategy: "RollingUpdate",
		MaxSurge: &deployment.IntOrPercent{Percent: "25%"}, MaxUnavailable: &deployment.IntOrPercent{Percent: "25%"}, Deadline: new(int64(600)), Images: []string{"a:1"}, NextName: "web-1", NextHash: "1",
		ReplicaSets: []deployment.ReplicaSet{{Name: "web-0", UID: "0", RV: "1", Created: now.Add(-time.Hour), Mine: true, Matches: true, SameTemplate: true, Replicas: 4, StatusReplicas: 4, Ready: 2, Available: 2, NonTerminal: 4, Unavailable: 2,
			Images: []string{"a:1"}, Blocking: []deployment.Pod{{Name: "web-0-a", Created: now, Reason: "ContainerCreating"}, {Name: "web-0-b", Created: now, Node: "n", Reason: "CrashLoopBackOff"}}}}}
}

// nobodyElse stands for a console on which nobody else draws.
func nobodyElse(ctx context.Context) error { return ctx.Err() }

// TestFoldingLooksAtItsReader: a plan ends after the slice in which nobody waits for it
// any more.
func TestFoldingLooksAtItsReader(t *testing.T) {
	p := proposeRollout(waiting(), url.Values{"replicas": {"500"}})
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := Simulate(ctx, p, nobodyElse, time.Hour, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a plan for nobody ended with %v", err)
	}
}
