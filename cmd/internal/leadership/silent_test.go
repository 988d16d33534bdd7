package leadership_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// A Lease cannot be made in a namespace that does not exist, or is being deleted: that is said until
// it can, and then one leads.
func TestNamespaceOfTheLease(t *testing.T) {
	gone := apierrors.NewNotFound(corev1.Resource("namespaces"), "kube-system")
	ending := apierrors.NewForbidden(coordinationv1.Resource("leases"), "loopscope-manager", errors.New("it is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for want, refusal := range map[string]error{
		"namespace kube-system does not exist: create it, or name another one with --leader-elect-resource-namespace":                         gone,
		"namespace kube-system is being deleted: create it again once it is gone, or name another one with --leader-elect-resource-namespace": ending,
	} {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset()
			var refused atomic.Bool
			refused.Store(true)
			client.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				return refused.Load(), nil, refusal
			})
			from := time.Now()
			c := run(t, client, "a", true)
			for range 10 {
				if s := c.State(); c.Leads() || !s.Silent || s.Error != want || !s.ErrorSince.Equal(from) {
					t.Errorf("it says %+v", s)
				}
				time.Sleep(time.Minute)
			}
			refused.Store(false)
			time.Sleep(3 * time.Second)
			c.want(t, true, "a")
			if err := c.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Who cannot read the Lease does not say that nobody leads: neither before the first answer nor where
// there is none, as long as it has not read that somebody gave the Lease back.
func TestUnknownLeader(t *testing.T) {
	for _, elect := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset()
			if err := run(t, client, "a", true).stop(); err != nil {
				t.Error(err)
			}
			var away atomic.Bool
			client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				time.Sleep(time.Second)
				return away.Load(), nil, errors.New("no route to host")
			})
			want := func(c *candidate, leads bool, says string) {
				t.Helper()
				if s := c.State(); c.Leads() != leads || s.StandsBy == leads || s.Silent == leads || s.Held() != leads || s.Error != says {
					t.Errorf("it says %+v", s)
				}
			}
			first := run(t, client, "b", elect)
			want(first, false, "")
			time.Sleep(10 * time.Second)
			want(first, true, "")
			if s := first.State(); elect && time.Since(s.Renewed) > 3*time.Second {
				t.Errorf("as the leader it says %+v", s)
			}
			if err := first.stop(); err != nil {
				t.Error(err)
			}
			away.Store(true)
			second := run(t, client, "c", elect)
			time.Sleep(10 * time.Second)
			want(second, false, "no route to host")
			if err := second.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// One that stands by says who leads as long as that leader's Lease lasts, and after that who did: where
// nobody can reach the API server, nobody is known to lead.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, broken := breakable()
		first := run(t, client, "a", true)
		second := run(t, client, "b", true)
		silent := func(after time.Duration, want bool) {
			t.Helper()
			time.Sleep(after)
			if s, led := second.State(), first.State(); s.Silent != want || s.Leader != "a" || led.Silent == first.Leads() || led.Held() != first.Leads() {
				t.Errorf("it says %+v, and the leader %+v", s, led)
			}
		}
		silent(time.Minute, false)
		broken.Store(true)
		silent(14*time.Second, false)
		silent(3*time.Second, true)
		silent(time.Hour, true)
		broken.Store(false)
		time.Sleep(20 * time.Second)
		if s := second.State(); s.Silent || first.Leads() == second.Leads() {
			t.Errorf("when it can be had again, it says %+v", s)
		}
		for _, c := range []*candidate{first, second} {
			if err := c.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A Lease that its holder does not renew is told before it has run out, and lasts as long as it says itself:
// until then nobody takes it, unless somebody deletes it.
func TestOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		c := run(t, client, "a", true)
		c.want(t, true, "a")
		time.Sleep(10*time.Second + 500*time.Millisecond)
		failing(client, func() error {
			return apierrors.NewConflict(coordinationv1.Resource("leases"), "loopscope-manager", errors.New("it was changed"))
		})
		patch := []byte(`{"spec":{"holderIdentity":"ghost","leaseDurationSeconds":3600}}`)
		leases := client.CoordinationV1().Leases("kube-system")
		if _, err := leases.Patch(t.Context(), "loopscope-manager", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		from := time.Now()
		for _, at := range []struct {
			after                 time.Duration
			held, overdue, silent bool
		}{{3 * time.Second, true, false, false}, {27 * time.Second, true, false, false}, {40 * time.Second, false, true, false}, {58 * time.Minute, false, true, false}, {2 * time.Minute, false, true, true}} {
			time.Sleep(at.after)
			if s := c.State(); s.Leader != "ghost" || s.Held() != at.held || s.Overdue != at.overdue || s.Silent != at.silent || s.Renewed.Sub(from).Abs() > 3*time.Second || s.Expires.Sub(s.Renewed) != time.Hour {
				t.Errorf("%s later it says %+v", time.Since(from), s)
			}
		}
		if err := leases.Delete(t.Context(), "loopscope-manager", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if s := c.State(); !c.Leads() || s.Overdue || s.Silent || !s.Held() {
			t.Errorf("once it is deleted it says %+v", s)
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Who is kept from looking at the Lease does not suspect its holder.
func TestNotOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var away atomic.Bool
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return away.Load(), nil, errors.New("no route to host")
		})
		first, second := run(t, client, "a", true), run(t, client, "b", true)
		for range 300 { // Each looks at its own times.
			if time.Sleep(time.Second); second.State().Overdue {
				t.Fatalf("it says %+v", second.State())
			}
		}
		away.Store(true)
		for range 300 {
			if time.Sleep(time.Second); second.State().Overdue {
				t.Fatalf("while the API server is away it says %+v", second.State())
			}
		}
		for _, c := range []*candidate{first, second} {
			if err := c.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A process that is held up does not act after its RenewDeadline, which comes before another one may; one
// that stays so is not healthy. When it goes on, it carries out what it decided meanwhile.
func TestHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var hang atomic.Bool
		failing(client, func() error {
			if hang.Load() {
				time.Sleep(time.Minute)
			}
			return nil
		})
		c := run(t, client, "a", true)
		time.Sleep(5 * time.Second)
		hang.Store(true)
		for _, at := range []struct {
			after          time.Duration
			leads, healthy bool
		}{{9 * time.Second, true, true}, {1001 * time.Millisecond, false, true}, {7 * time.Second, false, true}, {20 * time.Second, false, false}} {
			time.Sleep(at.after)
			if c.Leads() != at.leads || (c.Healthy() == nil) != at.healthy {
				t.Errorf("%s later: leads %v, healthy: %v", at.after, c.Leads(), c.Healthy())
			}
		}
		hang.Store(false)
		time.Sleep(time.Minute) // The renewal succeeded after all: nobody had taken the Lease.
		if s := c.State(); !c.Leads() || s.Leader != "a" || s.Error != "" || c.began.Load() != 2 {
			t.Errorf("it was told %d times that it leads, and says %+v", c.began.Load(), s)
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A leader that could not renew the Lease gives it back: that is no renewal, and it acts no more until it
// has taken the Lease anew.
func TestGivenBackLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var broken, slow, after atomic.Bool
		failing(client, func() error {
			switch {
			case slow.CompareAndSwap(true, false):
				time.Sleep(2 * time.Second)
				after.Store(true)
				return errors.New("no reply")
			case after.CompareAndSwap(true, false): // It reads the Lease in the same try.
				broken.Store(false)
				return errors.New("no route to host")
			case broken.Load():
				return errors.New("no route to host")
			}
			return nil
		})
		c := run(t, client, "a", true)
		c.want(t, true, "a")
		time.Sleep(5500 * time.Millisecond)
		broken.Store(true)
		time.Sleep(9 * time.Second)
		slow.Store(true)            // The last try ends after client-go's deadline,
		time.Sleep(4 * time.Second) // and then the Lease is given back, and taken anew.
		synctest.Wait()
		if s := c.State(); !c.Leads() || c.began.Load() != 2 || len(s.Changes) != 3 || s.Changes[1].To != "" {
			t.Errorf("it leads: %v, was told so %d times, and says %+v", c.Leads(), c.began.Load(), s)
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
}

// The RenewDeadline counts from when a renewal was sent, however late its reply was; a leader that
// another one has put aside says so.
func TestLateReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var slow, broken atomic.Bool
		failing(client, func() error {
			if slow.CompareAndSwap(true, false) {
				broken.Store(true)
				time.Sleep(4 * time.Second)
				return nil
			}
			if broken.Load() {
				return errors.New("no route to host")
			}
			return nil
		})
		c := run(t, client, "a", true)
		time.Sleep(5*time.Second + 500*time.Millisecond)
		slow.Store(true)
		time.Sleep(10 * time.Second) // 9.5 s after it was sent
		if !c.Leads() {
			t.Errorf("it gave up too early: %+v", c.State())
		}
		time.Sleep(501 * time.Millisecond)
		if s := c.State(); c.Leads() || time.Since(s.Renewed) < 10*time.Second {
			t.Errorf("it still leads: %+v", s)
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
}
