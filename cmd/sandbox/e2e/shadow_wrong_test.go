package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// wasteful is the annotation of a ReplicaSet that loses a pod for no reason.
const wasteful = "example.com/wasteful"

// mislead lies about two Deployments: one may surge by more than it says, and of the other's pods
// the dearest are the cheapest. And it lies about two ReplicaSets: one wants a pod more than it says,
// the other, from when it has an annotation, a pod less.
func mislead(object any) (any, error) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		if o.Name == "surge" {
			more := intstr.FromInt32(3)
			o.Spec.Strategy.RollingUpdate.MaxSurge = &more
		}
	case *appsv1.ReplicaSet:
		if o.Name == "greedy" {
			*o.Spec.Replicas++
		}
		if o.Annotations[wasteful] != "" {
			*o.Spec.Replicas--
		}
	case *corev1.Pod:
		if cost := o.Annotations[corev1.PodDeletionCost]; cost != "" && o.Labels["app"] == "victims" {
			o.Annotations[corev1.PodDeletionCost] = "-" + cost
		}
	}
	return object, nil
}

// misquote has the events of one Deployment tell of other sizes than were written.
type misquote struct{ http.RoundTripper }

func (m misquote) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && path.Base(r.URL.Path) == "events" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.Replace(body, []byte("Scaled up replica set misquoted"), []byte("Scaled down replica set misquoted"), 1)
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return m.RoundTripper.RoundTrip(r)
}

// TestShadowFindsAWrongController shows that TestShadowBesideUpstream can fail: beside loops that
// call themselves kube-controller-manager and are lied to, what they write wrongly is unexplained, and
// what they write rightly agrees; so does what their events say.
func TestShadowFindsAWrongController(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Nodes: 1})
	client := clientOf(t, plane)
	watch := testplane.Watch(t, plane)
	config := plane.LoopscopeConfig(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return misquote{next} })
	runLoopsAs(t, "kube-controller-manager", config, mislead)
	namespace := newNamespace(t, client, "wrong")
	names := []string{"right", "surge", "victims"}
	for _, name := range append([]string{"misquoted"}, names...) {
		create(t, client, namespace, oneByOne(name, 6, 500*time.Millisecond))
	}
	for _, name := range []string{"greedy", "wasteful"} {
		createSet(t, client, namespace, name)
	}
	waitSettled(t, client, namespace, "victims")
	priced(t, client, namespace, "victims")
	annotate := `{"metadata":{"annotations":{"` + wasteful + `":"true"}}}`
	if _, err := client.AppsV1().ReplicaSets(namespace).Patch(t.Context(), "wasteful", types.MergePatchType, []byte(annotate), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, name := range names[:2] {
		waitSettled(t, client, namespace, name)
		setImage(t, client, namespace, name, "shop:v2")
	}
	testplane.Until(t, time.Minute, "time in which no cache can lack the costs any more", func() error {
		if left := 31*time.Second - time.Since(began); left > 0 {
			return fmt.Errorf("another %s", left)
		}
		return nil
	})
	for _, name := range names {
		waitSettled(t, client, namespace, name)
		patchDeployment(t, client, namespace, name, `{"spec":{"replicas":4}}`)
		waitSettled(t, client, namespace, name)
	}
	twin := &testplane.Comparison{}
	found := func(name, what string) (n int) {
		for _, d := range twin.Differences {
			if d.Reason.Word == "unexplained" && d.What == what && strings.HasPrefix(d.Name, name) {
				n++
			}
		}
		return n
	}
	t.Cleanup(func() { t.Log(twin) })
	testplane.Until(t, time.Minute, "discovery of the lies", func() error {
		twin = watch.Compared(t)
		if sizes, pods := found("surge", "size of a ReplicaSet"), found("victims", "deletion of a Pod"); sizes == 0 || pods < 2 {
			return fmt.Errorf("%d sizes and %d deletions are unexplained", sizes, pods)
		}
		if more, less := found("greedy", "creation of a Pod"), found("wasteful", "deletion of a Pod"); more != 1 || less != 1 {
			return fmt.Errorf("of one pod too many %d are unexplained, of one deleted for no reason %d", more, less)
		}
		if n := found("misquoted", "event about a Deployment"); n != 1 {
			return fmt.Errorf("%d wrong events are unexplained", n)
		}
		return nil
	})
	for _, d := range twin.Differences {
		if d.Reason.Word != "unexplained" {
			continue
		}
		if status, page := fetch(t, watch.Dashboard+d.Href); status != 200 || !strings.Contains(page, "no departure does") && !strings.Contains(page, "publish no such event") {
			t.Errorf("%s does not tell of it: %d", d.Href, status)
		}
	}
	t.Logf("sizes of surge: %d, deletions of victims: %d unexplained", found("surge", "size of a ReplicaSet"), found("victims", "deletion of a Pod"))
	if found("right", "size of a ReplicaSet")+found("right", "deletion of a Pod")+found("right", "event about a Deployment")+found("right", "event about a ReplicaSet") > 0 {
		t.Error("what nobody lied about is unexplained")
	}
}

// createSet makes a ReplicaSet of three pods and waits until it has them.
func createSet(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	labels, size := map[string]string{"app": name}, int32(3)
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.ReplicaSetSpec{Replicas: &size, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "shop:v1"}}}}}}
	if _, err := client.AppsV1().ReplicaSets(namespace).Create(t.Context(), rs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testplane.Until(t, settleLimit, "pods of ReplicaSet "+name, func() error {
		now, err := client.AppsV1().ReplicaSets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && now.Status.ReadyReplicas < size {
			err = fmt.Errorf("%d are ready", now.Status.ReadyReplicas)
		}
		return err
	})
}

// priced gives each pod of a Deployment another cost of deletion.
func priced(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		t.Fatal(err)
	}
	active := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	for i := range active {
		patch := `{"metadata":{"annotations":{"` + corev1.PodDeletionCost + `":"` + strconv.Itoa(i+1) + `"}}}`
		if _, err := client.CoreV1().Pods(namespace).Patch(t.Context(), active[i].Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
