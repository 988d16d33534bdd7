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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// fieldManager is who applies objects in scripts.
const fieldManager = "script"

// Stage is a namespace in which somebody else plays steps, one by one, and
// looks in between. It understands some verbs more than scenarios need:
//
//	apply YAML                  server-side, of any kind; what was applied before and is left out goes
//	show SELECTOR N WORD...     until N pods have all the words; see wordsOf. =N: and there is no other pod
//	refuse OBJECT               until the API server would not take such an object
type Stage struct{ *player }

// Enter creates a namespace of that name and waits until pods can be created in it.
func (p *Plane) Enter(ctx context.Context, namespace string) (*Stage, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	name, err := p.newNamespace(ctx, metav1.ObjectMeta{Name: namespace})
	if err != nil {
		return nil, fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	return &Stage{&player{plane: p, namespace: name}}, nil
}

// Do plays one step.
func (s *Stage) Do(ctx context.Context, step Step) error {
	if err := s.step(ctx, step); err != nil {
		return fmt.Errorf("%s: %q: %w", s.namespace, step.Line, err)
	}
	return nil
}

// Waits reports whether a step changes nothing and waits for something.
func (step Step) Waits() bool { return step.Verb == "wait" || step.Verb == "show" }

// Unmet says what of a step that waits does not hold now; "" if all does.
func (s *Stage) Unmet(ctx context.Context, step Step) (string, error) {
	if step.Verb == "show" {
		return s.unshown(ctx, step.Words)
	}
	return s.unmet(ctx, step.Words)
}

// Object reads KIND/NAME of the namespace.
func (s *Stage) Object(ctx context.Context, word string) (*unstructured.Unstructured, error) {
	return s.get(ctx, word)
}

// applyObject reads one object in YAML and applies it, in the namespace where
// its kind lives in one.
func (p *player) applyObject(ctx context.Context, words []string) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.Join(words, " ")), &object.Object); err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(p.plane.client.Discovery())
	if err != nil {
		return err
	}
	kind := object.GroupVersionKind()
	mapping, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = p.plane.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == "namespace" {
		resource = p.plane.dynamic.Resource(mapping.Resource).Namespace(p.namespace)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = resource.Patch(ctx, object.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: fieldManager, Force: new(true)})
	return err
}

// refuse tries until it is refused, as what refuses is heard of by and by.
func (p *player) refuse(ctx context.Context, words []string) error {
	to, err := p.find(ctx, words[0])
	if err != nil {
		return err
	}
	object, err := p.manifest(ctx, to, words[1:])
	if err != nil {
		return err
	}
	return p.until(ctx, func() (string, error) {
		_, err := p.resource(to).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			return "it is taken", nil
		case errors.As(err, new(apierrors.APIStatus)):
			return "", nil
		}
		return "", err
	})
}

func (p *player) show(ctx context.Context, words []string) error {
	return p.until(ctx, func() (string, error) { return p.unshown(ctx, words) })
}

// unshown counts the pods that have all the words.
func (p *player) unshown(ctx context.Context, words []string) (string, error) {
	number, alone := strings.CutPrefix(words[1], "=")
	want, err := strconv.Atoi(number)
	if err != nil {
		return "", err
	}
	list, err := p.plane.client.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: words[0]})
	if err != nil {
		return "", err
	}
	have, others := 0, []string{}
	for i := range list.Items {
		shown := wordsOf(&list.Items[i])
		if !slices.ContainsFunc(words[2:], func(w string) bool { return !slices.Contains(shown, w) }) {
			have++
		} else {
			others = append(others, strings.Join(shown, " "))
		}
	}
	if have < want || alone && have+len(others) > want {
		return fmt.Sprintf("%d of %d pods show %s, others %q", have, want, strings.Join(words[2:], " "), others), nil
	}
	return "", nil
}

// wordsOf is what can be asked of a pod: its phase and its reason, "ready" or
// "unready", "ending", why it has no node, and of every container its state
// (main:CrashLoopBackOff, main:running) and that it was restarted (main:again).
func wordsOf(pod *corev1.Pod) []string {
	words := []string{string(pod.Status.Phase), map[bool]string{true: "ready", false: "unready"}[isReady(pod)]}
	if pod.Status.Reason != "" {
		words = append(words, pod.Status.Reason)
	}
	if pod.DeletionTimestamp != nil {
		words = append(words, "ending")
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			words = append(words, c.Reason)
		case c.Type == corev1.PodReadyToStartContainers:
			words = append(words, "asked") // the sandbox has played what its annotation waiting asks for
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		state := "running"
		switch {
		case c.State.Waiting != nil:
			state = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			state = c.State.Terminated.Reason
		}
		words = append(words, c.Name+":"+state)
		if c.RestartCount > 1 {
			words = append(words, c.Name+":again")
		}
	}
	return words
}
