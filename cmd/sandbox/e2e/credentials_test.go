package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestServiceAccountCredentials: each controller writes as its own ServiceAccount, with the roles
// that Kubernetes itself has for it, and needs no other rights.
func TestServiceAccountCredentials(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Audit: true})
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "accounts")
	startManager(t, plane.Kubeconfig, "--history=off", "--use-service-account-credentials", "--kube-api-qps=200", "--kube-api-burst=400")
	create(t, client, namespace, oneByOne("web", 5, 0))
	waitSettled(t, client, namespace, "web")
	setImage(t, client, namespace, "web", "shop:v2")
	waitSettled(t, client, namespace, "web")
	plane.KubectlInput(t, replicationController(namespace), "create", "-f", "-")
	plane.Kubectl(t, "-n", namespace, "wait", "rc/old", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=60s")
	plane.Kubectl(t, "apply", "-f", "../../../deploy/rollingupdate-controller.yaml")
	plane.Kubectl(t, "-n", namespace, "annotate", "rc/old", `rollingupdate.loopscope.dev/request={"version":1,"image":"shop:v2","updatePeriod":"0s"}`)
	plane.Kubectl(t, "-n", namespace, "wait", "rc/old", `--for=jsonpath={.metadata.annotations.rollingupdate\.loopscope\.dev/result}`, "--timeout=60s")
	account := map[string]string{"deployment-controller": "replicasets", "replicaset-controller": "pods", "replication-controller": "pods", "rollingupdate-controller": "replicationcontrollers"}
	wrote := map[string]int{}
	for _, r := range of(readAudit(t, plane.AuditPath), inNamespace(namespace)) {
		name, is := strings.CutPrefix(r.User.Username, "system:serviceaccount:kube-system:")
		switch {
		case is && r.ResponseStatus.Code == http.StatusForbidden:
			t.Errorf("%s may not %s %s", name, r.Verb, r.object())
		case is && r.ObjectRef.Resource == account[name] && r.write() && r.taken():
			wrote[name]++
		case !is && strings.HasPrefix(r.UserAgent, "loopscope/") && r.write():
			t.Errorf("%s wrote %s %s", r.User.Username, r.Verb, r.object())
		}
	}
	if wrote["deployment-controller"] == 0 || wrote["replicaset-controller"] < 10 || wrote["replication-controller"] < 4 || wrote["rollingupdate-controller"] < 10 {
		t.Errorf("ServiceAccounts wrote %v", wrote)
	}
}

func replicationController(namespace string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "old", "namespace": %q},
		"spec": {"replicas": 2, "selector": {"app": "old"}, "template": {"metadata": {"labels": {"app": "old"}}, "spec": {"containers": [{"name": "main", "image": "old:v1"}]}}}}`, namespace)
}

// TestUnservedResources: where the API server does not serve Deployments and ReplicaSets, as with
// --runtime-config=apps/v1=false, their loops are skipped and the other one works; they begin
// once these are served.
func TestUnservedResources(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none"})
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "unserved")
	var served atomic.Bool
	m := startManager(t, withoutApps(t, plane.LoopscopeConfig(t), &served), "--history=off")
	plane.KubectlInput(t, replicationController(namespace), "create", "-f", "-")
	plane.Kubectl(t, "-n", namespace, "wait", "rc/old", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=60s")
	create(t, client, namespace, oneByOne("web", 2, 0))
	shows := func(path, want string) {
		t.Helper()
		testplane.Until(t, time.Minute, fmt.Sprintf("%q at %s", want, path), func() error {
			page, err := m.page(path, "text/html")
			if err == nil && !strings.Contains(page, want) {
				err = errors.New("not yet")
			}
			return err
		})
	}
	shows("/deployments", "The Deployment loop is skipped.")
	shows("/deployments", "The API server does not serve deployments and replicasets.")
	shows("/about", "skipped: the API server does not serve what it works on")
	shows("/readyz", "ok")
	if !strings.Contains(m.said(), "Skipped: the API server does not serve this resource") {
		t.Errorf("its log does not say so: %s", m.said())
	}
	served.Store(true)
	waitSettled(t, client, namespace, "web")
	shows("/deployments", "The only Deployment needs no action.")
	shows("/readyz?verbose", "[+]deployment-controller ok")
}

// withoutApps is a kubeconfig of the API server behind a proxy that answers as one which does not
// serve the group apps, until it is served.
func withoutApps(t *testing.T, config *rest.Config, served *atomic.Bool) string {
	t.Helper()
	return behindProxy(t, config, func(w http.ResponseWriter, r *http.Request, on http.Handler) {
		if !served.Load() && strings.HasPrefix(r.URL.Path, "/apis/apps/") {
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		}
		on.ServeHTTP(w, r)
	})
}

// behindProxy is a kubeconfig of the API server behind a proxy that does with a request what
// handle does; on passes it on.
func behindProxy(t *testing.T, config *rest.Config, handle func(w http.ResponseWriter, r *http.Request, on http.Handler)) string {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval = transport, -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, proxy) }))
	t.Cleanup(server.Close)
	return writeKubeconfig(t, &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.AuthInfo{})
}

func writeKubeconfig(t *testing.T, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"sandbox": cluster}, AuthInfos: map[string]*clientcmdapi.AuthInfo{"user": user},
		Contexts: map[string]*clientcmdapi.Context{"sandbox": {Cluster: "sandbox", AuthInfo: "user"}}, CurrentContext: "sandbox",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTokenIsReadAnew: a token that is rotated on the disk is used as soon as the one of before is
// no longer accepted.
func TestTokenIsReadAnew(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none"})
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "rotated")
	plane.Kubectl(t, "create", "serviceaccount", "loops", "-n", namespace)
	plane.Kubectl(t, "create", "clusterrolebinding", "loops", "--clusterrole=cluster-admin", "--serviceaccount="+namespace+":loops")
	file := filepath.Join(t.TempDir(), "token")
	rotate := func(secret string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(boundToken(t, client, namespace, secret)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rotate("first")
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	config := plane.Config(t)
	startManager(t, writeKubeconfig(t, &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData}, &clientcmdapi.AuthInfo{TokenFile: file}), "--history=off")
	create(t, client, namespace, oneByOne("web", 2, 0))
	waitSettled(t, client, namespace, "web")
	rotate("second")
	if err := client.CoreV1().Secrets(namespace).Delete(context.Background(), "first", metav1.DeleteOptions{}); err != nil { // Its token is not accepted any more.
		t.Fatal(err)
	}
	old := rest.AnonymousClientConfig(config)
	old.BearerToken = string(first)
	before, err := kubernetes.NewForConfig(old)
	if err != nil {
		t.Fatal(err)
	}
	testplane.Until(t, time.Minute, "end of the first token", func() error { // The API server remembers for a while that it was good.
		if _, err := before.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("it is accepted: %v", err)
		}
		return nil
	})
	setImage(t, client, namespace, "web", "shop:v2")
	waitSettled(t, client, namespace, "web")
}

// boundToken is a token that is accepted as long as a Secret of that name is there.
func boundToken(t *testing.T, client kubernetes.Interface, namespace, secret string) string {
	t.Helper()
	ctx := context.Background()
	bound, err := client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, "loops", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: secret, UID: bound.UID}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}
