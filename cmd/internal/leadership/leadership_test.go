package leadership_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
)

// candidate is an election in which somebody takes part, until it is stopped.
type candidate struct {
	*leadership.Election
	began atomic.Int32 // how often it was told that it leads
	first atomic.Bool  // whether it was told that nobody had led before, the last time
	kept  *record
	end   context.CancelFunc
	ended chan error
}

// consoleOf is where the console of a candidate is, if it has one.
func consoleOf(identity string) func() leadership.Console {
	if identity == "says nothing" {
		return nil
	}
	return func() leadership.Console { return leadership.Console{URL: "http://127.0.0.1:1"} }
}

// stop ends it, and gives how it ended.
func (c *candidate) stop() error {
	c.end()
	return <-c.ended
}

// run starts a candidate, and waits until it has done what there was to do at once.
func run(t *testing.T, client *fake.Clientset, identity string, elect bool) *candidate {
	t.Helper()
	c := &candidate{ended: make(chan error, 1), kept: &record{}}
	var err error
	c.Election, err = leadership.New(client, leadership.Options{Namespace: "kube-system", Name: "loopscope-manager", Identity: identity, Elect: elect,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: time.Second, EndWhenLost: identity == "ends", Record: c.kept.add, Console: consoleOf(identity), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, func(first bool) { c.first.Store(first); c.began.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.end = cancel
	go func() { c.ended <- c.Run(ctx) }()
	synctest.Wait()
	return c
}

// want says who should lead: this candidate or, where leader is of another name, that one.
func (c *candidate) want(t *testing.T, leads bool, leader string) {
	t.Helper()
	synctest.Wait()
	s := c.State()
	if c.Leads() != leads || s.StandsBy == leads || s.Leader != leader || (c.began.Load() == 1) != leads || s.Error != "" {
		t.Errorf("it leads: %v, was told so %d times, and says %+v", c.Leads(), c.began.Load(), s)
	}
}

// events are what was said of the Lease, sorted.
func events(t *testing.T, client *fake.Clientset) (said []string) {
	t.Helper()
	list, err := client.CoreV1().Events("kube-system").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		said = append(said, e.InvolvedObject.Kind+" "+e.InvolvedObject.Name+": "+e.Reason+": "+e.Message)
	}
	slices.Sort(said)
	return said
}

// One leads, and the next one within three seconds of its end, with the Lease given back in
// between ([M-2], [M-3]).
func TestOneLeadsAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first := run(t, client, "a", true)
		began := time.Now()
		first.want(t, true, "a")
		second := run(t, client, "b", true)
		second.want(t, false, "a")
		time.Sleep(time.Minute)
		first.want(t, true, "a")
		second.want(t, false, "a")
		if s := second.State(); s.Since.Unix() != began.Unix() || s.Lease != "kube-system/loopscope-manager" || s.Identity != "b" || !s.Elected {
			t.Errorf("the second one says %+v", s)
		}
		if err := first.stop(); err != nil || first.Leads() || !first.State().StandsBy {
			t.Errorf("it ended with %v, and leads: %v", err, first.Leads())
		}
		time.Sleep(3 * time.Second)
		second.want(t, true, "b")
		for c, want := range map[*candidate][][2]string{first: {{"", "a"}, {"a", ""}}, second: {{"a", ""}, {"", "b"}}} {
			var got [][2]string
			for _, x := range c.State().Changes {
				if got = append(got, [2]string{x.From, x.To}); x.At.Before(began.Add(-time.Second)) || x.At.After(time.Now()) {
					t.Errorf("a change at %s", x.At)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("changes of %s: %q, want %q", c.State().Identity, got, want)
			}
		}
		if err := second.stop(); err != nil {
			t.Error(err)
		}
		if !first.first.Load() || second.first.Load() {
			t.Errorf("the first to lead since they started: %v and %v", first.first.Load(), second.first.Load())
		}
		first.kept.want(t, "this process leads", "nobody leads; The first manager that takes it leads")
		second.kept.want(t, "a has led since 00:00:00; This process stands by until the Lease is given back or runs out", "nobody leads; The first manager that takes it leads",
			"this process leads; Nobody led for a while before", "nobody leads; The first manager that takes it leads")
		want := []string{"Lease loopscope-manager: LeaderElection: a became leader", "Lease loopscope-manager: LeaderElection: a stopped leading",
			"Lease loopscope-manager: LeaderElection: b became leader", "Lease loopscope-manager: LeaderElection: b stopped leading"}
		if got := events(t, client); !slices.Equal(got, want) {
			t.Errorf("events: %q", got)
		}
		lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "loopscope-manager", metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
			t.Errorf("the Lease is left as %+v, %v", lease, err)
		}
	})
}

// A Lease that somebody deletes is made again by its holder, who goes on; by another one once the
// holder has not been heard of for as long as the Lease would have lasted ([M-2]).
func TestDeletedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first, second := run(t, client, "a", true), run(t, client, "b", true)
		remove := func() {
			if err := client.CoordinationV1().Leases("kube-system").Delete(t.Context(), "loopscope-manager", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			time.Sleep(5*time.Second + 300*time.Millisecond)
			remove()
			time.Sleep(5 * time.Second)
			first.want(t, true, "a")
			second.want(t, false, "a")
		}
		var broken atomic.Bool
		broken.Store(true)
		client.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
			w, writes := a.(clienttesting.CreateAction) // So is an update.
			if !writes || !broken.Load() {
				return false, nil, nil
			}
			holder := w.GetObject().(*coordinationv1.Lease).Spec.HolderIdentity
			return holder != nil && *holder == "a", nil, errors.New("no route to host")
		})
		remove()
		heard := time.Now()
		for !second.Leads() {
			if time.Sleep(100 * time.Millisecond); first.Leads() && second.Leads() || time.Since(heard) > time.Minute {
				t.Fatalf("after %s the first one leads: %v, and the second one: %v", time.Since(heard), first.Leads(), second.Leads())
			}
		}
		broken.Store(false)
		if after := time.Since(heard); after < 9*time.Second || after > 18*time.Second {
			t.Errorf("the second one leads after %s", after)
		}
		for _, c := range []*candidate{second, first} {
			if err := c.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// failing answers every write of a Lease with what f says, once it says something.
func failing(client *fake.Clientset, f func() error) {
	client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		err := f()
		return err != nil, nil, err
	})
}

// breakable is a client whose writes of a Lease fail while broken is set.
func breakable() (client *fake.Clientset, broken *atomic.Bool) {
	client, broken = fake.NewClientset(), new(atomic.Bool)
	failing(client, func() error {
		if broken.Load() {
			return errors.New("no route to host")
		}
		return nil
	})
	return client, broken
}

// A leader that cannot renew its Lease says why, and writes no more before another one may
// take it. It stands by, and leads again, or ends where it was told to.
func TestLost(t *testing.T) {
	for _, identity := range []string{"stays", "ends"} {
		synctest.Test(t, func(t *testing.T) {
			client, broken := breakable()
			c := run(t, client, identity, true)
			time.Sleep(5 * time.Second)
			broken.Store(true)
			from := time.Now()
			time.Sleep(3 * time.Second)
			if s := c.State(); !c.Leads() || s.Error != "no route to host" || s.ErrorSince.Before(from) {
				t.Errorf("after three seconds it says %+v", s)
			}
			broken.Store(false)
			time.Sleep(2 * time.Second)
			c.want(t, true, identity)
			broken.Store(true)
			time.Sleep(9 * time.Second)
			if !c.Leads() {
				t.Error("it gave up too early")
			}
			time.Sleep(3 * time.Second)
			if c.Leads() || c.Healthy() != nil || !c.State().StandsBy {
				t.Errorf("it still leads: %+v", c.State())
			}
			if identity == "ends" {
				if err := <-c.ended; err == nil || !strings.Contains(err.Error(), "not renewed within 10s") {
					t.Errorf("it ended with %v", err)
				}
				return
			}
			broken.Store(false)
			time.Sleep(3 * time.Second)
			unavailable := "it cannot be read or written (no route to host); Nothing is written meanwhile, and it is tried again every 1s"
			c.kept.want(t, "this process leads", unavailable, "this process leads", unavailable, "this process leads")
			if !c.Leads() || c.began.Load() != 2 {
				t.Errorf("it does not lead again: %+v", c.State())
			}
			if err := c.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A leader whose Lease somebody else has taken stands by: that it tries no longer to renew the Lease is
// not that the Lease cannot be had. Where the API server does not answer in time, it cannot.
func TestTakenByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var slow, silent atomic.Bool
		client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if slow.CompareAndSwap(true, false) {
				time.Sleep(10 * time.Second)
				return true, nil, fmt.Errorf("client rate limiter Wait returned an error: %w", context.DeadlineExceeded)
			}
			return silent.Load(), nil, context.DeadlineExceeded
		})
		c := run(t, client, "a", true)
		time.Sleep(5*time.Second + 300*time.Millisecond)
		failing(client, func() error {
			return apierrors.NewConflict(coordinationv1.Resource("leases"), "loopscope-manager", errors.New("it was changed"))
		})
		patch := []byte(`{"spec":{"holderIdentity":"b"}}`)
		if _, err := client.CoordinationV1().Leases("kube-system").Patch(t.Context(), "loopscope-manager", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		slow.Store(true)
		time.Sleep(12 * time.Second)
		if s := c.State(); slow.Load() || s.Error != "" || s.Leader != "b" || !s.StandsBy {
			t.Errorf("it says %+v", s)
		}
		c.kept.want(t, "this process leads", "b has led since 00:00:00; This process stands by until the Lease is given back or runs out")
		silent.Store(true)
		time.Sleep(3 * time.Second)
		if s := c.State(); s.Error != "context deadline exceeded" {
			t.Errorf("while nothing answers it says %+v", s)
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Who ends once it no longer leads says who has taken the Lease.
func TestEndsWhenTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		c := run(t, client, "ends", true)
		patch := []byte(`{"spec":{"holderIdentity":"b"}}`)
		failing(client, func() error {
			return apierrors.NewConflict(coordinationv1.Resource("leases"), "loopscope-manager", errors.New("it was changed"))
		})
		if _, err := client.CoordinationV1().Leases("kube-system").Patch(t.Context(), "loopscope-manager", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := <-c.ended; err == nil || err.Error() != "b has taken the Lease kube-system/loopscope-manager" {
			t.Errorf("it ended with %v", err)
		}
	})
}

// Who is not elected waits as long as the Lease is held, and then acts, whoever takes it.
func TestNotElected(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*testing.T, *fake.Clientset) // what becomes of the Lease first
		leads  time.Duration                     // when it acts
	}{
		"nobody holds it": {before: func(*testing.T, *fake.Clientset) {}},
		"it was given back": {before: func(t *testing.T, client *fake.Clientset) {
			if err := run(t, client, "a", true).stop(); err != nil {
				t.Error(err)
			}
		}},
		"it may not look": {before: func(_ *testing.T, client *fake.Clientset) {
			client.PrependReactor("get", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "loopscope-manager", nil)
			})
		}},
		"its holder is gone": {leads: 16 * time.Second, before: func(t *testing.T, client *fake.Clientset) {
			holder, lasts := "gone", int32(15)
			now := metav1.NowMicro()
			_, err := client.CoordinationV1().Leases("kube-system").Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "loopscope-manager"},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts, AcquireTime: &now, RenewTime: &now}}, metav1.CreateOptions{})
			if err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				c.before(t, client)
				waits := run(t, client, "b", false)
				if c.leads > 0 {
					time.Sleep(c.leads - 3*time.Second)
					if waits.Leads() {
						t.Error("it leads too early")
					}
					time.Sleep(3 * time.Second)
				}
				synctest.Wait()
				if !waits.Leads() || waits.began.Load() != 1 || waits.State().StandsBy || waits.Healthy() != nil {
					t.Errorf("it leads: %v, %+v", waits.Leads(), waits.State())
				}
				if err := waits.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestNotElectedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		leader := run(t, client, "a", true)
		waits := run(t, client, "b", false)
		time.Sleep(5 * time.Minute)
		waits.want(t, false, "a")
		if err := leader.stop(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !waits.Leads() {
			t.Errorf("it does not lead: %+v", waits.State())
		}
		third := run(t, client, "c", true) // Nobody holds the Lease: that of b says nothing.
		third.want(t, true, "c")
		if !waits.Leads() {
			t.Error("it gave up")
		}
		for _, c := range []*candidate{third, waits} {
			if err := c.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestFirstSinceItStarted: who takes a Lease that nobody renews is told that nobody has led since it started, and who
// saw it renewed is not.
func TestFirstSinceItStarted(t *testing.T) {
	for _, elect := range []bool{true, false} {
		for renewed, want := range map[int]bool{0: true, 1: false} {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				holder, lasts, now := "gone", int32(15), metav1.NowMicro()
				lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "loopscope-manager", Namespace: "kube-system"},
					Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts, AcquireTime: &now, RenewTime: &now}}
				if err := client.Tracker().Add(lease); err != nil {
					t.Fatal(err)
				}
				c := run(t, client, "b", elect)
				for range renewed {
					time.Sleep(5 * time.Second)
					now := metav1.NowMicro()
					again := lease.DeepCopy()
					again.Spec.RenewTime = &now
					if _, err := client.CoordinationV1().Leases("kube-system").Update(t.Context(), again, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if c.began.Load() != 1 || c.first.Load() != want {
					t.Errorf("elected %v, renewed %d times: began %d times, as the first: %v", elect, renewed, c.began.Load(), c.first.Load())
				}
				if err := c.stop(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := leadership.New(fake.NewClientset(), leadership.Options{Name: "x", Elect: true, LeaseDuration: time.Second, RenewDeadline: time.Second, RetryPeriod: time.Second}, func(bool) {})
	if err == nil || !strings.Contains(err.Error(), "leader election: ") {
		t.Errorf("error: %v", err)
	}
}

// A process is called as its host, with a UUID behind it, unless it is given a name ([M-3]).
func TestIdentity(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := run(t, fake.NewClientset(), "", true)
		if name := c.State().Leader; !regexp.MustCompile("^" + regexp.QuoteMeta(host) + "_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").MatchString(name) {
			t.Errorf("the leader is called %q", name)
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
}

// How long a Lease lasts goes by the time that passes here: the clock of its holder may be wrong, and
// be set ([M-2]).
func TestClocksThatDiffer(t *testing.T) {
	for name, off := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				leases := client.CoordinationV1().Leases("kube-system")
				holder, seconds := "other", int32(15)
				renew := func() {
					now := metav1.NewMicroTime(time.Now().Add(off))
					lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "loopscope-manager", Namespace: "kube-system"},
						Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now}}
					if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
						_, err = leases.Create(t.Context(), lease, metav1.CreateOptions{})
						if err != nil {
							t.Fatal(err)
						}
					}
				}
				renew()
				c := run(t, client, "a", true)
				for range 60 {
					renew()
					time.Sleep(2 * time.Second)
				}
				off = -off // The holder's clock is set.
				for range 60 {
					renew()
					time.Sleep(2 * time.Second)
				}
				c.want(t, false, "other")
				time.Sleep(10 * time.Second)
				c.want(t, false, "other")
				time.Sleep(10 * time.Second)
				c.want(t, true, "a")
				if err := c.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
