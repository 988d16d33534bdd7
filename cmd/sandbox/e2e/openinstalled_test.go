package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestInstalledConsole is a person for whom a console runs in the cluster: `loopscope open` forwards a
// port to its pod, asks for the token of this machine, and shows what that person may see there;
// pages go live, and other commands find it. Without the right to forward, or without a console
// there, one is started here.
func TestInstalledConsole(t *testing.T) {
	t.Parallel()
	s := secure(t)
	namespace := newNamespace(t, s.client, "installed")
	s.plane.Kubectl(t, "-n", namespace, "create", "deployment", "web", "--image=shop:v1")
	remote := s.start(t, "--watch")
	at, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	startKubelet(t, s.client, "console-node", kubelet{10257: at.Host})
	installConsole(t, s)
	for _, args := range [][]string{
		{"create", "role", "forwards", "--verb=get,list", "--resource=services,pods", "-n", consoleNamespace},
		{"create", "role", "connects", "--verb=create,get", "--resource=pods/portforward", "-n", consoleNamespace},
		{"create", "rolebinding", "viewer-looks", "--role=forwards", "--serviceaccount=" + s.viewerNamespace + ":viewer", "-n", consoleNamespace},
		{"create", "rolebinding", "viewer-connects", "--role=connects", "--serviceaccount=" + s.viewerNamespace + ":viewer", "-n", consoleNamespace},
		{"create", "rolebinding", "outsider-looks", "--role=forwards", "--serviceaccount=" + s.viewerNamespace + ":outsider", "-n", consoleNamespace},
		{"create", "clusterrolebinding", "viewer-views", "--clusterrole=view", "--serviceaccount=" + s.viewerNamespace + ":viewer"},
	} {
		s.plane.Kubectl(t, args...)
	}
	config := s.plane.Config(t)
	as := func(who somebody) string {
		return writeKubeconfig(t, &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData}, &clientcmdapi.AuthInfo{Token: who.token})
	}
	state := t.TempDir()
	environment := []string{"KUBECONFIG=" + as(s.viewer), "XDG_STATE_HOME=" + state}
	here := startConsole(t, exec.Command(testplane.Loopscope(t), "open", "--no-browser", "--listen=127.0.0.1:0", "--console-namespace="+consoleNamespace), environment...)
	base, token, found := strings.Cut(here.Dashboard, "/?token=")
	if said := here.said(); !found || !strings.Contains(said, "The console of namespace loopscope, as you may see it") {
		t.Fatalf("it says\n%s", said)
	}
	page := base + "/deployments/" + namespace + "/web"
	testplane.Until(t, settleLimit, "the page of the Deployment", func() error { return statusOf(page+".json?token="+token, http.StatusOK) })
	if err := statusOf(page+".json", http.StatusUnauthorized); err != nil {
		t.Error(err)
	}
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(here.Dashboard)); err != nil {
		t.Fatal(err)
	}
	open(t, ctx, page)
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	top := exec.CommandContext(limited, testplane.Loopscope(t), "top", "-n", namespace)
	top.Env = append(top.Environ(), environment...)
	if out, err := top.CombinedOutput(); err != nil || !strings.Contains(string(out), "web") {
		t.Errorf("top: %v\n%s", err, out)
	}

	other := startConsole(t, exec.Command(testplane.Loopscope(t), "open", "--no-browser", "--listen=127.0.0.1:0", "-n", s.viewerNamespace), "KUBECONFIG="+as(s.outsider), "XDG_STATE_HOME="+t.TempDir())
	if said := other.said(); !strings.Contains(said, "The console that is installed in namespace loopscope cannot be opened: you may not forward ports to it") {
		t.Errorf("somebody without that right is told\n%s", said)
	}
	if err := remote.stop(30 * time.Second); err != nil {
		t.Error(err)
	}
	testplane.Until(t, settleLimit, "the answer without a console", func() error { return statusOf(page+".json?token="+token, http.StatusBadGateway) })
	if err := here.stop(20 * time.Second); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// consoleNamespace is where a console is looked for.
const consoleNamespace = "loopscope"

// installConsole makes the Service and the pod of a console, as they are where one is installed.
func installConsole(t *testing.T, s *secured) {
	t.Helper()
	s.plane.Kubectl(t, "create", "namespace", consoleNamespace)
	labels := map[string]string{"app.kubernetes.io/name": "loopscope"}
	_, err := s.client.CoreV1().Services(consoleNamespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "loopscope", Labels: labels},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromString("https")}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "loopscope-0", Labels: labels},
		Spec: corev1.PodSpec{NodeName: "console-node", Containers: []corev1.Container{{
			Name: "manager", Image: "loopscope", Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: 10257}},
		}}},
	}
	testplane.Until(t, settleLimit, "the pod of the console", func() error { // Its ServiceAccount comes with the namespace.
		_, err := s.client.CoreV1().Pods(consoleNamespace).Create(t.Context(), pod, metav1.CreateOptions{})
		return err
	})
	testplane.Until(t, settleLimit, "a pod that is ready", func() error {
		p, err := s.client.CoreV1().Pods(consoleNamespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", p.Status.Phase)
		}
		return err
	})
}
