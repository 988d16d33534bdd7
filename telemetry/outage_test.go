package telemetry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// unanswers lets a sync try to create pods of which none got an answer.
func unanswers(t *telemetry.Trace, pods int64) *telemetry.Trace {
	t.Failure = &decision.Failure{Reason: decision.Unreachable, Message: `Post "https://cluster": dial tcp 127.0.0.1:6443: connect: connection refused`}
	t.Rounds[0].Verdict.Actions = []decision.Action{{Kind: decision.CreatePods, Count: pods, Question: "RS-5", Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: t.Name}}}
	t.Rounds[0].Outcomes = []decision.Outcome{{State: decision.Unanswered, Failed: 1, Untried: pods - 1, Failure: t.Failure}}
	t.Result = telemetry.ResultFailed
	return t
}

func answersAgain(at time.Time) telemetry.Cause {
	return telemetry.Cause{Kind: telemetry.CauseBackoff, At: at, Code: telemetry.CodeAnswersAgain}
}

// interrupted is a rollout in the middle of which the API server is away from
// 12:00:03.2 to 12:00:13.9: the Deployment scales, its ReplicaSet creates no pod three
// times, then all of them.
func interrupted() (s *saga, down telemetry.Outage) {
	s = &saga{at: sagaBegan}
	s.sync(web, decision.ToneOK, "settled")
	image := event(telemetry.CauseModified, "Deployment web", "10", decision.Change{Field: "spec.template.containers[app].image", From: "a", To: "b"})
	image.Manager = "kubectl-set"
	writes(s.sync(web, decision.ToneMoving, "new", image), decision.UpdateReplicaSet, "web-1", "11", decision.Change{Field: "spec.replicas", From: "0", To: "2"})
	s.at = s.at.Add(500 * time.Millisecond)
	unanswers(s.sync(webSet, decision.ToneWaiting, "unanswered", event(telemetry.CauseModified, "ReplicaSet web-1", "11")), 2)
	for range 2 {
		s.sync(webSet, decision.ToneMoving, "creating") // Holds its status back.
		unanswers(s.sync(webSet, decision.ToneWaiting, "unanswered", telemetry.Cause{Kind: telemetry.CauseBackoff, Code: "failed"}), 2)
	}
	s.at = sagaBegan.Add(13 * time.Second)
	creates(s.sync(webSet, decision.ToneMoving, "creating", answersAgain(sagaBegan.Add(13900*time.Millisecond))), "web-1-x", "web-1-y")
	publishes(s.sync(webSet, decision.ToneOK, "settled", event(telemetry.CauseAdded, "Pod web-1-x", "rv-web-1-x")), "14")
	publishes(s.sync(web, decision.ToneOK, "settled", event(telemetry.CauseModified, "ReplicaSet web-1", "14")), "15")
	down = telemetry.Outage{Began: sagaBegan.Add(3200 * time.Millisecond), Ended: sagaBegan.Add(13900 * time.Millisecond), Error: `Get "https://cluster/readyz": dial tcp: connect: connection refused`}
	return s, down
}

// outageIn is the story's only outage, and how the story tells it.
func outageIn(t *testing.T, story *telemetry.Story) (*telemetry.Beat, string) {
	t.Helper()
	var found *telemetry.Beat
	for i := range story.Beats {
		if story.Beats[i].Kind != telemetry.BeatOutage {
			continue
		}
		if found != nil {
			t.Fatalf("two outages:\n%s", told(story))
		}
		found = &story.Beats[i]
	}
	if found == nil {
		t.Fatalf("no outage:\n%s", told(story))
	}
	return found, found.Tell().At(found.At)
}

// TestStoryOfAnOutage has it as a beat: since when, for how long, what was due and
// that this was tried at once. It is the same where the syncs alone tell of it.
func TestStoryOfAnOutage(t *testing.T) {
	s, down := interrupted()
	const due = " (connection refused). Pending meanwhile: creating 2 pods of ReplicaSet web-1; retried at once when it was back"
	for _, c := range []struct {
		name  string
		known []telemetry.Outage
		at    time.Time
		want  string
	}{
		{"known", []telemetry.Outage{down}, down.Began, "The API server did not answer for 10s, until 12:00:13" + due},
		{"known, of etcd", []telemetry.Outage{{Began: down.Began, Ended: down.Ended, Lack: telemetry.LackEtcd, Error: "connection refused"}}, down.Began, "The API server was without its etcd for 10s, until 12:00:13" + due},
		{"from the syncs", nil, sagaBegan.Add(3500 * time.Millisecond), "No request of these syncs was answered for 10s, until 12:00:13" + due},
		{"beside one that was over before", []telemetry.Outage{{Began: sagaBegan.Add(-time.Hour), Ended: sagaBegan.Add(-time.Minute)}}, sagaBegan.Add(3500 * time.Millisecond), "No request of these syncs was answered for 10s, until 12:00:13" + due},
	} {
		t.Run(c.name, func(t *testing.T) {
			story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).WithOutages(c.known).Story(s.traces[1])
			if !ok {
				t.Fatal("there is no story")
			}
			b, text := outageIn(t, story)
			if !b.At.Equal(c.at) || text != c.want {
				t.Errorf("%s %s\nwant %s %s", b.At.Format("05.000"), text, c.at.Format("05.000"), c.want)
			}
			if n := story.Counts; n.Outages != 1 || n.Unanswered != 3 || n.Refused != 0 || n.Conflicts != 0 {
				t.Errorf("counts: %+v", n)
			}
		})
	}
}

// TestStoryOfAnOutageAsJSON is what a terminal tells, which reads the story of a page.
func TestStoryOfAnOutageAsJSON(t *testing.T) {
	s, down := interrupted()
	story, _ := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).WithOutages([]telemetry.Outage{down}).Story(s.traces[1])
	raw, err := json.Marshal(story)
	if err != nil {
		t.Fatal(err)
	}
	var read telemetry.Story
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	if want, got := told(story), told(&read); got != want {
		t.Errorf("read back it tells\n%s\nwant\n%s", got, want)
	}
}

// TestTriesInAnOutageAreQuiet keeps the first try of an object, and the one that went through.
func TestTriesInAnOutageAreQuiet(t *testing.T) {
	s, down := interrupted()
	story, _ := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).WithOutages([]telemetry.Outage{down}).Story(s.traces[1])
	var quiet []string
	for _, b := range story.Beats {
		if b.Quiet {
			quiet = append(quiet, b.At.Format("05.0"))
		}
	}
	if got := strings.Join(quiet, " "); got != "04.5 05.5 06.5 07.5" {
		t.Errorf("left out are the syncs at %q, want those from 04.5 to 07.5:\n%s", got, told(story))
	}
}

// TestStoryWhileNobodyAnswers ends with what is due, and when it is tried.
func TestStoryWhileNobodyAnswers(t *testing.T) {
	s, down := interrupted()
	down.Ended = time.Time{}
	story, _ := telemetry.NewExcerpt(telemetry.TestLoops, s.traces[:7]).WithOutages([]telemetry.Outage{down}).Story(s.traces[1])
	_, text := outageIn(t, story)
	if want := "The API server has not answered since (connection refused). Pending: creating 2 pods of ReplicaSet web-1; will be retried when it is back"; text != want {
		t.Errorf("it tells %q\nwant %q", text, want)
	}
	after := s.sync(web, decision.ToneMoving, "scaling")
	story, _ = telemetry.NewExcerpt(telemetry.TestLoops, append(s.traces[:6:6], after)).WithOutages([]telemetry.Outage{down}).Story(s.traces[1])
	if b, _ := outageIn(t, story); !b.Outage.Tried.IsZero() || b.Outage.Idle {
		t.Errorf("tried at %s, idle %t; nothing is tried again in an outage that lasts", b.Outage.Tried, b.Outage.Idle)
	}
}

// TestOutageSaysWhatWasPending: each write by what it would have done, a sync that did
// not come to one, and so many of them and no more.
func TestOutageSaysWhatWasPending(t *testing.T) {
	size := []decision.Change{{Field: "spec.replicas", From: "1", To: "2"}}
	deciding := telemetry.Due{Object: "Deployment web"}
	write := func(kind decision.ActionKind, object string, count int64, changes ...decision.Change) telemetry.Due {
		return telemetry.Due{Object: "ReplicaSet web-1", Write: &telemetry.Write{Kind: kind, Object: object, Count: count, Changes: changes}}
	}
	for want, due := range map[string][]telemetry.Due{
		"": nil,
		". Pending meanwhile: deciding on Deployment web":                    {deciding},
		". Pending meanwhile: the status of ReplicaSet web-1":                {write(telemetry.WriteStatus, "ReplicaSet web-1", 0, size...)},
		". Pending meanwhile: creating 1 pod of ReplicaSet web-1":            {write(decision.CreatePods, "Pod", 1)},
		". Pending meanwhile: deleting 2 pods of ReplicaSet web-1":           {write(decision.DeletePods, "Pod", 2)},
		". Pending meanwhile: deleting Pod web-1-x":                          {write(decision.DeletePods, "Pod web-1-x", 0)},
		". Pending meanwhile: creating ReplicaSet web-2":                     {write(decision.CreateReplicaSet, "ReplicaSet web-2", 0)},
		". Pending meanwhile: writing ReplicaSet web-2: spec.replicas 1 → 2": {write(decision.UpdateReplicaSet, "ReplicaSet web-2", 0, size...)},
		". Pending meanwhile: deleting ReplicaSet web-2":                     {write(decision.DeleteReplicaSet, "ReplicaSet web-2", 0)},
		". Pending meanwhile: writing Deployment web":                        {write(decision.UpdateDeployment, "Deployment web", 0)},
		". Pending meanwhile: adopting Pod x, releasing Pod y":               {write(decision.Adopt, "Pod x", 0), write(decision.Release, "Pod y", 0)},
		". Pending meanwhile: deciding on Deployment web, adopting Pod a, adopting Pod b, adopting Pod c": {
			deciding, write(decision.Adopt, "Pod a", 0), write(decision.Adopt, "Pod b", 0), write(decision.Adopt, "Pod c", 0)},
		". Pending meanwhile: deciding on Deployment web, adopting Pod a, adopting Pod b, adopting Pod c and 2 more": {
			deciding, write(decision.Adopt, "Pod a", 0), write(decision.Adopt, "Pod b", 0), write(decision.Adopt, "Pod c", 0), deciding, deciding},
	} {
		o := &telemetry.StoryOutage{Outage: telemetry.Outage{Began: sagaBegan, Ended: sagaBegan.Add(4 * time.Second)}, Due: due}
		b := telemetry.Beat{Kind: telemetry.BeatOutage, Outage: o}
		if got, want := b.Tell().At(sagaBegan), "The API server did not answer for 4s, until 12:00:04"+want; got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

// TestOutageSaysWhenItWasTried: what is tried within the time between two probes is tried at once.
func TestOutageSaysWhenItWasTried(t *testing.T) {
	for late, want := range map[time.Duration]string{
		0: "; retried at once when it was back", 2*time.Second - 1: "; retried at once when it was back",
		2 * time.Second: "; retried 2s after it was back", time.Minute: "; retried 1m after it was back",
	} {
		o := &telemetry.StoryOutage{Outage: telemetry.Outage{Began: sagaBegan, Ended: sagaBegan.Add(4 * time.Second)}, Due: []telemetry.Due{{Object: "Deployment web"}}}
		o.Tried = o.Ended.Add(late)
		b := telemetry.Beat{Kind: telemetry.BeatOutage, Outage: o}
		if got := b.Tell().At(sagaBegan); !strings.HasSuffix(got, "deciding on Deployment web"+want) {
			t.Errorf("%s later: %q, want %q", late, got, want)
		}
	}
}

// TestStorySpansAnOutage tells of one in which nothing was due, and of none before it began or after it was settled.
func TestStorySpansAnOutage(t *testing.T) {
	s := rollout()
	at := func(from, to time.Duration) telemetry.Outage {
		return telemetry.Outage{Began: sagaBegan.Add(from), Ended: sagaBegan.Add(to), Error: "connection refused"}
	}
	before, within, after := at(-time.Minute, -time.Second), at(5*time.Second, 9*time.Second), at(time.Minute, 2*time.Minute)
	story, _ := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).WithOutages([]telemetry.Outage{before, within, after}).Story(s.traces[1])
	_, text := outageIn(t, story)
	if want := "The API server did not answer for 4s, until 12:00:09 (connection refused). Nothing was pending here"; text != want {
		t.Errorf("it tells %q\nwant %q", text, want)
	}
}

// TestAnsweredWritesNarrowAnOutage: a probe finds both ends of an outage up to a second late.
func TestAnsweredWritesNarrowAnOutage(t *testing.T) {
	s, down := interrupted()
	wrote := s.traces[1].Ended // 12:00:02.01
	down.Began, down.Ended = sagaBegan.Add(1900*time.Millisecond), sagaBegan.Add(14500*time.Millisecond)
	story, _ := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).WithOutages([]telemetry.Outage{down}).Story(s.traces[1])
	b, _ := outageIn(t, story)
	if o := b.Outage; !o.Began.Equal(wrote) || !o.Ended.Equal(sagaBegan.Add(14010*time.Millisecond)) || !o.Tried.Equal(o.Ended) {
		t.Errorf("from %s to %s, tried at %s; want from the last write before to the first after", o.Began.Format("05.000"), o.Ended.Format("05.000"), o.Tried.Format("05.000"))
	}
}

// TestWritesBesideFailuresNarrowNoOutage: only what was answered before the first failure
// is before an outage, only what is near its end is after it, and each only within seconds.
func TestWritesBesideFailuresNarrowNoOutage(t *testing.T) {
	s, _ := interrupted() // Answered at 2.01 and 14.01 and after, unanswered from 3.51 to 7.51.
	at := func(ms int) time.Time { return sagaBegan.Add(time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		began, ended         int // of the outage as a probe had it
		answered             int // when a write of the ReplicaSet was answered, that failed at 3.51; 0 for none
		wantBegan, wantEnded int
	}{
		"none":                       {2500, 12000, 0, 2500, 12000},
		"a write after the failures": {2500, 20000, 6000, 2500, 20000},
		"one before them":            {2500, 20000, 3000, 3000, 20000},
		"one near the end":           {2500, 8000, 6000, 2500, 6000},
	} {
		traces := s.traces[:2:2]
		traces = append(traces, s.traces[2])
		if c.answered != 0 {
			wrote := publishes(&telemetry.Trace{Epoch: "e", Seq: 90, Object: webSet, Owner: "web", Started: at(c.answered), Ended: at(c.answered), Report: &decision.Report{}}, "90")
			traces = append(traces, wrote)
		}
		down := telemetry.Outage{Began: at(c.began), Ended: at(c.ended)}
		story, _ := telemetry.NewExcerpt(telemetry.TestLoops, traces).WithOutages([]telemetry.Outage{down}).Story(traces[1])
		b, _ := outageIn(t, story)
		if o := b.Outage; !o.Began.Equal(at(c.wantBegan)) || !o.Ended.Equal(at(c.wantEnded)) {
			t.Errorf("%s: from %s to %s, want %s to %s", name, o.Began.Format("05.000"), o.Ended.Format("05.000"), at(c.wantBegan).Format("05.000"), at(c.wantEnded).Format("05.000"))
		}
	}
}

// TestLongWriteInAnOutage waits for its answer through most of an outage. It neither
// shortens it nor leaves it with nothing to do.
func TestLongWriteInAnOutage(t *testing.T) {
	s := rollout()
	s.traces[1].Ended = sagaBegan.Add(9 * time.Second)
	down := telemetry.Outage{Began: sagaBegan.Add(2001 * time.Millisecond), Ended: sagaBegan.Add(20 * time.Second), Lack: telemetry.LackEtcd, Error: "/readyz: etcd failed"}
	story, _ := telemetry.NewExcerpt(telemetry.TestLoops, s.traces[:2]).WithOutages([]telemetry.Outage{down}).Story(s.traces[1])
	if _, text := outageIn(t, story); text != "The API server was without its etcd for 17s, until 12:00:20 (etcd failed)" {
		t.Errorf("it tells %q", text)
	}
}

// TestFailuresAfterAnOutage are a part of it where they pass at once, and another one where they last.
func TestFailuresAfterAnOutage(t *testing.T) {
	for ended, want := range map[time.Duration]int{10 * time.Second: 1, 3 * time.Second: 2} {
		s, _ := interrupted() // Until 13.9.
		s.traces = append(s.traces[:2:2], s.traces[6:]...)
		down := telemetry.Outage{Began: sagaBegan.Add(2500 * time.Millisecond), Ended: sagaBegan.Add(ended)}
		s.traces[2].Started = down.Ended.Add(time.Second)
		story, _ := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).WithOutages([]telemetry.Outage{down}).Story(s.traces[1])
		if story.Counts.Outages != want {
			t.Errorf("until %s: %d outages, want %d:\n%s", ended, story.Counts.Outages, want, told(story))
		}
	}
}

// TestCountsOfAStory takes no answer, a conflict and a no for what they are.
func TestCountsOfAStory(t *testing.T) {
	s := &saga{at: sagaBegan}
	refusal := &decision.Failure{Code: 403, Reason: "Forbidden", Message: "no"}
	gone := &decision.Failure{Reason: decision.Unreachable, Message: "connection refused"}
	for _, o := range []decision.Outcome{
		{State: decision.Written, RV: "2"}, {State: decision.Refused, Failure: refusal}, {State: decision.Refused}, {State: decision.Conflicted}, {State: decision.Tolerated}, {State: decision.Partly, Failure: refusal},
		{State: decision.NotTried}, {State: decision.Superseded},
		{State: decision.Unanswered, Failure: gone}, {State: decision.Unknown, Failure: gone},
	} {
		x := writes(s.sync(web, decision.ToneWaiting, "new", telemetry.Cause{Kind: telemetry.CauseResync}), decision.UpdateReplicaSet, "web-1", "")
		x.Rounds[0].Outcomes[0] = o
	}
	partly := creates(s.sync(webSet, decision.ToneWaiting, "creating"), "web-1-x")
	partly.Rounds[0].Outcomes[0].State, partly.Rounds[0].Outcomes[0].Failed, partly.Rounds[0].Outcomes[0].Failure = decision.Partly, 1, gone
	s.sync(web, decision.ToneWaiting, "new")
	story, _ := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(s.traces[0])
	if c := story.Counts; c.Writes != 2 || c.Refused != 3 || c.Conflicts != 1 || c.Unanswered != 3 {
		t.Errorf("counts: %+v, want 2 writes, 3 refused, 1 conflict, 3 unanswered", c)
	}
}

func TestLackWords(t *testing.T) {
	for _, l := range []telemetry.Lack{telemetry.LackAnswer, telemetry.LackLogin, telemetry.LackEtcd, telemetry.LackReady} {
		if l.Is() == "" || l.Was() == "" || !strings.HasSuffix(l.Since(), " since") {
			t.Errorf("lack %q: %q, %q, %q", l, l.Is(), l.Since(), l.Was())
		}
	}
	if !telemetry.LackAnswer.Worse(telemetry.LackLogin) || !telemetry.LackLogin.Worse(telemetry.LackEtcd) || !telemetry.LackEtcd.Worse(telemetry.LackReady) || telemetry.LackReady.Worse(telemetry.LackEtcd) || telemetry.LackEtcd.Worse(telemetry.LackEtcd) {
		t.Error("no answer is worse than no login, that than no etcd, and that than not being ready")
	}
}

// TestOwnerInAnOutage: a sync that could not even observe its object belongs to the owner of
// before, on the board, in the family and in the story, until one says that there is another.
func TestOwnerInAnOutage(t *testing.T) {
	s, _ := interrupted()
	s.traces = s.traces[:3]
	creating := s.traces[2] // of webSet, and it got no answer
	blind := s.sync(webSet, decision.ToneWaiting, telemetry.CodeUnanswered)
	blind.UID, blind.Owner, blind.Report, blind.Rounds, blind.Failure, blind.Result = "", "", nil, nil, creating.Failure, telemetry.ResultFailed
	loaded, err := telemetry.LoadJournal(telemetry.JournalOptions{Loops: telemetry.TestLoops}, cloned(s.traces))
	if err != nil {
		t.Fatal(err)
	}
	recorded := telemetry.NewJournal(telemetry.JournalOptions{Loops: telemetry.TestLoops})
	for _, x := range cloned(s.traces) {
		recorded.Record(x)
	}
	for name, j := range map[string]*telemetry.Journal{"recorded": recorded, "loaded": loaded} {
		if list := j.Board().Children("replicaset", "shop", "web"); len(list) != 1 || list[0].UID != "" {
			t.Errorf("%s: the children are %v", name, list)
		}
		if list := j.Family(web); len(list) != 4 {
			t.Errorf("%s: %d syncs in the family", name, len(list))
		}
		at, list, err := telemetry.Collect(t.Context(), telemetry.TestLoops, j.Archive(), web, s.at)
		if err != nil {
			t.Fatal(err)
		}
		story, ok := telemetry.NewExcerpt(telemetry.TestLoops, list).Story(at)
		if !ok {
			t.Fatalf("%s: there is no story", name)
		}
		if _, text := outageIn(t, story); !strings.Contains(text, "Pending: deciding on ReplicaSet web-1") {
			t.Errorf("%s: the story tells %q", name, text)
		}
	}
	orphan := s.sync(webSet, decision.ToneOK, "settled")
	orphan.Owner = ""
	recorded.Record(orphan)
	if list := recorded.Board().Children("replicaset", "shop", "web"); len(list) != 0 {
		t.Errorf("released, it is still a child: %v", list)
	}
}

func cloned(traces []*telemetry.Trace) (list []*telemetry.Trace) {
	for _, t := range traces {
		c := *t
		list = append(list, &c)
	}
	return list
}
