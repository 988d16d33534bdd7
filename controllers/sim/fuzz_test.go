package sim_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
)

// FuzzRun folds any snapshot that Decode accepts, edited as the number picks. No
// run may panic, go beyond its bound, write without a declared reason, or come
// to an end that cannot be recorded.
func FuzzRun(f *testing.F) {
	files, err := filepath.Glob("../deployment/testdata/golden/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no goldens of the Deployment loop: %v", err)
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(txtar.Parse(text).Files[0].Data, uint64(i)*0x9e3779b97f4a7c15)
	}
	f.Fuzz(func(t *testing.T, data []byte, draw uint64) {
		s, err := deployment.Decode(data)
		if err != nil {
			return
		}
		c, err := sim.From(s)
		if err != nil {
			return
		}
		c.Rules.Quota = 1 + int(draw>>32%60)
		c.Edit(drawn(draw, s)...)
		r := c.Run(sim.Bound{Syncs: 60, Time: time.Hour})
		if len(r.Steps) > 60 || r.Ended.Sub(r.Began) > time.Hour || !known(r.Sentence.Code) {
			t.Fatalf("%d steps end after %s with %q", len(r.Steps), r.Ended.Sub(r.Began), r.Sentence.Code)
		}
		for i := range r.Steps {
			if list := undeclared(&r.Steps[i]); len(list) > 0 {
				t.Fatal(list)
			}
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatalf("cannot be recorded: %v", err)
		}
	})
}

// drawn is up to three edits.
func drawn(draw uint64, s *deployment.Snapshot) []sim.Edit {
	n, name := int64(draw>>8&0xff), ""
	if len(s.ReplicaSets) > 0 {
		name = s.ReplicaSets[int(n)%len(s.ReplicaSets)].Name
	}
	all := []sim.Edit{sim.Replicas(n - 8), sim.Images("nginx:2"), sim.Pause(n%2 == 0), sim.Undo(name), sim.MinReady(n),
		sim.Surge(deployment.IntOrPercent{Int: n}), sim.Unavailable(deployment.IntOrPercent{Percent: "25%"}), sim.Deadline(n),
		sim.Strategy("Recreate"), sim.Pods(name, sim.Stuck("CrashLoopBackOff")), sim.Pods(name, sim.ReadyAfter(time.Second)),
		sim.NewPods("", sim.Stuck("Unschedulable"))}
	var list []sim.Edit
	for ; draw&0xf != 0 && len(list) < 3; draw >>= 4 {
		list = append(list, all[int(draw&0xf)%len(all)])
	}
	return list
}

func known(code string) bool {
	_, ok := deployment.Codes.Find(code)
	return ok
}
