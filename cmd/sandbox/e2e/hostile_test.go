package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// hostileMarkup is what an image, an annotation, a message or a manager may be.
const hostileMarkup = `"><img src=x onerror="window.hostile=1"><script>window.hostile=2</script>`

// TestHostileObjects puts what the API server accepts into objects, as anybody
// may, and opens the pages of the loops that looked at them on a phone: nothing
// runs or becomes an element, it can be read, and nothing scrolls sideways.
func TestHostileObjects(t *testing.T) {
	plane := ownPlane(t)
	client := clientOf(t, plane.Plane)
	namespace := newNamespace(t, client, "hostile")
	name := strings.TrimSuffix(strings.Repeat("long-name.", 24), ".") // with a hash behind it as long as may be
	replicas, labels := int32(2), map[string]string{"app": "hostile"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
		"kubernetes.io/change-cause": "javascript:window.hostile=3", "example.com/link": hostileMarkup + "\u202egnp.exe\a\x1b[31m"}},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"example.com/template": hostileMarkup}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:bad" + hostileMarkup}}}}}}
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), d, metav1.CreateOptions{FieldManager: "<b>manager</b>"}); err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	lines := hostileMarkup + strings.Repeat("<b>a line</b>\n", 10_000)
	testplane.Until(t, settleLimit, "a pod with a message of 10,000 lines", func() error {
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(pods.Items) == 0 || len(pods.Items[0].Status.ContainerStatuses) == 0 {
			return &lacking{"the namespace", "pod that was looked at by a node"}
		}
		p := &pods.Items[0]
		p.Status.Message, p.Status.ContainerStatuses[0].State = lines, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: lines}}
		_, err = client.CoreV1().Pods(namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{FieldManager: hostileMarkup})
		return err
	})
	sets, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 {
		t.Fatalf("%d ReplicaSets: %v", len(sets.Items), err)
	}
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(400, 800)); err != nil {
		t.Fatal(err)
	}
	page := plane.Dashboard + "/deployments/" + namespace + "/" + name
	open(t, ctx, page)
	holds(t, ctx, time.Minute, `document.querySelector('main').textContent.includes('onerror=')`)
	for _, address := range []string{page, plane.Dashboard + "/replicasets/" + namespace + "/" + sets.Items[0].Name, plane.Dashboard + "/deployments?q=ns:" + namespace,
		page + "/story", page + "/what-if", plane.Dashboard + "/history?q=ns:" + namespace, plane.Dashboard + "/queues"} {
		if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
			t.Fatalf("open %s: %v", address, err)
		}
		for what, expression := range map[string]string{
			"a script ran":                 `window.hostile !== undefined`,
			"an element was made of it":    `document.querySelector('img,[onerror],script:not([src])') !== null || [...document.scripts].some(s => !new URL(s.src).pathname.startsWith('/static/'))`,
			"a link leads away":            `[...document.querySelectorAll('[href]')].some(e => new URL(e.getAttribute('href'), location).origin !== location.origin)`,
			"the page scrolls sideways":    `document.documentElement.scrollWidth > innerWidth`,
			"a control character is there": `/[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/.test(document.querySelector('main').textContent)`,
		} {
			if evaluate[bool](t, ctx, expression) {
				t.Errorf("%s: %s", strings.TrimPrefix(address, plane.Dashboard), what)
			}
		}
	}
}
