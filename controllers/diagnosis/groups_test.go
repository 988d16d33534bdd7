package diagnosis_test

import (
	"fmt"
	"testing"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestSample: what is said of a sample has the numbers of all pods, and one who is alone with what it waits for
// is in it.
func TestSample(t *testing.T) {
	look := diagnosis.Pods{Now: noon}
	var pods []decision.Pod
	for i := range 120 {
		p := decision.Pod{Name: fmt.Sprintf("web-%03d", i), Created: noon, Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Exit: &decision.Exit{Code: 1, Restarts: int64(i)}}}
		if i%3 == 0 {
			p = decision.Pod{Name: p.Name, Created: noon, Reason: "ImagePullBackOff", Image: "web:9"}
		}
		pods = append(pods, p)
	}
	pods[90].Message = "not found" // It says for all of them why.
	pods[119] = decision.Pod{Name: "web-119", Created: noon, Reason: "SchedulingGated"}
	for n, described := range map[int]int{3: 3, 10: 10, 50: 50, 120: 120, 200: 120} {
		sample := look.Sample(pods, n)
		if len(sample) != described || n > 3 && sample[0].Name != "web-000" || sample[described-1].Name != "web-119" {
			t.Errorf("%d of %d are described, from %s to %s", len(sample), n, sample[0].Name, sample[len(sample)-1].Name)
		}
		var said string
		for _, f := range look.Waiting(sample) {
			said += fmt.Sprintf("%s %d, ", f.Code, f.Count)
			if f.Code == diagnosis.Image && f.After.At(noon) != " cannot pull web:9 (not found)" {
				t.Errorf("a sample of %d says%s", n, f.After.At(noon))
			}
		}
		if want := "scheduling-gated 1, image-pull 40, crash-loop 79, "; said != want {
			t.Errorf("a sample of %d says %s want %s", n, said, want)
		}
	}
	if got := look.Sample(pods, 1); len(got) != 1 || got[0].Like != 39 {
		t.Errorf("a sample of one is %+v", got)
	}
}
