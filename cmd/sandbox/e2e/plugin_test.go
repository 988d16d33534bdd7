package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestPlugin is a person with rights in one namespace, beside the loops of a cluster: `kubectl
// loopscope` shows what that person may see, opens it in the browser, writes nothing, is found
// by the next call, and answers why.
func TestPlugin(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "upstream", Nodes: 1, Audit: true})
	client := clientOf(t, plane)
	mine, others := newNamespace(t, client, "mine"), newNamespace(t, client, "others")
	for _, namespace := range []string{mine, others} {
		plane.Kubectl(t, "-n", namespace, "create", "deployment", "web", "--image=shop:v1")
	}
	_, err := client.RbacV1().RoleBindings(mine).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reads"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mona"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := asUser(t, plane.Kubeconfig, "mona", mine)
	bin, state := t.TempDir(), t.TempDir()
	plugin := pluginIn(t, bin)
	opened := filepath.Join(state, "opened")
	browser := "#!/bin/sh\necho \"$@\" >> " + opened + "\n"
	for _, name := range []string{"xdg-open", "x-www-browser", "www-browser"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(browser), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	environment := []string{"KUBECONFIG=" + kubeconfig, "XDG_STATE_HOME=" + state, "PATH=" + bin + ":" + os.Getenv("PATH")}
	console := startConsole(t, exec.Command(plugin, "--listen=127.0.0.1:0"), environment...)
	testplane.Until(t, time.Minute, "the browser", func() error {
		page, err := os.ReadFile(opened)
		if err != nil {
			return err
		}
		file := strings.TrimPrefix(strings.TrimSpace(string(page)), "file://")
		text, err := os.ReadFile(file) // The list of processes has its name alone, and not the token.
		if err == nil && !strings.Contains(string(text), console.Dashboard) {
			t.Errorf("opened %s, want %s", text, console.Dashboard)
		}
		if info, err := os.Stat(file); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("others may read it: %s", info.Mode())
		}
		return err
	})
	if said := console.said(); !strings.Contains(said, "only the namespace "+mine+" is observed") {
		t.Errorf("it says nothing of what is left out:\n%s", said)
	}
	base, token, _ := strings.Cut(console.Dashboard, "/?")
	testplane.Until(t, settleLimit, "the page of the Deployment", func() error {
		return statusOf(base+"/deployments/"+mine+"/web.json?"+token, http.StatusOK)
	})
	if err := statusOf(base+"/deployments/"+others+"/web.json?"+token, http.StatusNotFound); err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	call := func(args ...string) string {
		cmd := exec.CommandContext(ctx, plugin, args...)
		cmd.Env = append(os.Environ(), environment...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", cmd, err)
		}
		return string(out)
	}
	if out := call(); out != "dashboard: "+console.Dashboard+"\n" {
		t.Errorf("the second call says %s", out)
	}
	if out := call("why", "deployment/web"); !strings.HasPrefix(out, mine+"/web ") {
		t.Errorf("why says %s", out)
	}
	for _, r := range of(readAudit(t, plane.AuditPath), func(r *request) bool { return r.ours() && r.write() }) {
		if r.ObjectRef.Resource != "selfsubjectaccessreviews" {
			t.Errorf("it has sent %s %s", r.Verb, r.RequestURI)
		}
	}
	if err := console.stop(20 * time.Second); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// asUser is a kubeconfig of somebody else, with a namespace.
func asUser(t *testing.T, kubeconfig, user, namespace string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := config.Contexts[config.CurrentContext]
	current.Namespace = namespace
	config.AuthInfos[current.AuthInfo].Impersonate = user
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// statusOf asks for a page.
func statusOf(url string, want int) error {
	reply, err := http.Get(url)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	var said json.RawMessage
	_ = json.NewDecoder(reply.Body).Decode(&said) // It is told where the status is another one.
	if reply.StatusCode != want {
		return fmt.Errorf("%s: %s: %s", url, reply.Status, said)
	}
	return nil
}

// pluginIn is the program in a directory under the name by which kubectl finds it.
func pluginIn(t *testing.T, dir string) string {
	t.Helper()
	plugin := filepath.Join(dir, "kubectl-loopscope")
	if err := os.Symlink(testplane.Loopscope(t), plugin); err != nil {
		t.Fatal(err)
	}
	return plugin
}
