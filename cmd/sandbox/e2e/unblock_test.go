package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// refusedFor is for how long pods are refused before what refuses them goes: the
// back-off has grown to several seconds by then.
const refusedFor = 12 * time.Second

// unblockings are what refuses pods, and what a person does about it.
var unblockings = []struct {
	name         string
	refuse, mend func(t testing.TB, client kubernetes.Interface, namespace string)
	account      string
}{
	{name: "quota raised", refuse: quotaOf("0"), mend: func(t testing.TB, client kubernetes.Interface, namespace string) {
		q, err := client.CoreV1().ResourceQuotas(namespace).Get(t.Context(), "small", metav1.GetOptions{})
		if err == nil {
			q.Spec.Hard[corev1.ResourcePods] = resource.MustParse("9")
			_, err = client.CoreV1().ResourceQuotas(namespace).Update(t.Context(), q, metav1.UpdateOptions{})
		}
		must(t, err)
	}},
	{name: "quota deleted", refuse: quotaOf("0"), mend: func(t testing.TB, client kubernetes.Interface, namespace string) {
		must(t, client.CoreV1().ResourceQuotas(namespace).Delete(t.Context(), "small", metav1.DeleteOptions{}))
	}},
	{name: "ServiceAccount created", refuse: func(testing.TB, kubernetes.Interface, string) {}, account: "nobody", mend: func(t testing.TB, client kubernetes.Interface, namespace string) {
		_, err := client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "nobody"}}, metav1.CreateOptions{})
		must(t, err)
	}},
}

func quotaOf(pods string) func(testing.TB, kubernetes.Interface, string) {
	return func(t testing.TB, client kubernetes.Interface, namespace string) {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse(pods)}}}
		_, err := client.CoreV1().ResourceQuotas(namespace).Create(t.Context(), q, metav1.CreateOptions{})
		must(t, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// TestUnblocked: what refuses pods wakes the loop when it goes. The times from there to
// the first pod are printed, with those of upstream's loops beside them where
// LOOPSCOPE_E2E_UNBLOCKED asks for more than a sample.
func TestUnblocked(t *testing.T) {
	trials := testplane.Number(t, "LOOPSCOPE_E2E_UNBLOCKED", 3)
	sides := map[string]*testplane.Plane{"own": ownPlane(t).Plane}
	if trials > 6 {
		sides["upstream"] = upstreamPlane(t)
	}
	for side, plane := range sides {
		took := unblocked(t, clientOf(t, plane), int(trials))
		slices.Sort(took)
		t.Logf("%s: first pod after p50 %s, p95 %s, at most %s, of %d", side, took[len(took)/2], took[len(took)*95/100], took[len(took)-1], len(took))
		if worst := took[len(took)-1]; side == "own" && worst > refusedFor {
			t.Errorf("a pod came after %s: the back-off brought it, and no watch", worst)
		}
	}
}

// unblocked makes all trials, some at once: they mostly wait.
func unblocked(t *testing.T, client kubernetes.Interface, trials int) []time.Duration {
	took, room := make([]time.Duration, trials), make(chan struct{}, 10)
	var group sync.WaitGroup
	for i := range trials {
		group.Go(func() {
			room <- struct{}{}
			took[i] = unblockOnce(t, client, i)
			<-room
		})
	}
	group.Wait()
	return took
}

func unblockOnce(t *testing.T, client kubernetes.Interface, i int) time.Duration {
	u := unblockings[i%len(unblockings)]
	namespace := newNamespace(t, client, "unblock")
	u.refuse(t, client, namespace)
	d := wanted{name: "web", replicas: 2, surge: intstr.FromInt32(1), unavailable: intstr.FromInt32(0), readyAfter: time.Second, image: "shop:v1"}.object()
	d.Spec.Template.Spec.ServiceAccountName = u.account
	_, err := client.AppsV1().Deployments(namespace).Create(t.Context(), d, metav1.CreateOptions{})
	must(t, err)
	var since time.Time
	testplane.Until(t, time.Minute, u.name+": pods refused for a while", func() error {
		sets, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(sets.Items) == 0 || len(sets.Items[0].Status.Conditions) == 0 {
			return fmt.Errorf("no refusal yet (%w)", errors.Join(err))
		}
		if since = sets.Items[0].Status.Conditions[0].LastTransitionTime.Time; time.Since(since) < refusedFor {
			return fmt.Errorf("refused for %s", time.Since(since))
		}
		return nil
	})
	u.mend(t, client, namespace)
	mended := time.Now()
	testplane.Until(t, 5*time.Minute, u.name+": first pod", func() error {
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(pods.Items) == 0 {
			err = errors.New("no pod yet")
		}
		return err
	})
	return time.Since(mended).Round(time.Millisecond)
}
