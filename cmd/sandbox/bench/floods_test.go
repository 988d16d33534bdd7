package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const (
	// floodedPods are those of the Deployment that rolls, floodPods of the one that
	// stories are told of and plans are made for.
	floodedPods, floodPods = 6, 500
	// floodHead is how long a flood runs before the rollout begins.
	floodHead = 2 * time.Second
	// floodBar is how many times as long a rollout beside a flood may take.
	floodBar = 1.3
	// queueTime and workTime are the loops' own histograms.
	queueTime, workTime = "workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"
)

// trial is one rollout, beside a flood or alone.
type trial struct {
	wall   time.Duration
	server time.Duration // CPU of the loops' process meanwhile
	client time.Duration // CPU of the flood
	queued time.Duration // mean time of a key in the queue before a worker took it
	worked time.Duration // mean time of a sync
	said   string        // what the flood was answered
}

// TestFloods rolls one Deployment of six pods again and again, alone and beside each
// flood in turn, so that whatever else the machine does meets all of them alike.
func TestFloods(t *testing.T) {
	if os.Getenv(variables+"FLOODS") == "" {
		t.Skip("a measurement by hand, which proves nothing in one round: make bench-floods")
	}
	s := settingsOf(t)
	s.deployments, s.replicas = 1, floodedPods
	rounds := number(t, "FLOODS", 1)
	plane := testplane.Start(t, testplane.Options{Loops: "none", Fast: true, Nodes: 10})
	l := startLoops(t, plane, ours, s)
	big := s
	big.replicas = int32(number(t, "FLOOD_PODS", floodPods))
	f := &flooded{loops: l, console: l.dashboard(t), image: 1, web: newWorkload(t, plane, s, "flooded"), big: newWorkload(t, plane, big, "flood")}
	for _, w := range []*workload{f.web, f.big} {
		w.begin(t, phases[0])
		w.finish(t, phases[0])
	}
	f.big.roll(t, 2)
	trials := map[string][]trial{}
	for i := range rounds + 1 {
		for j := range floodKinds {
			kind := floodKinds[(i+j)%len(floodKinds)]
			x := f.trial(t, kind)
			t.Logf("%2d %-14s rollout %5.2f s, server CPU %5.2f s, queued %6.1f ms, sync %5.1f ms  %s", i, kind, x.wall.Seconds(), x.server.Seconds(), ms(x.queued), ms(x.worked), x.said)
			if i > 0 { // The first round finds caches that are still cold.
				trials[kind] = append(trials[kind], x)
			}
		}
	}
	t.Logf("medians of %d rollouts of %d pods, load %s\n%s", rounds, floodedPods, loadAverage(), floodTable(trials))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// flooded is what the trials have in common.
type flooded struct {
	loops    *loops
	console  string
	web, big *workload
	image    int
}

// roll gives the Deployment another image and waits until all of its pods have it.
func (w *workload) roll(t *testing.T, image int) {
	t.Helper()
	p := phase{"image update", func(w *workload, ctx context.Context, name string) (*appsv1.Deployment, error) {
		return w.patch(ctx, name, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"shop:v%d"}]}}}}`, image))
	}, func(s settings) int32 { return s.replicas }, true}
	w.begin(t, p)
	w.finish(t, p)
}

func (f *flooded) trial(t *testing.T, kind string) trial {
	t.Helper()
	f.calm(t)
	queued, worked := f.histogram(t, queueTime), f.histogram(t, workTime)
	var flood *floodProcess
	if kind != alone {
		flood = startFlood(t, kind, f.console, f.web.namespace, f.big.namespace)
		time.Sleep(floodHead) // A measurement: the flood is to be at its height.
	}
	f.image++
	cpu, began := f.loops.used(t).CPU, time.Now()
	f.web.roll(t, f.image)
	x := trial{wall: time.Since(began), server: f.loops.used(t).CPU - cpu}
	if flood != nil {
		x.said, x.client = flood.stop(t)
	}
	f.calm(t)
	x.queued, x.worked = f.histogram(t, queueTime).since(queued), f.histogram(t, workTime).since(worked)
	return x
}

// calm waits until the loops' process does next to nothing.
func (f *flooded) calm(t *testing.T) {
	t.Helper()
	const look = 500 * time.Millisecond
	testplane.Until(t, 2*time.Minute, "loops at rest", func() error {
		before := f.loops.used(t).CPU
		time.Sleep(look)
		if used := f.loops.used(t).CPU - before; used > look/10 {
			return fmt.Errorf("%s of CPU in %s", used, look)
		}
		return nil
	})
}

// total is the sum and the count of a histogram, over all loops.
type total struct{ sum, count float64 }

// since is the mean of what was counted after that.
func (x total) since(before total) time.Duration {
	if x.count == before.count {
		return 0
	}
	return time.Duration((x.sum - before.sum) / (x.count - before.count) * float64(time.Second))
}

func (f *flooded) histogram(t *testing.T, name string) (x total) {
	t.Helper()
	res, err := http.Get(f.console + "/metrics")
	if err != nil {
		t.Fatalf("read the metrics: %v", err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), "} ")
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case strings.HasPrefix(series, name+"_sum{"):
			x.sum += n
		case strings.HasPrefix(series, name+"_count{"):
			x.count += n
		}
	}
	if err := lines.Err(); err != nil || res.StatusCode != http.StatusOK || x.count == 0 {
		t.Fatalf("%s: %s, %v, counted %v", name, res.Status, err, x.count)
	}
	return x
}

func floodTable(trials map[string][]trial) string {
	mid := func(kind string, of func(trial) time.Duration) float64 {
		var list []float64
		for _, x := range trials[kind] {
			list = append(list, of(x).Seconds())
		}
		return median(list)
	}
	wall := func(x trial) time.Duration { return x.wall }
	return layout(func(line func(...any)) {
		line("beside", "rollout, s", "(min .. max)", "ratio", "server CPU, s", "flood CPU, s", "queued, ms", "sync, ms", "bar")
		for _, kind := range floodKinds {
			list := trials[kind]
			slices.SortFunc(list, func(a, b trial) int { return int(a.wall - b.wall) })
			ratio, bar := mid(kind, wall)/mid(alone, wall), ""
			if kind != alone {
				bar = verdict(ratio, floodBar)
			}
			line(kind, fmt.Sprintf("%.2f", mid(kind, wall)), fmt.Sprintf("(%.2f .. %.2f)", list[0].wall.Seconds(), list[len(list)-1].wall.Seconds()), fmt.Sprintf("%.2f", ratio),
				fmt.Sprintf("%.2f", mid(kind, func(x trial) time.Duration { return x.server })), fmt.Sprintf("%.2f", mid(kind, func(x trial) time.Duration { return x.client })),
				fmt.Sprintf("%.1f", 1e3*mid(kind, func(x trial) time.Duration { return x.queued })), fmt.Sprintf("%.1f", 1e3*mid(kind, func(x trial) time.Duration { return x.worked })), bar)
		}
	})
}

func loadAverage() string {
	file, err := os.Open("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	text, _ := io.ReadAll(file) // for a person
	return strings.TrimSpace(string(text))
}
