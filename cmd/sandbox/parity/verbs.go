package parity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/polymorphichelpers"
	"sigs.k8s.io/yaml"
)

// verb is what a step can do, and how many words it needs.
type verb struct {
	words int
	do    func(*player, context.Context, []string) error
}

var verbs = map[string]verb{
	"create":  {1, (*player).create},
	"patch":   {2, func(p *player, ctx context.Context, words []string) error { return p.patch(ctx, words) }},
	"status":  {2, func(p *player, ctx context.Context, words []string) error { return p.patch(ctx, words, "status") }},
	"scale":   {2, (*player).scale},
	"delete":  {1, (*player).delete},
	"undo":    {1, (*player).undo},
	"restart": {1, (*player).restart},
	"pods":    {3, (*player).somePods},
	"wait":    {2, (*player).wait},
	"expect":  {2, (*player).expect},
	"apply":   {1, (*player).applyObject},
	"show":    {3, (*player).show},
	"refuse":  {1, (*player).refuse},
	"quiet":   {0, func(p *player, ctx context.Context, _ []string) error { return p.quiet(ctx) }},
}

// create makes an object from the manifest of its kind, labelled and selecting
// by its name.
func (p *player) create(ctx context.Context, words []string) error {
	to, err := p.find(ctx, words[0])
	if err != nil {
		return err
	}
	object, err := p.manifest(ctx, to, words[1:])
	if err != nil {
		return err
	}
	_, err = p.resource(to).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// manifest is that of the object's kind with settings.
func (p *player) manifest(ctx context.Context, to target, words []string) (*unstructured.Unstructured, error) {
	manifest, err := manifests.ReadFile("testdata/manifests/" + to.kind + ".yaml")
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(manifest, &object.Object); err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", to.kind, err)
	}
	object.SetName(to.name)
	if to.kind != "quota" && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "app=") }) {
		application(object.Object, to.kind, to.name)
	}
	settings, err := p.resolveOwner(ctx, words)
	if err != nil {
		return nil, err
	}
	return object, apply(object.Object, to.kind, settings)
}

// resolveOwner turns owner=KIND/NAME into a controller's reference with its UID.
func (p *player) resolveOwner(ctx context.Context, settings []string) ([]string, error) {
	settings = slices.Clone(settings)
	for i, word := range settings {
		name, found := strings.CutPrefix(word, "owner=")
		if !found {
			continue
		}
		owner, err := p.get(ctx, name)
		if err != nil {
			return nil, err
		}
		settings[i] = fmt.Sprintf("owners=[{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]",
			owner.GetAPIVersion(), owner.GetKind(), owner.GetName(), owner.GetUID())
	}
	return settings, nil
}

func (p *player) patch(ctx context.Context, words []string, subresource ...string) error {
	to, err := p.find(ctx, words[0])
	if err != nil {
		return err
	}
	settings, err := p.resolveOwner(ctx, words[1:])
	if err != nil {
		return err
	}
	return p.send(ctx, to, settings, subresource...)
}

func (p *player) send(ctx context.Context, to target, settings []string, subresource ...string) error {
	change := map[string]any{}
	if err := apply(change, to.kind, settings); err != nil {
		return err
	}
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = p.resource(to).Patch(ctx, to.name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, subresource...)
	return err
}

func (p *player) scale(ctx context.Context, words []string) error {
	to, err := p.find(ctx, words[0])
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil {
		return err
	}
	data := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n) // the type leaves 0 out
	_, err = p.resource(to).Patch(ctx, to.name, types.MergePatchType, data, metav1.PatchOptions{}, "scale")
	return err
}

func (p *player) delete(ctx context.Context, words []string) error {
	policy := metav1.DeletePropagationBackground
	if len(words) > 1 {
		known := map[string]metav1.DeletionPropagation{"orphan": metav1.DeletePropagationOrphan, "foreground": metav1.DeletePropagationForeground}
		if policy = known[words[1]]; policy == "" {
			return fmt.Errorf("no way to delete: %q", words[1])
		}
	}
	if words[0] == "namespace" {
		if err := p.until(ctx, func() (string, error) { return p.plane.unheard(p.namespace), nil }); err != nil {
			return err
		}
		return p.plane.client.CoreV1().Namespaces().Delete(ctx, p.namespace, metav1.DeleteOptions{})
	}
	to, err := p.find(ctx, words[0])
	if err != nil {
		return err
	}
	return p.resource(to).Delete(ctx, to.name, metav1.DeleteOptions{PropagationPolicy: &policy})
}

// undo is kubectl rollout undo, by kubectl's own code.
func (p *player) undo(ctx context.Context, words []string) error {
	object, err := p.get(ctx, words[0])
	if err != nil {
		return err
	}
	var revision int64
	if len(words) > 1 {
		if revision, err = strconv.ParseInt(words[1], 10, 64); err != nil {
			return err
		}
	}
	back, err := polymorphichelpers.RollbackerFor(schema.GroupKind{Group: "apps", Kind: "Deployment"}, p.plane.client)
	if err != nil {
		return err
	}
	_, err = back.Rollback(object, nil, revision, cmdutil.DryRunNone)
	return err
}

func (p *player) restart(ctx context.Context, words []string) error {
	return p.patch(ctx, append(words[:1:1], "template-annotation:kubectl.kubernetes.io/restartedAt=2026-01-02T03:04:05Z"))
}

// somePods does the same to the first N pods of a label selector or an owner,
// oldest first.
func (p *player) somePods(ctx context.Context, words []string) error {
	pods, err := p.podsOf(ctx, words[0])
	if err != nil {
		return err
	}
	n := len(pods)
	if words[1] != "all" {
		if n, err = strconv.Atoi(words[1]); err != nil || n > len(pods) {
			return fmt.Errorf("%s pods: there are %d", words[1], len(pods))
		}
	}
	for _, pod := range pods[:n] {
		if err := p.onePod(ctx, pod.Name, words[2], words[3:]); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) onePod(ctx context.Context, name, do string, settings []string) error {
	to := target{kind: "pod", name: name}
	switch do {
	case "patch":
		return p.send(ctx, to, settings)
	case "status":
		return p.send(ctx, to, settings, "status")
	case "delete":
		err := p.resource(to).Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil // a loop was first
		}
		return err
	}
	return fmt.Errorf("pods cannot be told to %q", do)
}

func (p *player) podsOf(ctx context.Context, selector string) ([]corev1.Pod, error) {
	options := metav1.ListOptions{LabelSelector: selector}
	var owner *unstructured.Unstructured
	if strings.Contains(selector, "/") {
		found, err := p.get(ctx, selector)
		if err != nil {
			return nil, err
		}
		owner, options.LabelSelector = found, ""
	}
	list, err := p.plane.client.CoreV1().Pods(p.namespace).List(ctx, options)
	if err != nil {
		return nil, err
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return owner != nil && !metav1.IsControlledBy(&pod, owner) || pod.DeletionTimestamp != nil
	})
	slices.SortStableFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return pods, nil
}

func (p *player) wait(ctx context.Context, words []string) error {
	return p.until(ctx, func() (string, error) { return p.unmet(ctx, words) })
}

func (p *player) expect(ctx context.Context, words []string) error {
	what, err := p.unmet(ctx, words)
	if err == nil && what != "" {
		err = errors.New(what)
	}
	return err
}

func (p *player) unmet(ctx context.Context, words []string) (string, error) {
	object, err := p.get(ctx, words[0])
	if apierrors.IsNotFound(err) || errors.Is(err, errNoRevision) {
		object, err = nil, nil
	}
	if err != nil {
		return "", err
	}
	return unmet(object, words[1:])
}
