package rolling

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// An API server that does not answer from the first look on is waited for as at any other
// time, and then it is said that the request stands.
func TestFollowBearsErrorsAtFirst(t *testing.T) { synctest.Test(t, bearsErrorsAtFirst) }

func bearsErrorsAtFirst(t *testing.T) {
	old, n := half(asksX)
	client, api := clientOf(old, n)
	api.PrependReactor("list", "replicationcontrollers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	s := Started{Namespace: "shop", Old: "web", ID: "x"}
	w := quick(t)
	w.Every = time.Second
	began := time.Now()
	err := client.Follow(t.Context(), s, w)
	const want = "connection refused\nWhat was asked for stands without this command: watch it with 'loopscope rolling-update status web -n shop --watch'"
	if took := time.Since(began); err == nil || !strings.HasSuffix(err.Error(), want) || took != unreadFor {
		t.Errorf("after %s: %v", took, err)
	}
	w.Within = time.Minute // Noticed waits for longer than it may be unreadable.
	if _, err := client.Noticed(t.Context(), s, w); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("a change: %v", err)
	}
}

// Whoever watches is told once of an outage that the update cannot be read, and after it how it stands.
func TestFollowTellsAnOutage(t *testing.T) { synctest.Test(t, tellsAnOutage) }

func tellsAnOutage(t *testing.T) {
	old, n := half(asksX)
	client, api := clientOf(old, n)
	down := false
	api.PrependReactor("list", "replicationcontrollers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return down, nil, errors.New("connection refused")
	})
	var told []string
	w := Watching{Every: time.Second, Within: time.Minute, Tell: func(*Look) { told = append(told, "looked") }, Unread: func(err error) { told = append(told, err.Error()) }}
	f := &follower{Client: client, Watching: w, s: Started{Old: "web", ID: "x"}, seen: time.Now()}
	for _, down = range []bool{false, true, true, false, false, true} {
		if done, err := f.turn(t.Context()); done {
			t.Fatalf("it ended: %v", err)
		}
		time.Sleep(w.Every)
	}
	if got, want := strings.Join(told, "; "), "looked; list ReplicationControllers: connection refused; looked; list ReplicationControllers: connection refused"; got != want {
		t.Errorf("told is %q, want %q", got, want)
	}
}

// Where nobody reacts and the request cannot be withdrawn, both are said.
func TestNobodyReactsAndWithdrawingFails(t *testing.T) {
	for verb, c := range map[string]struct {
		withdrawn bool
		want      string
	}{
		"update": {false, "the request stands"},
		"delete": {true, "so it was withdrawn"},
	} {
		client, api := clientOf(controller("web", 3, blue, nil))
		s, err := client.Begin(t.Context(), file(controller("web-2", 3, green, nil)))
		if err != nil {
			t.Fatal(err)
		}
		api.PrependReactor(verb, "replicationcontrollers", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("denied")
		})
		err = client.Follow(t.Context(), s, quick(t))
		if nobody := new(NoManager); !errors.As(err, &nobody) || nobody.Withdrawn != c.withdrawn || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "denied") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}
