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
	"github.com/loopscope/loopscope/telemetry/decision"
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

// TestWhatIfBackToAnImage: an image that an own ReplicaSet has brings that one back, unless its
// template is known to be another or several have the image, and the page says what is assumed.
func TestWhatIfBackToAnImage(t *testing.T) {
	image, env := decision.Change{Field: "containers[nginx].image", From: "nginx:1.27", To: "nginx:404"}, decision.Change{Field: "containers[nginx].env[A]"}
	for name, tc := range map[string]struct {
		edit   func(*deployment.Snapshot)
		back   bool // wc-1 grows
		assume string
	}{
		"nothing else known":  {func(*deployment.Snapshot) {}, true, "taken as going back to revision 1 (ReplicaSet wc-1), which has the same image. If its template differs"},
		"no revision":         {func(s *deployment.Snapshot) { s.ReplicaSets[0].Revision = "" }, true, "going back to ReplicaSet wc-1, which"},
		"the image alone":     {func(s *deployment.Snapshot) { s.Changed = change(image) }, true, "goes back to revision 1 (ReplicaSet wc-1), which has the same image and differs in nothing else."},
		"more than the image": {func(s *deployment.Snapshot) { s.Changed = change(image, env) }, false, "does not go back to revision 1"},
		"of another revision": {func(s *deployment.Snapshot) { s.Changed = change(env); s.Changed.From = "0" }, true, "taken as"},
		"two have it": {func(s *deployment.Snapshot) {
			s.ReplicaSets = append(s.ReplicaSets, deployment.ReplicaSet{Name: "wc-0", UID: "0", RV: "1", Mine: true, Revision: "0", Images: []string{"nginx:1.27"}})
		}, false, "2 ReplicaSets have the same image (wc-1, wc-0)"},
		"two, one of which is known to be another": {func(s *deployment.Snapshot) {
			s.ReplicaSets = append(s.ReplicaSets, deployment.ReplicaSet{Name: "wc-0", UID: "0", RV: "1", Mine: true, Revision: "0", Images: []string{"nginx:1.27"}})
			s.Changed = change(image, env)
		}, false, "going back to revision 0 (ReplicaSet wc-0)"},
		"being deleted": {func(s *deployment.Snapshot) { s.ReplicaSets[0].Deleting = true }, false, ""},
	} {
		s := stuckOnImage()
		tc.edit(s)
		p := proposeRollout(s, url.Values{"image": {"nginx:1.27"}})
		plans, err := Simulate(t.Context(), p, nobodyElse, time.Hour, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		said := p.Assumptions(1)
		if got := said[len(said)-1].String(); tc.assume != "" && !strings.Contains(got, tc.assume) || tc.assume == "" && len(said) > 3 {
			t.Errorf("%s: assumes %q, want %q", name, got, tc.assume)
		}
		want := "With image nginx:1.27, old 5 → 3, new 0 → 2 at once"
		if tc.back {
			want = "With image nginx:1.27, old 2 → 0, new 3 → 4 at once"
		}
		if got := plans.Headline("wc", p); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestPlanEndsAtTheDeadline: the head of a plan and its last row tell of one moment.
func TestPlanEndsAtTheDeadline(t *testing.T) {
	p := proposeRollout(stuckOnImage(), url.Values{"replicas": {"5"}})
	plans, err := Simulate(t.Context(), p, nobodyElse, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	head, row := plans.Then(p).String(), plans.Views(p)[0].If.Sentence
	if head != "In the end: "+row || !strings.Contains(row, "no progress for 10m,") {
		t.Errorf("the head says %q, and the row %q", head, row)
	}
}

func change(fields ...decision.Change) *deployment.TemplateChange {
	return &deployment.TemplateChange{From: "1", To: "2", Fields: fields}
}

// stuckOnImage is a Deployment of four pods whose newest image cannot be pulled.
func stuckOnImage() *deployment.Snapshot {
	s := waiting()
	s.Name, s.Images, s.NextName, s.Revision = "wc", []string{"nginx:404"}, "wc-2", "2"
	s.ReplicaSets = []deployment.ReplicaSet{
		{Name: "wc-1", UID: "1", RV: "1", Created: s.Now.Add(-time.Hour), Mine: true, Matches: true, Replicas: 3, StatusReplicas: 3, Ready: 3, Available: 3, NonTerminal: 3, Revision: "1", Images: []string{"nginx:1.27"}},
		{Name: "wc-2", UID: "2", RV: "1", Created: s.Now.Add(-time.Minute), Mine: true, Matches: true, SameTemplate: true, Replicas: 2, StatusReplicas: 2, NonTerminal: 2, Unavailable: 2, Revision: "2", Images: s.Images,
			Blocking: []deployment.Pod{{Name: "wc-2-a", Created: s.Now, Node: "n", Reason: "ImagePullBackOff"}, {Name: "wc-2-b", Created: s.Now, Node: "n", Reason: "ImagePullBackOff"}}},
	}
	return s
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
