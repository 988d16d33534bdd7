package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const deployDir = "../../../deploy"

// installed is a Loopscope that was installed from manifests. Nothing runs the image here: the
// program runs outside of the cluster, as the ServiceAccount of the manifests, and with their flags.
type installed struct {
	plane     *testplane.Plane
	client    kubernetes.Interface
	namespace string
	since     time.Time
	pod       corev1.PodTemplateSpec
	program   *manager
	base      string // of the port that the manifests open
}

// install applies manifests, waits until their pods were let in and are ready, and runs the program.
func install(t *testing.T, plane *testplane.Plane, kind string, from source) *installed {
	t.Helper()
	in := &installed{plane: plane, client: clientOf(t, plane), namespace: from.namespace, since: time.Now()}
	restricted(t, plane, from.namespace)
	plane.Kubectl(t, append([]string{"apply"}, from.apply...)...)
	t.Cleanup(func() { in.uninstall(t, from) })
	var workload struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := json.Unmarshal([]byte(plane.Kubectl(t, "-n", in.namespace, "get", kind, "loopscope", "-o", "json")), &workload); err != nil {
		t.Fatal(err)
	}
	in.pod = workload.Spec.Template
	in.start(t)
	plane.Kubectl(t, "-n", in.namespace, "rollout", "status", kind+"/loopscope", "--timeout=100s")
	return in
}

func (in *installed) uninstall(t *testing.T, from source) {
	if in.program != nil {
		if err := in.program.stop(30 * time.Second); err != nil {
			t.Errorf("it ends with %v", err)
		}
	}
	if _, err := in.plane.TryKubectl(context.Background(), "", append([]string{"delete", "--ignore-not-found", "--timeout=60s"}, from.apply...)...); err != nil {
		t.Error(err)
	}
}

// start runs the program with the flags of the manifests; only what belongs to the pod is replaced.
func (in *installed) start(t *testing.T) {
	t.Helper()
	host, port, _ := strings.Cut(freeAddress(t), ":")
	in.base = "https://" + host + ":" + port
	c := in.pod.Spec.Containers[0]
	pod := strings.NewReplacer("--secure-port=10257", "--secure-port="+port, "/var/lib/loopscope", t.TempDir(), "$(POD_NAMESPACE)", in.namespace)
	kubeconfig := in.kubeconfig(t)
	args := []string{"--bind-address=" + host, "--listen=127.0.0.1:0", "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig}
	for i, arg := range c.Args {
		if args = append(args, pod.Replace(arg)); i == 0 { // The command comes first.
			args = append(args[len(args)-1:], args[:len(args)-1]...)
		}
	}
	args = append(args, "--console-auth=none")
	in.program = startConsole(t, exec.Command(testplane.Loopscope(t), args...), "KUBECONFIG="+kubeconfig)
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		testplane.Until(t, time.Minute, "probe of "+probe.HTTPGet.Path, func() error {
			if status, body := (somebody{name: "the kubelet"}).ask(t, http.MethodGet, in.base+probe.HTTPGet.Path); status != http.StatusOK {
				return errors.New(body)
			}
			return nil
		})
	}
}

// kubeconfig has the token of the ServiceAccount that the pods have.
func (in *installed) kubeconfig(t *testing.T) string {
	t.Helper()
	token := tokenOf(t, in.client, in.namespace, in.pod.Spec.ServiceAccountName)
	config := in.plane.Config(t)
	return writeKubeconfig(t, &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData}, &clientcmdapi.AuthInfo{Token: token})
}

func tokenOf(t *testing.T, client kubernetes.Interface, namespace, account string) string {
	t.Helper()
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// rollOut takes a Deployment of this namespace through everything that takes a right of its own:
// a rollout, sizes, going back, adoption, a quota that is met and raised, and its end. One more is
// left behind, whose image does not exist.
func (in *installed) rollOut(t *testing.T, namespace string) {
	t.Helper()
	create(t, in.client, namespace, oneByOne("web", 3, 0))
	waitSettled(t, in.client, namespace, "web")
	setImage(t, in.client, namespace, "web", "shop:v2")
	waitSettled(t, in.client, namespace, "web")
	kubectl := func(args ...string) { t.Helper(); in.plane.Kubectl(t, append([]string{"-n", namespace}, args...)...) }
	kubectl("scale", "deployment/web", "--replicas=5")
	waitSettled(t, in.client, namespace, "web")
	kubectl("rollout", "undo", "deployment/web")
	waitSettled(t, in.client, namespace, "web")
	kubectl("delete", "deployment/web", "--cascade=orphan")
	create(t, in.client, namespace, oneByOne("web", 3, 0))
	waitSettled(t, in.client, namespace, "web")
	kubectl("create", "quota", "few", "--hard=pods=4")
	kubectl("scale", "deployment/web", "--replicas=6")
	kubectl("wait", "deployment/web", "--for=condition=ReplicaFailure", "--timeout=60s")
	kubectl("patch", "quota/few", "--patch", `{"spec":{"hard":{"pods":"40"}}}`)
	waitSettled(t, in.client, namespace, "web")
	kubectl("delete", "deployment/web")
	waitGone(t, in.client, namespace, "web")
	create(t, in.client, namespace, oneByOne("web", 3, 0))
	waitSettled(t, in.client, namespace, "web")
	setImage(t, in.client, namespace, "web", "shop:404")
	waitFor(t, in.client, namespace, "web", "a pod without its image", updated(1))
}

// reader is a ServiceAccount with a role of the manifests.
func (in *installed) reader(t *testing.T, namespace, name, role string) somebody {
	t.Helper()
	in.plane.Kubectl(t, "-n", namespace, "create", "serviceaccount", name)
	in.plane.Kubectl(t, "create", "clusterrolebinding", namespace+"-"+name, "--clusterrole="+role, "--serviceaccount="+namespace+":"+name)
	return somebody{name: name, token: tokenOf(t, in.client, namespace, name)}
}

// reads waits until the console shows a Deployment to whom it is to be shown.
func (in *installed) reads(t *testing.T, namespace string) {
	t.Helper()
	viewer := in.reader(t, namespace, "viewer", "loopscope-viewer")
	in.plane.Kubectl(t, "-n", namespace, "create", "rolebinding", "viewer-views", "--clusterrole=view", "--serviceaccount="+namespace+":viewer")
	testplane.Until(t, time.Minute, "the page of "+namespace+"/web", func() error {
		if status, body := viewer.ask(t, http.MethodGet, in.base+"/deployments/"+namespace+"/web"); status != http.StatusOK || !strings.Contains(body, "web") {
			return fmt.Errorf("%d: %.300s", status, body)
		}
		return nil
	})
	in.reader(t, namespace, "scraper", "loopscope-metrics-reader").wants(t, http.StatusOK, http.MethodGet, in.base+"/metrics")
	somebody{name: "nobody"}.wants(t, http.StatusForbidden, http.MethodGet, in.base+"/metrics")
}

// wrote is what the ServiceAccount of the manifests has written, reviews of its readers aside. It
// fails for every request that was refused for want of a right.
func (in *installed) wrote(t *testing.T) (writes []request) {
	t.Helper()
	asked := 0
	for _, r := range readAudit(t, in.plane.AuditPath) {
		if r.User.Username != "system:serviceaccount:"+in.namespace+":loopscope" || r.RequestReceivedTimestamp.Before(in.since) {
			continue
		}
		if asked++; r.unauthorized() {
			t.Errorf("it may not %s %s: %d", r.Verb, r.RequestURI, r.ResponseStatus.Code)
		}
		if r.write() && r.taken() && r.ObjectRef.Resource != "tokenreviews" && r.ObjectRef.Resource != "subjectaccessreviews" {
			writes = append(writes, r)
		}
	}
	t.Logf("%d requests, %d of them writes", asked, len(writes))
	if said := in.program.said(); asked == 0 || strings.Contains(said, "forbidden: User") {
		t.Errorf("after %d requests its log is\n%s", asked, said)
	}
	return writes
}

// TestInstalledShadow: read-only manifests beside the loops of Kubernetes, with kustomize and with
// the chart. Pod Security is enforced as it may be on a cluster.
func TestInstalledShadow(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "upstream", Audit: true})
	ports := kubelet{}
	startKubelet(t, clientOf(t, plane), "console-node", ports)
	for _, node := range strings.Fields(plane.Kubectl(t, "get", "nodes", "-o", "name")) {
		if node != "node/console-node" { // Nobody forwards ports to pods of the others.
			plane.Kubectl(t, "cordon", node)
		}
	}
	for name, from := range sources(t, "shadow") {
		t.Run(name, func(t *testing.T) {
			in := install(t, plane, "deployment", from)
			in.opens(t, ports)
			namespace := newNamespace(t, in.client, "shadowed")
			in.rollOut(t, namespace)
			in.reads(t, namespace)
			for _, r := range in.wrote(t) {
				t.Errorf("it wrote: %s %s", r.Verb, r.RequestURI)
			}
		})
	}
	for name, from := range sources(t, "namespaced") {
		t.Run("namespaced "+name, func(t *testing.T) {
			install(t, plane, "deployment", from).alone(t)
		})
	}
}

// alone: it shows its own namespace, knows of no other, and has no door for others.
func (in *installed) alone(t *testing.T) {
	other := newNamespace(t, in.client, "others")
	create(t, in.client, other, oneByOne("elsewhere", 1, 0))
	waitSettled(t, in.client, other, "elsewhere")
	in.plane.Kubectl(t, "label", "namespace", in.namespace, "pod-security.kubernetes.io/enforce-") // The pods of the rollout are of no interest to it.
	in.rollOut(t, in.namespace)
	testplane.Until(t, time.Minute, "the page of its namespace", func() error {
		page, err := in.program.page("/deployments", "text/html")
		if err == nil && !strings.Contains(page, "web") {
			err = fmt.Errorf("%.300s", page)
		}
		if strings.Contains(page, "elsewhere") {
			t.Fatal("it shows another namespace")
		}
		return err
	})
	for _, r := range in.wrote(t) {
		t.Errorf("it wrote: %s %s", r.Verb, r.RequestURI)
	}
	// Whom it would have to ask, it may not: as with any component, that is an error.
	somebody{name: "nobody"}.wants(t, http.StatusInternalServerError, http.MethodGet, in.base+"/deployments")
	in.plane.Kubectl(t, "-n", in.namespace, "delete", "deployment/web", "quota/few")
}

// TestInstalledManager: manifests with which the loops run here, and nowhere else.
func TestInstalledManager(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Audit: true})
	for name, from := range sources(t, "manager") {
		t.Run(name, func(t *testing.T) {
			in := install(t, plane, "statefulset", from)
			namespace := newNamespace(t, in.client, "managed")
			in.rollOut(t, namespace)
			plane.KubectlInput(t, replicationController(namespace), "create", "-f", "-")
			plane.Kubectl(t, "-n", namespace, "wait", "rc/old", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=60s")
			plane.Kubectl(t, "-n", namespace, "annotate", "rc/old", `rollingupdate.loopscope.dev/request={"version":1,"image":"shop:v2","updatePeriod":"0s"}`)
			plane.Kubectl(t, "-n", namespace, "wait", "rc/old", `--for=jsonpath={.metadata.annotations.rollingupdate\.loopscope\.dev/result}`, "--timeout=60s")
			in.reads(t, namespace)
			if writes := in.wrote(t); len(of(writes, inNamespace(namespace))) < 20 {
				t.Errorf("it wrote %d times: %s", len(writes), tabulate(writes))
			}
			if holder := plane.Kubectl(t, "-n", "kube-system", "get", "lease/loopscope-manager", "-o", "jsonpath={.spec.holderIdentity}"); holder == "" {
				t.Error("nobody holds the Lease")
			}
		})
	}
}

// restricted makes a namespace in which Pod Security enforces its strictest standard.
func restricted(t *testing.T, plane *testplane.Plane, namespace string) {
	t.Helper()
	plane.KubectlInput(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`, namespace), "apply", "-f", "-")
	client := clientOf(t, plane)
	testplane.Until(t, time.Minute, "service account of "+namespace, func() error {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
}

// source is what kubectl apply takes, and where it puts it.
type source struct {
	namespace string
	apply     []string
}

// sources are a mode as kustomize builds it and as Helm renders it: charttest compares its goldens.
func sources(t *testing.T, mode string) map[string]source {
	t.Helper()
	overlay, namespace := filepath.Join(deployDir, "kustomize", "overlays", mode), "loopscope"
	if mode == "namespaced" {
		overlay, namespace = inTeam(t, overlay), "loopscope-team"
	}
	return map[string]source{
		"kustomize": {namespace, []string{"-k", overlay}},
		"chart":     {"loopscope", []string{"-f", filepath.Join(deployDir, "charttest", "testdata", mode+".yaml")}},
	}
}

// inTeam is a kustomization of a user's own.
func inTeam(t *testing.T, overlay string) string {
	t.Helper()
	dir := t.TempDir()
	path, err := filepath.Abs(overlay)
	if err == nil {
		path, err = filepath.Rel(dir, path)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("namespace: loopscope-team\nresources: ["+path+"]\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
