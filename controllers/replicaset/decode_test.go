package replicaset_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// text is a snapshot as JSON with some of its fields replaced.
func text(t testing.TB, fields map[string]any) []byte {
	t.Helper()
	all := map[string]any{"v": 1, "now": now, "kind": "ReplicaSet", "found": true, "name": "web", "want": 2, "burst": 500}
	for name, value := range fields {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDecode(t *testing.T) {
	s, err := replicaset.Decode(text(t, nil))
	if err != nil || s.Name != "web" || s.Want != 2 || !s.Now.Equal(now) {
		t.Fatalf("Decode = %+v, %v", s, err)
	}
}

// TestDecodeTakesTheLargest: what is just not too much is read.
func TestDecodeTakesTheLargest(t *testing.T) {
	const most = math.MaxInt32
	s, err := replicaset.Decode(text(t, map[string]any{
		"want": most, "minReadySeconds": most, "burst": most, "expect": map[string]any{"creates": most, "deletes": most}, "held": "9000-12-31T23:59:59Z",
	}))
	if err != nil || s.Want != most || s.MinReady != most || s.Burst != most || s.Expect.Creates != most || s.Expect.Deletes != most {
		t.Errorf("Decode = %+v, %v", s, err)
	}
	if s, err := replicaset.Decode(text(t, map[string]any{"found": false, "name": "", "want": 0, "burst": 1})); err != nil || s.Found {
		t.Errorf("of nothing Decode = %+v, %v", s, err)
	}
	if _, err := replicaset.Decode([]byte(strings.Repeat(" ", replicaset.MaxSnapshotBytes))); err == nil || strings.Contains(err.Error(), "are read") {
		t.Errorf("as many bytes as are read give %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	pods := func(list ...string) map[string]any {
		return map[string]any{"pods": json.RawMessage("[" + strings.Join(list, ",") + "]")}
	}
	const far = "9001-01-01T00:00:00Z"
	with := func(name string, value any) []byte { return text(t, map[string]any{name: value}) }
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "unexpected end of JSON input"},
		{"no JSON", []byte("web"), "invalid character"},
		{"too many bytes", make([]byte, replicaset.MaxSnapshotBytes+1), "more than the 8388608 that are read"},
		{"no version", with("v", nil), `no version: a snapshot begins with "v": 1`},
		{"older version", with("v", 0), "version 0, and this program reads version 1"},
		{"newer version with new fields", text(t, map[string]any{"v": 2, "mood": "calm"}), "version 2, and this program reads version 1: use the release that wrote it"},
		{"unknown field", with("mood", "calm"), `unknown field "mood"`},
		{"two snapshots", append(text(t, nil), '1'), "after top-level value"},
		{"wrong type", with("want", "two"), "cannot unmarshal string"},
		{"other kind", with("kind", "DaemonSet"), `kind "DaemonSet": use ReplicaSet or ReplicationController`},
		{"no instant", with("now", nil), `no "now": give the instant of the decision`},
		{"no name", with("name", ""), "found, but without a name"},
		{"fewer lost pods than none", with("lost", map[string]any{"count": -1}), "-1 lost pods: use 0 to 2147483647"},
		{"too many lost pods", with("lost", map[string]any{"count": 1 << 31}), "2147483648 lost pods: use 0 to"},
		{"negative want", with("want", -1), "want -1: use 0 to 2147483647"},
		{"too great a want", with("want", 1<<31), "want 2147483648: use 0 to"},
		{"negative minReadySeconds", with("minReadySeconds", -1), "minReadySeconds -1"},
		{"too great minReadySeconds", with("minReadySeconds", 1<<31), "minReadySeconds 2147483648: use 0 to"},
		{"too great a burst", with("burst", 1<<31), "burst 2147483648: use 1 or more"},
		{"too many deletions expected", with("expect", map[string]any{"deletes": 1 << 31}), "0 creations and 2147483648 deletions expected"},
		{"far future of the first expectation", with("expect", map[string]any{"since": far}), "expect.since is in the year 9001"},
		{"far future of their end", with("expect", map[string]any{"expires": far}), "expect.expires is in the year 9001"},
		{"far future of a status held", with("held", far), "held is in the year 9001"},
		{"far future of news", with("news", map[string]any{"at": far}), "news at is in the year 9001"},
		{"far future of an echo", with("echo", []any{map[string]any{"since": now, "check": far}}), "echo 0 check is in the year 9001"},
		{"far future of an older echo", with("echo", []any{map[string]any{"since": far, "check": now}}), "echo 0 since is in the year 9001"},
		{"far future of a creation", text(t, pods(`{"name":"a","uid":"1","created":"9001-01-01T00:00:00Z"}`)), "pod a created is in the year 9001"},
		{"far future of a wait", text(t, pods(`{"name":"a","uid":"1","since":"9001-01-01T00:00:00Z"}`)), "pod a since is in the year 9001"},
		{"no burst", with("burst", nil), "burst 0: use 1 or more, upstream uses 500"},
		{"too much expected", with("expect", map[string]any{"creates": 1 << 31}), "2147483648 creations and 0 deletions expected"},
		{"far future", with("now", "9500-01-01T00:00:00Z"), "now is in the year 9500"},
		{"far future of a pod", text(t, pods(`{"name":"a","uid":"1","readySince":"9999-12-31T23:59:59Z"}`)), "pod a readySince is in the year 9999"},
		{"far future of a disruption", text(t, pods(`{"name":"a","uid":"1","disruption":{"at":"9999-12-31T23:59:59Z"}}`)), "pod a disrupted is in the year 9999"},
		{"pod without a name", text(t, pods(`{"uid":"1"}`)), "pod 0 has no name or no uid"},
		{"pod without a uid", text(t, pods(`{"name":"a","uid":"1"}`, `{"name":"b"}`)), "pod 1 has no name or no uid"},
		{"pod twice", text(t, pods(`{"name":"a","uid":"1"}`, `{"name":"a","uid":"2"}`)), "pod a (uid 2) appears twice"},
		{"uid twice", text(t, pods(`{"name":"a","uid":"1"}`, `{"name":"b","uid":"1"}`)), "pod b (uid 1) appears twice"},
		{"too many pods", text(t, pods(strings.TrimSuffix(strings.Repeat("{},", 10_001), ","))), "10001 pods are more than the 10000 that are read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := replicaset.Decode(tt.data)
			if err == nil || !strings.HasPrefix(err.Error(), "decode snapshot: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Decode = %v, %v, want an error with %q", s, err, tt.want)
			}
		})
	}
}

// TestCatalogue keeps the catalogue fit to be read by people and by pages.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range replicaset.Catalogue.Questions {
		if seen[q.ID] {
			t.Errorf("%s is declared twice", q.ID)
		}
		seen[q.ID] = true
		if !strings.HasPrefix(q.ID, q.Tag) || !strings.HasSuffix(q.Text, "?") || !strings.HasSuffix(q.Doc, ".") || q.Upstream == "" {
			t.Errorf("%s is incomplete: %+v", q.ID, q)
		}
		for _, a := range q.Answers {
			if a.Is == "" || a.Then == "" || a.Passes && len(a.Writes) > 0 {
				t.Errorf("%s: answer is incomplete: %+v", q.ID, a)
			}
		}
	}
	for _, r := range replicaset.Codes.List {
		if !strings.HasSuffix(r.Means, ".") || strings.ToLower(r.Code) != r.Code {
			t.Errorf("code %q has the doc %q", r.Code, r.Means)
		}
	}
}

// FuzzSync feeds any text to Decode and, where it is a snapshot, runs a sync of
// two rounds on it with outcomes drawn from the number.
func FuzzSync(f *testing.F) {
	seeds := 0
	for _, file := range []string{"adopt-create", "delete-ranked", "echo", "image-pull", "min-ready", "expect-creates", "namespace-terminating", "evicted-again"} {
		archive, err := txtar.ParseFile("testdata/golden/" + file + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data, uint64(seeds))
		seeds++
	}
	f.Fuzz(func(t *testing.T, data []byte, draw uint64) {
		s, err := replicaset.Decode(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "decode snapshot: ") {
				t.Fatalf("the error does not say what failed: %v", err)
			}
			return
		}
		found := decision.Learnt{NamespaceTerminating: draw&1 > 0}
		if draw&2 > 0 {
			found.Parent = "gone"
		}
		p := run(s, decision.Try{Number: 1, Next: s.Now}, nil, func(v decision.Verdict) (list []decision.Outcome, learnt decision.Learnt) {
			list, draw = drawn(v, draw), draw>>7
			learnt, found = found, decision.Learnt{}
			return list, learnt
		})
		checkSentence(t, p.sentence)
		for _, problem := range p.contradictions() {
			t.Error(problem)
		}
		for _, v := range []any{p.rounds, p.report, p.sentence, p.numbers} {
			if _, err := json.Marshal(v); err != nil {
				t.Fatalf("cannot be recorded: %v", err)
			}
		}
		for _, r := range p.rounds {
			if problems := undeclared(r.Verdict); len(problems) > 0 {
				t.Fatal(problems)
			}
		}
	})
}

// drawn answers each action with a state that the number picks.
func drawn(v decision.Verdict, draw uint64) []decision.Outcome {
	states := []decision.State{
		decision.Written, decision.Partly, decision.Refused, decision.Conflicted,
		decision.Superseded, decision.Unknown, decision.Tolerated, decision.NotTried,
	}
	out := make([]decision.Outcome, len(v.Actions))
	for i, a := range v.Actions {
		pick := draw >> (i % 20 * 3)
		out[i] = decision.Outcome{State: states[pick&7], Done: min(a.Count, int64(pick>>3&7))}
		if pick&16 > 0 {
			out[i].Failure = &decision.Failure{Message: fmt.Sprint("exceeded quota: ", draw), Terminal: pick&32 > 0}
		}
	}
	return out
}

// checkSentence proves that a sentence can be set and read.
func checkSentence(t *testing.T, s decision.Sentence) {
	t.Helper()
	if !known(s.Code) || s.Verb == "" || s.State == "" || len(s.Lead) == 0 {
		t.Fatalf("the sentence is incomplete: %+v", s)
	}
	for _, words := range []decision.Words{s.Lead, s.Then} {
		for _, part := range words {
			if part.Kind == decision.Plain && strings.ContainsAny(part.Text, "0123456789") {
				t.Fatalf("plain words hold a digit: %q", part.Text)
			}
		}
	}
}
