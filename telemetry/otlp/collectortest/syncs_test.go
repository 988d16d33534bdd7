package collectortest

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var loops = decision.Loops{deployment.Loop, replicaset.Loop}

var start = time.Date(2026, 11, 21, 3, 2, 24, 0, time.UTC)

// golden is a sync of the loops' own goldens: what was seen, and how the API
// server answered.
type golden struct {
	Snapshot json.RawMessage
	Rounds   []struct {
		Outcomes []decision.Outcome `json:"outcomes"`
		Learnt   decision.Learnt    `json:"learnt"`
	}
	Publish *decision.Outcome
	Try     decision.Try
}

// goldens decides every golden of both loops again and makes traces of them.
func goldens(t *testing.T) []*telemetry.Trace {
	t.Helper()
	var traces []*telemetry.Trace
	for loop, decide := range map[string]func(*testing.T, golden) *telemetry.Trace{
		"deployment": playDeployment, "replicaset": playReplicaSet,
	} {
		files, err := filepath.Glob("../../../controllers/" + loop + "/testdata/golden/*.txtar")
		if err != nil || len(files) < 40 {
			t.Fatalf("found %d goldens of the %s loop, %v", len(files), loop, err)
		}
		for _, file := range files {
			tr := decide(t, readGolden(t, file))
			tr.Object = telemetry.Object{Loop: loop, Namespace: "shop", Name: filepath.Base(file)}
			traces = append(traces, timed(tr))
		}
	}
	return traces
}

func readGolden(t *testing.T, file string) (g golden) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	into := map[string]any{"rounds.json": &g.Rounds, "publish.json": &g.Publish, "try.json": &g.Try}
	for _, f := range archive.Files {
		if f.Name == "snapshot.json" {
			g.Snapshot = f.Data
		}
		if to, ok := into[f.Name]; ok {
			if err := json.Unmarshal(f.Data, to); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
	return g
}

// play runs a sync as its golden tells: outcomes by round, and what each found out.
func (g golden) play(core decision.Core, now time.Time) *telemetry.Trace {
	s, round := decision.Sync{Core: core}, 0
	s.Run(func(decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		round++
		if round > len(g.Rounds) {
			return nil, decision.Learnt{}
		}
		return g.Rounds[round-1].Outcomes, g.Rounds[round-1].Learnt
	})
	if s.Report != nil {
		s.Report.Outcome = g.Publish
	}
	return &telemetry.Trace{Try: g.Try, Result: telemetry.ResultUnchanged, Rounds: s.Rounds, Report: s.Report, Sentence: s.Tell(g.Try, now).Sentence}
}

func playDeployment(t *testing.T, g golden) *telemetry.Trace {
	t.Helper()
	s, err := deployment.Decode(g.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return g.play(deployment.NewSync(s), s.Now)
}

func playReplicaSet(t *testing.T, g golden) *telemetry.Trace {
	t.Helper()
	s, err := replicaset.Decode(g.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return g.play(replicaset.NewSync(s), s.Now)
}

// timed gives a sync times such as a loop measures, and the result of its outcomes.
func timed(tr *telemetry.Trace) *telemetry.Trace {
	tr.Queued, tr.Started, tr.Ended = start, start.Add(2*time.Millisecond), start.Add(42*time.Millisecond)
	tr.Phases = telemetry.Phases{Observe: time.Millisecond, Decide: time.Millisecond, Act: 20 * time.Millisecond, Settle: time.Millisecond, Publish: 5 * time.Millisecond}
	for _, w := range tr.Writes(loops) {
		if w.Failure != nil && w.State != decision.Tolerated {
			tr.Result, tr.Failure = telemetry.ResultFailed, w.Failure
			return tr
		}
		if w.Taken() {
			tr.Result = telemetry.ResultWrote
		}
	}
	return tr
}
