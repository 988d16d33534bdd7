package main

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// devAndProd is a kubeconfig of two clusters. Its current context is that of dev, which has a console.
func devAndProd(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `apiVersion: v1
kind: Config
current-context: in-dev
clusters:
- {name: dev, cluster: {server: "https://dev.example:6443", extensions: [{name: loopscope.dev/console, extension: "http://127.0.0.1:2"}]}}
- {name: prod, cluster: {server: "https://prod.example"}}
contexts:
- {name: in-dev, context: {cluster: dev, user: u}}
- {name: in-prod, context: {cluster: prod, user: u}}
users: [{name: u, user: {token: t}}]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The manager goes by the name of the cluster that its flags lead to, writes the history of that one, and
// commands with the same flags look for the same names, and for no console of the context's cluster.
func TestTheClusterThatIsMeant(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	const devs = "http://127.0.0.1:2"
	for _, c := range []struct{ args, cluster, history, console string }{
		{"", "dev", "dev.db", devs},
		{"--context=in-prod", "prod", "prod.db", usualServer},
		{"--cluster=prod", "prod", "prod.db", usualServer},
		{"--context=in-prod --cluster=dev", "dev", "dev.db", devs},
		{"--server=https://prod:6443", "prod:6443", "prod-6443-213711bd.db", usualServer},
		{"--master=https://prod:6443", "prod:6443", "prod-6443-213711bd.db", usualServer},
		{"--server=https://prod", "prod:443", "prod-443-96b958db.db", usualServer}, // not the cluster of that name
		{"--server=http://prod", "prod:80", "prod-80-ee28d0b2.db", usualServer},
		{"--server=prod:6443", "prod:6443", "prod-6443-213711bd.db", usualServer},
		{"--server=https://[::1]:6443/", "[::1]:6443", "1-6443-9eeb4239.db", usualServer},
		{"--server=https://u:secret@Proxy/k8s/clusters/c-1/?token=secret", "proxy:443/k8s/clusters/c-1", "proxy-443-k8s-clusters-c-1-2b706543.db", usualServer},
		{"--server=https://u:hunter2@%zz", "https://…@%zz", "https-zz-86cedc0d.db", usualServer}, // no address, and no credential
		{"--server=https://DEV.example:6443/", "dev", "dev.db", devs},                            // which the kubeconfig knows
		{"--cluster=prod --server=https://prod.example:443", "prod", "prod.db", usualServer},
		{"--cluster=prod --server=https://dev.example:6443", "dev.example:6443", "dev-example-6443-63642701.db", usualServer},
	} {
		t.Run(c.args, func(t *testing.T) {
			o := newManagerOptions()
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			for _, section := range o.sections().FlagSets {
				flags.AddFlagSet(section)
			}
			args := append(strings.Fields(c.args), "--kubeconfig="+devAndProd(t))
			if err := flags.Parse(args); err != nil {
				t.Fatal(err)
			}
			config, err := o.Config()
			if err != nil {
				t.Fatal(err)
			}
			cluster := clusterName(config.kubeconfig)
			kept, err := config.history.settings(cluster, slog.New(slog.DiscardHandler))
			if want := filepath.Join(state, "loopscope", c.history); cluster != c.cluster || kept.Path != want || err != nil {
				t.Errorf("the manager writes of the cluster %q to %s, want %q, %s: %v", cluster, kept.Path, c.cluster, want, err)
			}
			reader := consoleFlags{kubeconfig: genericclioptions.NewConfigFlags(true)}
			flags = pflag.NewFlagSet("", pflag.ContinueOnError)
			reader.kubeconfig.AddFlags(flags)
			if server, is := strings.CutPrefix(args[0], "--master="); is { // Commands have the usual flag alone.
				args[0] = "--server=" + server
			}
			if err := flags.Parse(args); err != nil {
				t.Fatal(err)
			}
			if got, want := reader.find(t.Context(), ""), (found{server: c.console, cluster: c.cluster}); got != want {
				t.Errorf("commands ask %+v, want %+v", got, want)
			}
		})
	}
}

// What the API server of another address decided is not read from the history of the context's cluster.
func TestThePastOfAnotherAPIServer(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	if err := os.Mkdir(filepath.Join(state, "loopscope"), 0o700); err != nil {
		t.Fatal(err)
	}
	copyFile(t, nightly(t), filepath.Join(state, "loopscope", "first.db"))
	ask := func(args ...string) (string, error) {
		return run(t, append([]string{"explain", "deployment/web", "-n", "shop", "--at", night.Add(3 * time.Minute).Format(time.RFC3339), "--kubeconfig", contexts(t, "http://127.0.0.1:1")}, args...)...)
	}
	if _, err := ask(); err != nil {
		t.Error(err)
	}
	for flag, want := range map[string]string{"--server=http://127.0.0.1:9": `no manager of the cluster "127.0.0.1:9" runs`, "--cluster=second": `no manager of the cluster "second" runs`} {
		if out, err := ask(flag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s", flag, err, out)
		}
	}
}

// A manager says of which cluster it is, and leaves nothing under the name of another one.
func TestManagerOfAnotherCluster(t *testing.T) {
	url, _ := managed(t, "--cluster=second")
	if about := fetch(t, http.MethodGet, url+"/about.json", "", ""); !strings.Contains(about, `"cluster": "second"`) {
		t.Errorf("the console says: %.200s", about)
	}
	files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "loopscope", "*"))
	if err != nil || len(files) == 0 || slices.ContainsFunc(files, func(path string) bool { return !strings.HasPrefix(filepath.Base(path), "second") }) {
		t.Errorf("it leaves %q, %v", files, err)
	}
}
