package create

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopscope/loopscope/telemetry/decision"
)

func objectOf(name string) Object {
	return Object{Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespace: "shop", Name: name}
}

func sentence(tone decision.Tone, code, then string) decision.Sentence {
	return decision.Sentence{Namespace: "shop", Object: "web", Tone: tone, Verb: "is", State: string(tone), Lead: decision.Words{}.Say(code), Then: decision.Words{}.Say(then), Code: code}
}

var (
	moving  = sentence(decision.ToneMoving, "starting", "")
	settled = sentence(decision.ToneOK, "settled", "")
	pulling = sentence(decision.ToneWaiting, "image-pull", "Needs action: unblocks when that image exists.")
	waiting = sentence(decision.ToneWaiting, "min-ready", "Unblocks when it is ready.")
	paused  = sentence(decision.ToneNeutral, "paused", "")
	zero    = sentence(decision.ToneNeutral, "scaled-to-zero", "")
	failed  = sentence(decision.ToneFailed, "quota", "")
)

// lookThrough answers with what an object is after so many seconds, the last one for ever.
func lookThrough(of map[string][]decision.Sentence) func() Look {
	began := time.Now()
	return func() Look {
		return func(_ context.Context, o Object) (State, error) {
			list := of[o.Name]
			if list == nil {
				return State{}, errGone
			}
			return State{Sentence: list[min(int(time.Since(began)/time.Second), len(list)-1)]}, nil
		}
	}
}

// A watch ends when all are settled, where one needs somebody for longer than a moment, and
// where it is told to.
func TestFollow(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    map[string][]decision.Sentence
		limit time.Duration
		after time.Duration
		says  string // the error, "" for none
		lines int
	}{
		{"nothing", map[string][]decision.Sentence{}, 0, 0, "", 0},
		{"at once", map[string][]decision.Sentence{"web": {settled}}, 0, 0, "", 1},
		{"in a while", map[string][]decision.Sentence{"web": {moving, moving, waiting, moving, settled}}, 0, 4 * time.Second, "", 4},
		{"the slower one", map[string][]decision.Sentence{"api": {settled}, "web": {moving, moving, settled}}, 0, 2 * time.Second, "", 3},
		{"a moment of need", map[string][]decision.Sentence{"web": {failed, failed, moving, failed, settled}}, 0, 4 * time.Second, "", 4},
		{"nothing wanted", map[string][]decision.Sentence{"web": {zero}}, 0, 0, "", 1},
		{"paused", map[string][]decision.Sentence{"web": {paused}}, 0, 5 * time.Second, "deployment/web: shop/web is neutral", 1},
		{"stuck", map[string][]decision.Sentence{"web": {moving, pulling}}, 0, 6 * time.Second, "deployment/web: shop/web is waiting", 2},
		{"failed", map[string][]decision.Sentence{"web": {failed}, "api": {moving}}, 0, 5 * time.Second, "deployment/web: shop/web is failed", 2},
		{"too slow", map[string][]decision.Sentence{"web": {moving}}, 90 * time.Second, 90 * time.Second, "not complete after 1m 30s: deployment/web. What was written stays; `loopscope explain deployment/web -n shop`", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.limit)
					defer cancel()
				}
				var list []Object
				for name := range c.of {
					list = append(list, objectOf(name))
				}
				var lines []string
				began := time.Now()
				err := Follow(ctx, list, lookThrough(c.of), func(o Object, line string) { lines = append(lines, o.String()+" "+line) })
				if text := fmt.Sprint(err); (err == nil) != (c.says == "") || err != nil && !strings.Contains(text, c.says) {
					t.Errorf("ends with %q, want %q", text, c.says)
				}
				if took := time.Since(began); took != c.after {
					t.Errorf("took %s, want %s", took, c.after)
				}
				if len(lines) != c.lines {
					t.Errorf("%d lines, want %d: %q", len(lines), c.lines, lines)
				}
			})
		})
	}
}

// The way out that an interrupted watch names is one that there is for the kind.
func TestFollowSaysWhereToLook(t *testing.T) {
	for _, c := range []struct {
		kind, want string
		unread     bool
	}{
		{"Deployment", "deployment/web. What was written stays; `loopscope explain deployment/web -n shop` says why it is as it is", false},
		{"ReplicaSet", "replicaset/web. What was written stays; `kubectl describe replicaset/web -n shop` shows its conditions and events. Of replicaset/web it was last said: shop/web is moving: starting.", false},
		{"ReplicaSet", "replicaset/web. What was written stays; `kubectl describe replicaset/web -n shop` shows its conditions and events", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			o := objectOf("web")
			o.Kind.Kind = c.kind
			err := Follow(ctx, []Object{o}, func() Look {
				return func(context.Context, Object) (State, error) {
					if c.unread {
						return State{}, errors.New("refused")
					}
					return State{Sentence: moving}, nil
				}
			}, func(Object, string) {})
			if want := "not complete after 10s: " + c.want; err == nil || err.Error() != want {
				t.Errorf("ends with\n%v, want\n%s", err, want)
			}
		})
	}
}

// What is settled is not complete before the loops have seen what was written.
func TestFollowWaitsForTheLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var lines []string
		err := Follow(t.Context(), []Object{objectOf("web")}, func() Look {
			return func(context.Context, Object) (State, error) {
				return State{Sentence: settled, Pending: time.Since(began) < 3*time.Second}, nil
			}
		}, func(_ Object, line string) { lines = append(lines, line) })
		if took := time.Since(began); err != nil || took != 3*time.Second || len(lines) != 1 {
			t.Errorf("ends with %v after %s: %q", err, took, lines)
		}
	})
}

// A status of an earlier generation, of the object or of a ReplicaSet of it, is not the last word.
func TestUnobserved(t *testing.T) {
	labels := map[string]string{"app": "web"}
	d, own, foreign := deploymentOf("web", labels, labels), setOf("own", labels, "web"), setOf("foreign", labels, "other")
	s := &surroundings{workloads: []*workload{d, own, foreign}}
	foreign.meta.SetGeneration(2)
	if s.unobserved(d) {
		t.Error("somebody else's ReplicaSet counts")
	}
	own.meta.SetGeneration(2)
	if !s.unobserved(d) {
		t.Error("its own ReplicaSet does not count")
	}
	own.observed = 2
	d.meta.SetGeneration(1)
	if !s.unobserved(d) {
		t.Error("it does not count itself")
	}
}

func TestFollowKnowsWhatIsGone(t *testing.T) {
	err := Follow(t.Context(), []Object{objectOf("web")}, lookThrough(nil), func(Object, string) {})
	if err == nil || !strings.Contains(err.Error(), "follow deployment/web: it is gone") {
		t.Errorf("ends with %v", err)
	}
}

// An API server that is away for a moment ends no watch, one that stays away does, and a limit
// is a limit even then.
func TestFollowBearsWithOutages(t *testing.T) {
	for _, c := range []struct {
		name       string
		away, stop time.Duration
		after      time.Duration
		says       string
	}{
		{"a moment", 10 * time.Second, 0, 10 * time.Second, "<nil>"},
		{"for good", time.Hour, 0, unreadFor, "follow deployment/web: refused"},
		{"until the limit", time.Hour, 10 * time.Second, 10 * time.Second, "not complete after 10s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.stop > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.stop)
					defer cancel()
				}
				began, lines := time.Now(), 0
				err := Follow(ctx, []Object{objectOf("web")}, func() Look {
					return func(context.Context, Object) (State, error) {
						if time.Since(began) < c.away {
							return State{}, errors.New("refused")
						}
						return State{Sentence: settled}, nil
					}
				}, func(Object, string) { lines++ })
				if took := time.Since(began); took != c.after || !strings.HasPrefix(fmt.Sprint(err), c.says) || lines > 2 {
					t.Errorf("ends with %v after %s and %d lines", err, took, lines)
				}
			})
		})
	}
}

func TestNeedsYou(t *testing.T) {
	for s, want := range map[*decision.Sentence]bool{&moving: false, &settled: false, &pulling: true, &waiting: false, &failed: true, &paused: true, &zero: false} {
		if got := NeedsYou(*s, time.Now()); got != want {
			t.Errorf("%s: %v", s.Code, got)
		}
	}
}

// terminal is read while it is written.
type terminal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *terminal) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *terminal) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// The line of progress comes after a second, counts, and goes away.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out terminal
		m := startMeter(&out, "creating", time.Now())
		m.sent(3)
		time.Sleep(meterFrom - time.Millisecond)
		if out.String() != "" {
			t.Errorf("shown too early: %q", out.String())
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if want := eraseLine + "creating: 3 objects after 1s"; out.String() != want {
			t.Errorf("shows %q, want %q", out.String(), want)
		}
		m.stop()
		if !strings.HasSuffix(out.String(), eraseLine) {
			t.Errorf("stays: %q", out.String())
		}
	})
	quiet := startMeter(nil, "creating", time.Now())
	quiet.sent(1)
	quiet.stop()
}

// A watch says once that no controller comes to what was written.
func TestFollowSaysThatNobodyComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		began := time.Now()
		var said []string
		look := func() Look {
			return func(context.Context, Object) (State, error) {
				return State{Sentence: moving, Pending: true, Ignored: time.Since(began) > 10*time.Second}, nil
			}
		}
		err := Follow(ctx, []Object{objectOf("web")}, look, func(_ Object, line string) { said = append(said, time.Since(began).String()+" "+line) })
		if err == nil || len(said) != 2 || !strings.HasPrefix(said[1], "41s no controller has come to it for 30s: does one run for this cluster?") {
			t.Errorf("it ends with %v, and said %q", err, said)
		}
	})
}
