package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// createCase is one input that both programs are given, each in a namespace of its own.
type createCase struct {
	name string
	// files are written below DIR, in stands on standard input. NS is the namespace.
	files map[string]string
	in    string
	args  string // DIR and URL are replaced
	// there is created before, by kubectl.
	there string
	// adds are lines of standard error that loopscope alone prints.
	adds []string
	// unlike says why what is printed is otherwise altogether; ours is then what loopscope's
	// standard error has to contain. Objects and whether it fails are the same even so.
	unlike, ours string
	// nowhere is set where no namespace is given.
	nowhere bool
	// apart is set where loopscope refuses what kubectl does.
	apart bool
	fails bool
}

func configMap(name string, more ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" + strings.Join(more, "")
}

const (
	hintExists    = "To change what is there, use `loopscope apply`."
	hintNamespace = "Create the namespace first, or choose another one with --namespace."
	deploymentOf  = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:1.27"}]}
`
	widget = "apiVersion: shop.example.com/v1\nkind: Widget\nmetadata: {name: cog}\nspec: {teeth: 12}\n"
)

var one = map[string]string{"a.yaml": configMap("a")}

func createCases() []createCase {
	big := strings.Builder{}
	for i := range 12 {
		fmt.Fprintf(&big, "---\n%sdata:\n  text: %s\n", configMap(fmt.Sprintf("big-%d", i)), strings.Repeat("abcdefghij", 43_000))
	}
	tree := map[string]string{"t/a.yaml": configMap("a"), "t/b.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`, "t/c.yml": configMap("c"),
		"t/notes.txt": "not a manifest", "t/deep/d.yaml": configMap("d"), "t/deep/er/e.yaml": configMap("e"), "t/.hidden.yaml": configMap("hidden")}
	unknown := map[string]string{"a.yaml": configMap("a", "dat: {k: v}\n")}
	twice := map[string]string{"a.yaml": configMap("a", "data: {k: v}\ndata: {k: w}\n")}
	return []createCase{
		{name: "one object", files: one, args: "-f DIR/a.yaml"},
		{name: "json", files: map[string]string{"a.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`}, args: "-f DIR/a.json"},
		{name: "json without an end of line, two values", files: map[string]string{"a.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`}, args: "-f DIR/a.json"},
		{name: "documents", files: map[string]string{"a.yaml": configMap("a") + "---\n" + configMap("b") + "---\n" + configMap("c")}, args: "-f DIR/a.yaml"},
		{name: "empty documents", files: map[string]string{"a.yaml": "---\n---\n# nothing\n---\n" + configMap("a") + "---\nnull\n---\n"}, args: "-f DIR/a.yaml"},
		{name: "a list", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n"}, args: "-f DIR/a.yaml"},
		{name: "a list of one kind", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMapList\nitems:\n- {metadata: {name: a}}\n"}, args: "-f DIR/a.yaml"},
		{name: "a list in a list", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "an empty list", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems: []\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "a deployment", files: map[string]string{"a.yaml": deploymentOf}, args: "-f DIR/a.yaml"},
		{name: "a deployment, all of it printed", files: map[string]string{"a.yaml": deploymentOf}, args: "-f DIR/a.yaml -o yaml --show-managed-fields"},
		{name: "a custom resource", files: map[string]string{"a.yaml": widget}, args: "-f DIR/a.yaml"},
		{name: "a custom resource that its schema refuses", files: map[string]string{"a.yaml": strings.Replace(widget, "12", "many", 1)}, args: "-f DIR/a.yaml", fails: true},
		{name: "a definition and its resource", files: map[string]string{"a.yaml": definition("NS.example.com", "Gear") + "---\napiVersion: NS.example.com/v1\nkind: Gear\nmetadata: {name: g}\n"}, args: "-f DIR/a.yaml"},
		{name: "a namespace and what is in it", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-more}\n---\n" + configMap("a", "  namespace: NS-more\n")}, args: "-f DIR/a.yaml", nowhere: true},
		{name: "no kind", files: map[string]string{"a.yaml": "apiVersion: v1\nmetadata: {name: a}\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "no version", files: map[string]string{"a.yaml": "kind: ConfigMap\nmetadata: {name: a}\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "a kind that nobody knows", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Nothing\nmetadata: {name: a}\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "a group that nobody knows", files: map[string]string{"a.yaml": "apiVersion: no.example.com/v1\nkind: Nothing\nmetadata: {name: a}\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "a kind in lower case", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: configmap\nmetadata: {name: a}\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "a text", files: map[string]string{"a.yaml": "hello\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "a number", files: map[string]string{"a.yaml": "1\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "a sequence", files: map[string]string{"a.yaml": "- a\n- b\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "broken yaml", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: [\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "broken json", files: map[string]string{"a.json": `{"apiVersion":"v1","kind":"ConfigMap",`}, args: "-f DIR/a.json", fails: true},
		{name: "a good document after a broken one", files: map[string]string{"a.yaml": "kind: [\n---\n" + configMap("a")}, args: "-f DIR/a.yaml", fails: true},
		{name: "a good document after a wrong kind", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Nothing\nmetadata: {name: a}\n---\n" + configMap("b")}, args: "-f DIR/a.yaml", fails: true},
		{name: "duplicate keys", files: twice, args: "-f DIR/a.yaml"}, // what reads YAML keeps the last one
		{name: "duplicate keys, warned of", files: twice, args: "-f DIR/a.yaml --validate=warn"},
		{name: "duplicate keys, ignored", files: twice, args: "-f DIR/a.yaml --validate=ignore"},
		{name: "anchors", files: map[string]string{"a.yaml": configMap("a", "data: &d {k: v}\nbinaryData: {}\n") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, labels: &l {x: z}, annotations: *l}\n"}, args: "-f DIR/a.yaml"},
		{name: "merge keys", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {x: z}, annotations: {<<: *l, z: \"1\"}}\n"}, args: "-f DIR/a.yaml"},
		{name: "five megabytes", files: map[string]string{"a.yaml": big.String()}, args: "-f DIR/a.yaml"},
		{name: "an object that is too large", files: map[string]string{"a.yaml": configMap("a", "data:\n  text: "+strings.Repeat("x", 1_100_000)+"\n")}, args: "-f DIR/a.yaml", fails: true},
		{name: "a directory", files: tree, args: "-f DIR/t"},
		{name: "a directory with all below it", files: tree, args: "-R -f DIR/t"},
		{name: "an empty directory", files: map[string]string{"t/notes.txt": ""}, args: "-f DIR/t", fails: true},
		{name: "two files", files: map[string]string{"a.yaml": configMap("a"), "b.yaml": configMap("b")}, args: "-f DIR/b.yaml -f DIR/a.yaml"},
		{name: "two files with a comma", files: map[string]string{"a.yaml": configMap("a"), "b.yaml": configMap("b")}, args: "-f DIR/b.yaml,DIR/a.yaml"},
		{name: "the same file twice", files: one, args: "-f DIR/a.yaml -f DIR/a.yaml", fails: true, adds: []string{hintExists}},
		{name: "a pattern", files: map[string]string{"a.yaml": configMap("a"), "b.yaml": configMap("b")}, args: "-f DIR/*.yaml"},
		{name: "a pattern that matches nothing", files: one, args: "-f DIR/*.nothing", fails: true},
		{name: "standard input", in: configMap("a"), args: "-f -"},
		{name: "standard input, empty", args: "-f -", fails: true},
		{name: "standard input twice", in: configMap("a"), args: "-f - -f -", fails: true},
		{name: "standard input of another kind", in: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, args: "-f - -o name"},
		{name: "an address", args: "-f URL/a.yaml"},
		{name: "an address that is not there", args: "-f URL/none.yaml", fails: true},
		{name: "an address of nobody", args: "-f http://127.0.0.1:1/a.yaml", fails: true},
		{name: "ends of lines as Windows has them", files: map[string]string{"a.yaml": strings.ReplaceAll(configMap("a", "data:\n  k: |\n    v\n    w\n")+"---\n"+configMap("b"), "\n", "\r\n")}, args: "-f DIR/a.yaml"},
		{name: "a byte order mark", files: map[string]string{"a.yaml": "\ufeff" + configMap("a")}, args: "-f DIR/a.yaml"},
		{name: "a byte order mark before json", files: map[string]string{"a.json": "\ufeff" + `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`}, args: "-f DIR/a.json"},
		{name: "a namespace that is not there", files: map[string]string{"a.yaml": configMap("a", "  namespace: nowhere\n")}, args: "-f DIR/a.yaml", nowhere: true, fails: true, adds: []string{hintNamespace}},
		{name: "another namespace than that of the object", files: map[string]string{"a.yaml": configMap("a", "  namespace: nowhere\n")}, args: "-f DIR/a.yaml", fails: true},
		{name: "a namespace of nowhere", files: one, args: "-f DIR/a.yaml --namespace nowhere", fails: true, adds: []string{hintNamespace}},
		{name: "generateName", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: gen-}\n"}, args: "-f DIR/a.yaml"},
		{name: "no name", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "an impossible name", files: map[string]string{"a.yaml": configMap("A_B")}, args: "-f DIR/a.yaml", fails: true},
		{name: "an unknown field", files: unknown, args: "-f DIR/a.yaml", fails: true},
		{name: "an unknown field, true", files: unknown, args: "-f DIR/a.yaml --validate=true", fails: true},
		{name: "an unknown field, warned of", files: unknown, args: "-f DIR/a.yaml --validate=warn"},
		{name: "an unknown field, ignored", files: unknown, args: "-f DIR/a.yaml --validate=ignore"},
		{name: "an unknown field, false", files: unknown, args: "-f DIR/a.yaml --validate=false"},
		{name: "no way to validate", files: one, args: "-f DIR/a.yaml --validate=sometimes", fails: true},
		{name: "a wrong type", files: map[string]string{"a.yaml": strings.Replace(deploymentOf, "replicas: 2", "replicas: two", 1)}, args: "-f DIR/a.yaml", fails: true},
		{name: "an invalid object", files: map[string]string{"a.yaml": strings.Replace(deploymentOf, "matchLabels: {app: web}", "matchLabels: {app: other}", 1)}, args: "-f DIR/a.yaml", fails: true},
		{name: "dry run of the client", files: map[string]string{"a.yaml": deploymentOf}, args: "-f DIR/a.yaml --dry-run=client"},
		{name: "dry run of the client, printed", files: map[string]string{"a.yaml": deploymentOf}, args: "-f DIR/a.yaml --dry-run=client -o yaml"},
		{name: "dry run of the server", files: map[string]string{"a.yaml": deploymentOf}, args: "-f DIR/a.yaml --dry-run=server"},
		{name: "dry run of the server, printed", files: map[string]string{"a.yaml": deploymentOf}, args: "-f DIR/a.yaml --dry-run=server -o json"},
		{name: "dry run of nothing", files: one, args: "-f DIR/a.yaml --dry-run=none"},
		{name: "a dry run without a word", files: one, args: "-f DIR/a.yaml --dry-run", unlike: "our log has another form", ours: "--dry-run is deprecated and can be replaced with --dry-run=client."},
		{name: "a dry run of whom", files: one, args: "-f DIR/a.yaml --dry-run=all", fails: true},
		{name: "names", files: map[string]string{"a.yaml": configMap("a") + "---\n" + deploymentOf}, args: "-f DIR/a.yaml -o name"},
		{name: "printed as json", files: one, args: "-f DIR/a.yaml -o json"},
		{name: "printed as yaml", files: map[string]string{"a.yaml": configMap("a") + "---\n" + configMap("b")}, args: "-f DIR/a.yaml -o yaml"},
		{name: "printed by a template", files: one, args: "-f DIR/a.yaml -o go-template={{.metadata.name}}"},
		{name: "printed by a path", files: one, args: "-f DIR/a.yaml -o jsonpath={.kind}"},
		{name: "printed by a template with a missing key", files: one, args: "-f DIR/a.yaml --allow-missing-template-keys=false -o go-template={{.nothing}}", fails: true},
		{name: "no format", files: one, args: "-f DIR/a.yaml -o xml", fails: true},
		{name: "a table", files: one, args: "-f DIR/a.yaml -o wide", fails: true},
		{name: "a selector", files: map[string]string{"a.yaml": configMap("a", "  labels: {x: z}\n") + "---\n" + configMap("b")}, args: "-f DIR/a.yaml -l x=z"},
		{name: "a selector of nothing", files: one, args: "-f DIR/a.yaml -l x=z", fails: true},
		{name: "a broken selector", files: one, args: "-f DIR/a.yaml -l x=y=z", fails: true},
		{name: "the configuration kept", files: map[string]string{"a.yaml": deploymentOf}, args: "-f DIR/a.yaml --save-config"},
		{name: "another manager", files: one, args: "-f DIR/a.yaml --field-manager=tests -o yaml --show-managed-fields"},
		{name: "already there", there: configMap("a"), files: one, args: "-f DIR/a.yaml", fails: true, adds: []string{hintExists}},
		{name: "some already there", there: configMap("a"), files: map[string]string{"a.yaml": configMap("a") + "---\n" + configMap("b")}, args: "-f DIR/a.yaml", fails: true, adds: []string{hintExists}},
		{name: "no objects", files: map[string]string{"a.yaml": "# nothing\n"}, args: "-f DIR/a.yaml", fails: true},
		{name: "no file", args: "-f DIR/none.yaml", fails: true},
		{name: "a file that may not be read", files: map[string]string{"UNREADABLE": ""}, args: "-f DIR/UNREADABLE", fails: true},
		{name: "a file that may not be read, and one that may", files: map[string]string{"UNREADABLE": "", "a.yaml": configMap("a")}, args: "-f DIR/UNREADABLE -f DIR/a.yaml", fails: true},
		{name: "neither file nor flag", args: "", fails: true, unlike: "the help of kubectl is printed where nothing is asked; we say what is missing", ours: "must specify one of -f and -k"},
		{name: "an argument", args: "deployment web", fails: true, apart: true, unlike: "kubectl makes objects from arguments", ours: "kubectl create deployment web --dry-run=client -o yaml | loopscope create -f -"},
		{name: "an unknown flag", args: "-f x --nothing", fails: true, unlike: "the ways to ask for help have different names", ours: "unknown flag: --nothing"},
		{name: "a kustomization", files: map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: pre-\n", "k/a.yaml": configMap("a")}, args: "-k DIR/k"},
		{name: "a kustomization beside a file", files: one, args: "-k DIR/k -f DIR/a.yaml", fails: true},
		{name: "posted as it is", files: map[string]string{"a.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`}, args: "-f DIR/a.json --raw /api/v1/namespaces/NS/configmaps"},
		{name: "posted from standard input", in: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, args: "-f - --raw /api/v1/namespaces/NS/configmaps"},
		{name: "posted to no path", files: one, args: "-f DIR/a.yaml --raw here", fails: true},
		{name: "posted and edited", files: one, args: "-f DIR/a.yaml --raw /api --edit", fails: true},
		{name: "posted twice", files: one, args: "-f DIR/a.yaml -f DIR/a.yaml --raw /api", fails: true},
		{name: "edited", files: one, args: "-f DIR/a.yaml --edit"},
		{name: "edited as json and kept", files: one, args: "-f DIR/a.yaml --edit -o json --save-config"},
		{name: "why, recorded", files: one, args: "-f DIR/a.yaml --record=true"},
		{name: "letters from everywhere", files: map[string]string{"a.yaml": configMap("a", "data: {k: \"grüße, 世界, \U0001F600\"}\n")}, args: "-f DIR/a.yaml -o yaml"},
	}
}

func definition(group, kind string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.%s}
spec:
  group: %s
  names: {kind: %s, plural: %s}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {teeth: {type: integer}}}}}}
`, plural, group, group, kind, plural)
}

// TestCreateIsKubectls gives the same input to `kubectl create` and to `loopscope create`, and
// compares what both print, how they end, and the objects that they leave.
func TestCreateIsKubectls(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Nodes: 1})
	config := plane.Config(t)
	lab := &createLab{plane: plane, client: clientOf(t, plane), editor: editorOf(t)}
	var err error
	if lab.objects, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a.yaml" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, configMap("a"))
	}))
	t.Cleanup(server.Close)
	lab.url = server.URL
	plane.KubectlInput(t, definition("shop.example.com", "Widget"), "create", "-f", "-")
	plane.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets.shop.example.com", "--timeout=30s")
	cases := createCases()
	if len(cases) < 100 {
		t.Fatalf("only %d cases", len(cases))
	}
	seed := testplane.Number(t, "LOOPSCOPE_E2E_SEED", rand.Uint64N(1_000_000))
	played := rand.New(rand.NewPCG(seed, 0)).Perm(len(cases))
	played = played[:min(testplane.Number(t, "LOOPSCOPE_E2E_CREATES", 15), uint64(len(cases)))]
	t.Logf("%d of %d cases, seed %d", len(played), len(cases), seed)
	t.Run("cases", func(t *testing.T) {
		for _, i := range played {
			c := cases[i]
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				lab.compare(t, i, c)
			})
		}
	})
}

type createLab struct {
	plane       *testplane.Plane
	client      kubernetes.Interface
	objects     dynamic.Interface
	url, editor string
}

// editorOf is an editor that adds a label to what it is given.
func editorOf(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "editor")
	script := "#!/bin/sh\nsed -i -e 's/^  name: a$/&\\n  labels: {edited: \"yes\"}/' -e 's/\"name\": \"a\"/&, \"labels\": {\"edited\": \"yes\"}/' \"$1\"\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// ending is what one program printed, how it ended and what it left.
type ending struct {
	Out, Err string
	Code     int
	Objects  []string
}

func (l *createLab) compare(t *testing.T, i int, c createCase) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(l.editor), "case-") // No case's name has a comma in it there.
	if err != nil {
		t.Fatal(err)
	}
	var both [2]ending
	for k, program := range [...]string{"kubectl", "loopscope"} {
		both[k] = l.run(t, c, program, fmt.Sprintf("make-%03d-%d", i, k), filepath.Join(dir, program))
	}
	kubectl, ours := both[0], both[1]
	if (ours.Code != 0) != c.fails {
		t.Errorf("ended with %d: %s", ours.Code, ours.Err)
	}
	for _, line := range c.adds {
		if !strings.HasSuffix(ours.Err, line+"\n") {
			t.Errorf("standard error does not end with %q: %s", line, ours.Err)
		}
		ours.Err = strings.TrimSuffix(ours.Err, line+"\n")
	}
	if c.unlike != "" {
		if !strings.Contains(ours.Err, c.ours) {
			t.Errorf("standard error does not say %q: %s", c.ours, ours.Err)
		}
		kubectl.Out, kubectl.Err, ours.Out, ours.Err = "", "", "", ""
	}
	if c.apart {
		kubectl.Code, kubectl.Objects = ours.Code, ours.Objects
	}
	if diff := cmp.Diff(kubectl, ours); diff != "" {
		t.Errorf("kubectl (-) and loopscope (+):\n%s", diff)
	}
}

// run prepares a namespace and the files, runs a program and looks at what it did.
func (l *createLab) run(t *testing.T, c createCase, program, namespace, dir string) ending {
	t.Helper()
	if _, err := l.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if c.there != "" {
		l.plane.KubectlInput(t, c.there, "create", "-n", namespace, "-f", "-")
	}
	replace := strings.NewReplacer("DIR", dir, "URL", l.url, "NS", namespace)
	for name, text := range c.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(replace.Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "UNREADABLE" { // A superuser may read any file, and nobody a link to itself.
			if err := errors.Join(os.Remove(path), os.Symlink(path, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	args := []string{"create"}
	if !c.nowhere {
		args = append(args, "--namespace", namespace)
	}
	for _, a := range strings.Fields(c.args) {
		args = append(args, replace.Replace(a))
	}
	e := l.start(t, program, replace.Replace(c.in), args)
	clean := strings.NewReplacer(dir, "DIR", namespace, "NS", "kubectl-create", "PROGRAM-create", "loopscope-create", "PROGRAM-create", "kubectl create --", "PROGRAM create --", "loopscope create --", "PROGRAM create --")
	e.Out, e.Err = passing.Replace(clean.Replace(e.Out)), passing.Replace(clean.Replace(e.Err))
	for _, o := range l.left(t, namespace) {
		if o = passing.Replace(clean.Replace(o)); len(o) > 10_000 {
			o = fmt.Sprintf("%d bytes, %x", len(o), sha256.Sum256([]byte(o)))
		}
		e.Objects = append(e.Objects, o)
	}
	slices.Sort(e.Objects)
	return e
}

func (l *createLab) start(t *testing.T, program, in string, args []string) ending {
	t.Helper()
	binary := testplane.Loopscope(t)
	if program == "kubectl" {
		binary, args = l.plane.Binary, append([]string{"kubectl"}, args...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+l.plane.Kubeconfig, "KUBECACHEDIR="+filepath.Dir(l.editor), "KUBERC=off", "EDITOR="+l.editor, "KUBE_EDITOR="+l.editor)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &errOut
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return ending{Out: out.String(), Err: errOut.String(), Code: cmd.ProcessState.ExitCode()}
}

// replacements are of what no two runs have in common.
type replacements []struct {
	what *regexp.Regexp
	by   string
}

func (r replacements) Replace(s string) string {
	for _, x := range r {
		s = x.what.ReplaceAllString(s, x.by)
	}
	return s
}

var passing = replacements{
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`("?resourceVersion"?: ?"?)\d+`), `${1}RV`},
	{regexp.MustCompile(`\bgen-[a-z0-9]{5}\b`), "gen-RANDOM"},
	{regexp.MustCompile(`kubectl-edit-\d+|/[^ "]*-edit-\d+[^ "]*`), "EDITED"},
}

// kinds are of the objects that cases create.
var createdKinds = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, {Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "shop.example.com", Version: "v1", Resource: "widgets"},
}

// left are the objects of a namespace, and of the one that a case adds to it.
func (l *createLab) left(t *testing.T, namespace string) []string {
	t.Helper()
	var list []string
	for _, kind := range createdKinds {
		for _, ns := range []string{namespace, namespace + "-more"} {
			found, err := l.objects.Resource(kind).Namespace(ns).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range found.Items {
				if o := &found.Items[i]; o.GetName() != "kube-root-ca.crt" {
					list = append(list, textOf(t, o))
				}
			}
		}
	}
	return list
}

func textOf(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
