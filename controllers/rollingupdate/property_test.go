package rollingupdate_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var tryNone decision.Try

// genSnapshot draws a snapshot: a scene with some of its parts drawn anew.
func genSnapshot(t *rapid.T) *rollingupdate.Snapshot {
	s := *rapid.SampledFrom(scenes).Draw(t, "scene").snapshot
	chance := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	if s.Old != nil {
		s.Old = genController(t, "old", s.Old)
	}
	if s.New != nil {
		s.New = genController(t, "new", s.New)
	}
	if chance("other request") {
		s.Request = rapid.SampledFrom([]*rollingupdate.Request{
			nil, requested(), requested(aborted), requested(paused), requested(to("web-6d5")), requested(to("web-6d5"), preserve), requested(to("web-6d5"), aborted), requested(bounds(0, 2)), requested(bounds(3, 3)),
		}).Draw(t, "request")
	}
	if chance("old gone") {
		s.Old = nil
	}
	if chance("new gone") {
		s.New = nil
	}
	s.Apart = rapid.Bool().Draw(t, "apart")
	return &s
}

func genController(t *rapid.T, whose string, of *rollingupdate.Controller) *rollingupdate.Controller {
	c := *of
	if rapid.IntRange(0, 2).Draw(t, whose+" other sizes") == 0 {
		c.Size, c.Replicas = rapid.Int64Range(0, 6).Draw(t, whose+" size"), rapid.Int64Range(0, 6).Draw(t, whose+" replicas")
		n := rapid.IntRange(0, 6).Draw(t, whose+" pods")
		c.Pods = pods(c.Name, n, rapid.IntRange(0, n).Draw(t, whose+" ready"), c.SelectorKey)
		c.Observed = rapid.Int64Range(0, 2).Draw(t, whose+" observed")
	}
	if rapid.IntRange(0, 2).Draw(t, whose+" other times") == 0 {
		c.MinReady, c.Pods = rapid.Int64Range(0, 60).Draw(t, whose+" minReadySeconds"), slices.Clone(c.Pods)
		for i := range c.Pods {
			genTimes(t, &c.Pods[i])
		}
	}
	if rapid.IntRange(0, 4).Draw(t, whose+" other notes") == 0 {
		c.Source = rapid.SampledFrom([]string{"", "web:u-old", "web:u-1", "x:y"}).Draw(t, whose+" source")
		c.Desired = rapid.SampledFrom([]*int64{nil, new(int64(0)), new(int64(3)), new(int64(9))}).Draw(t, whose+" desired")
		c.Original = rapid.SampledFrom([]*int64{nil, new(int64(0)), new(int64(3))}).Draw(t, whose+" original")
		c.Stepped = rapid.SampledFrom([]time.Time{{}, now, now.Add(-time.Hour)}).Draw(t, whose+" stepped")
		c.Deleting = rapid.Bool().Draw(t, whose+" deleting")
	}
	return &c
}

// genTimes makes a pod one that became what it is a short while ago.
func genTimes(t *rapid.T, p *rollingupdate.Pod) {
	ago := func(what string) time.Time {
		return now.Add(-time.Duration(rapid.IntRange(0, 700).Draw(t, p.Name+" "+what)) * time.Second)
	}
	p.Created = ago("created")
	switch {
	case p.Ready:
		p.ReadySince = ago("ready")
	case rapid.Bool().Draw(t, p.Name+" crashed"):
		p.Container, p.Restarts, p.Running, p.Exit = "web", 1, ago("running"), &decision.Exit{Code: 1, At: ago("exit")}
	default:
		p.Phase, p.Reason, p.Since = "Pending", "ContainerCreating", ago("since")
	}
}

// TestAnySnapshot: whatever is observed, the walk is along the drawing, every answer, code and
// number is declared, and the sentence is whole.
func TestAnySnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		p := play(s, tryNone, nil)
		for _, problem := range problems(s, p, tryNone) {
			t.Error(problem)
		}
		for _, h := range decision.Hops(p.sync.Rounds, p.sync.Report) {
			if _, ok := graph.Edge(h); !ok {
				t.Fatalf("no way leads from %s (%s) to %s", h.From, h.Said, h.To)
			}
		}
		if text := p.told.Sentence.At(now); strings.Contains(text, "  ") || strings.Contains(text, " .") || strings.HasSuffix(text, "..") {
			t.Errorf("it says %q", text)
		}
	})
}

// TestStepsKeepTheBounds: no step scales beyond what the pods that are there allow ([RU-8]):
// what would be available after it is at least the floor, or what is available now; and both
// sizes together are at most the ceiling, or what they are now.
func TestStepsKeepTheBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		desired := rapid.Int64Range(1, 100).Draw(t, "desired")
		surge, unavailable := rapid.Int64Range(0, desired).Draw(t, "surge"), rapid.Int64Range(0, desired).Draw(t, "unavailable")
		old, n := rapid.IntRange(0, int(desired)).Draw(t, "old"), rapid.IntRange(0, int(desired)).Draw(t, "new")
		ready := rapid.IntRange(0, n).Draw(t, "ready")
		s := moving(old, n, ready, asks(bounds(int32(surge), int32(unavailable))))
		s.New.Desired, s.Old.Original = &desired, &desired
		if rapid.Bool().Draw(t, "back") {
			s.Request.Abort = true
		}
		if surge == 0 && unavailable == 0 {
			unavailable = 1 // [B-1]
		}
		for _, a := range rollingupdate.Decide(s).Actions {
			if a.Kind != decision.Scale {
				continue
			}
			from, to, able := s.Old, s.New, int64(ready)
			if s.Request.Abort {
				from, to, able = s.New, s.Old, int64(old) // All old pods are available.
			}
			switch {
			case a.Target.Name == to.Name && a.Size.To+from.Size > max(desired+surge, from.Size+to.Size):
				t.Fatalf("%s is scaled to %d beside %d, the ceiling is %d", to.Name, a.Size.To, from.Size, desired+surge)
			case a.Target.Name == to.Name && a.Size.To > desired:
				t.Fatalf("%s is scaled to %d, and is to have %d", to.Name, a.Size.To, desired)
			case a.Target.Name == from.Name && a.Size.To+able < desired-unavailable:
				t.Fatalf("%s is scaled from %d to %d beside %d available, the floor is %d", from.Name, a.Size.From, a.Size.To, able, desired-unavailable)
			}
		}
	})
}

// FuzzDecode: a snapshot from outside is refused, or can be decided on and told.
func FuzzDecode(f *testing.F) {
	for _, sc := range scenes[:12] {
		data, err := json.Marshal(sc.snapshot)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := rollingupdate.Decode(data)
		if err != nil {
			return
		}
		p := play(s, tryNone, nil)
		if again := play(s, tryNone, nil); again.told.Sentence.At(s.Now) != p.told.Sentence.At(s.Now) {
			t.Error("it decides otherwise the second time")
		}
		if _, err := json.Marshal(p.sync.Rounds); err != nil {
			t.Errorf("the verdict cannot be recorded: %v", err)
		}
	})
}

// TestDecodeRefuses says what to change.
func TestDecodeRefuses(t *testing.T) {
	for change, want := range map[string]string{
		`{"v":2}`: "version 2, and this program reads version 1", `{}`: "no version", `{"v":1}`: `no "now"`, `[`: "unexpected end",
		`{"v":1,"now":"2026-03-01T12:00:00Z"}`:                                                                                                                                                   "no name",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","extra":1}`:                                                                                                                            `unknown field "extra"`,
		`{"v":1,"now":"9001-03-01T12:00:00Z","name":"web"}`:                                                                                                                                      "year 9001",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","new":{"name":"b","uid":"u","rv":"1","size":0,"replicas":0}}`:                                                                          `newName is ""`,
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","old":{"name":"b","uid":"u","rv":"1","size":0,"replicas":0}}`:                                                                          `the update is of "web"`,
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","old":{"name":"web","uid":"u","rv":"1","size":-1,"replicas":0}}`:                                                                       "use 0 to",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","old":{"name":"web","uid":"u","rv":"1","size":1,"replicas":0,"minReadySeconds":-1}}`:                                                   "minReadySeconds -1",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","old":{"name":"web","uid":"u","rv":"1","size":1,"replicas":0,"desired":-1}}`:                                                           "desired -1",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","old":{"name":"web","uid":"u","rv":"1","size":1,"replicas":0,"stepped":"9001-01-01T00:00:00Z"}}`:                                       "year 9001",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","old":{"name":"web","uid":"u","rv":"1","size":1,"replicas":0,"refusedSince":"9001-01-01T00:00:00Z"}}`:                                  "year 9001",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","old":{"name":"web","uid":"u","rv":"1","size":1,"replicas":0,"parked":{"size":1,"from":"x"}}}`:                                         "parked",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","old":{"name":"web","uid":"u","rv":"1","size":1,"replicas":0,"pods":[{"uid":"p","rv":"1","name":"p","like":-1}]}}`:                     "-1 pods like it",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","request":{"version":1,"to":"x"}}`:                                                                                                     "lacks its defaults",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","request":{"version":1,"to":"X","deploymentKey":"a","surge":1,"unavailable":0,"updatePeriod":"1s","timeout":"1s","cleanup":"delete"}}`: `to "X"`,
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","result":{"ended":"complete","from":"a","to":"b","at":"9001-01-01T00:00:00Z"}}`:                                                        "year 9001",
		`{"v":1,"now":"2026-03-01T12:00:00Z","name":"web","echo":[{"object":"x","written":"1","cached":"0","since":"9001-01-01T00:00:00Z","check":"2026-03-01T12:00:00Z"}]}`:                     "year 9001",
	} {
		if s, err := rollingupdate.Decode([]byte(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", change, s, err, want)
		}
	}
	if _, err := rollingupdate.Decode(make([]byte, rollingupdate.MaxSnapshotBytes+1)); err == nil || !strings.Contains(err.Error(), "record fewer pods") {
		t.Errorf("too many bytes: %v", err)
	}
}
