package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestAnnotationThatIsNotKept: a Deployment whose annotation a policy takes away from its ReplicaSets is rolled out
// and scaled all the same.
func TestAnnotationThatIsNotKept(t *testing.T) {
	t.Parallel()
	client := clientOf(t, ownPlane(t).Plane)
	namespace := newNamespace(t, client, "unkept")
	takeAway(t, client, namespace)
	w := oneByOne("web", 2, 0)
	create(t, client, namespace, w)
	waitSettled(t, client, namespace, "web")
	patchDeployment(t, client, namespace, "web", `{"metadata":{"annotations":{"team":"red"}}}`)
	waitSettled(t, client, namespace, "web")
	patchDeployment(t, client, namespace, "web", `{"spec":{"replicas":3}}`)
	waitSettled(t, client, namespace, "web")
	setImage(t, client, namespace, "web", "shop:v2")
	waitSettled(t, client, namespace, "web")
	sets, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, rs := range sets.Items {
		if rs.Annotations["team"] != "" {
			t.Errorf("%s has the annotation: there was nothing to test", rs.Name)
		}
	}
}

// takeAway has a policy remove the annotation "team" from ReplicaSets of a namespace.
func takeAway(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	admission := client.AdmissionregistrationV1()
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: admissionv1.MutatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"replicasets"}},
			}}},
		},
		MatchConditions:    []admissionv1.MatchCondition{{Name: "has-team", Expression: `has(object.metadata.annotations) && "team" in object.metadata.annotations`}},
		ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch,
			JSONPatch: &admissionv1.JSONPatch{Expression: `[JSONPatch{op: "remove", path: "/metadata/annotations/team"}]`}}},
	}}
	_, err := admission.MutatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{})
	must(t, err)
	_, err = admission.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: namespace}}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		must(t, admission.MutatingAdmissionPolicyBindings().Delete(context.Background(), namespace, metav1.DeleteOptions{}))
		must(t, admission.MutatingAdmissionPolicies().Delete(context.Background(), namespace, metav1.DeleteOptions{}))
	})
	d := oneByOne("probe", 0, 0).object()
	probe := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "probe", Annotations: map[string]string{"team": "red"}},
		Spec: appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template}}
	testplane.Until(t, time.Minute, "policy of "+namespace, func() error {
		made, err := client.AppsV1().ReplicaSets(namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && made.Annotations["team"] != "" {
			err = errors.New("it takes nothing away yet")
		}
		return err
	})
}
