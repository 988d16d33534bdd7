package main

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/controllers"
)

// Users of the cluster that are not Kubernetes' own.
const (
	userLoopscope = "loopscope"
	userKwok      = "sandbox-kwok"
)

// read are verbs that come together often.
var read = []string{"get", "list", "watch"}

// rolesOfUsers says what each user may do: exactly what it needs.
func rolesOfUsers() map[string][]rbacv1.PolicyRule {
	loops := controllers.Rights()
	return map[string][]rbacv1.PolicyRule{
		userLoopscope: slices.Concat(loops.Decide, loops.Cluster, loops.Act, []rbacv1.PolicyRule{
			rule("coordination.k8s.io", []string{"get", "create", "update"}, "leases"), // of any name
		}),
		userKwok: {
			rule("", append([]string{"update", "patch"}, read...), "nodes"),
			rule("", append([]string{"update", "patch", "delete"}, read...), "pods"),
			rule("", []string{"update", "patch"}, "nodes/status", "pods/status"),
			rule("", []string{"create", "patch", "update"}, "events"),
			rule("coordination.k8s.io", append([]string{"create", "update", "patch"}, read...), "leases"),
		},
	}
}

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: verbs, Resources: resources}
}

// grant gives every user of ours its role. A role that a kept state directory
// already holds is brought up to date.
func grant(ctx context.Context, client kubernetes.Interface) error {
	for user, rules := range rolesOfUsers() {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
		_, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = client.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("create role %s: %w", user, err)
		}
		if err := bind(ctx, client, user); err != nil {
			return err
		}
	}
	return nil
}

func bind(ctx context.Context, client kubernetes.Interface, user string) error {
	_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bind role %s: %w", user, err)
	}
	return nil
}

// createNodes creates count nodes, whose kubelets are of a version such as v1.36.3; those that a
// kept state directory already holds stay as they are.
func createNodes(ctx context.Context, client kubernetes.Interface, count int, version string) error {
	for i := 1; i <= count; i++ {
		_, err := client.CoreV1().Nodes().Create(ctx, newNode(i, version), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create node %d: %w", i, err)
		}
	}
	return nil
}

// newNode is the i-th node, counted from 1, with a kubelet of a version. Its network is its own, so that
// kwok gives no address twice.
func newNode(i int, version string) *corev1.Node {
	name := fmt.Sprintf("sandbox-%d", i)
	network := fmt.Sprintf("10.%d.0.0/16", i)
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1k"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("10k"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyZone: fmt.Sprintf("zone-%c", 'a'+(i-1)%3), "type": "kwok",
		}},
		Spec: corev1.NodeSpec{PodCIDR: network, PodCIDRs: []string{network}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.254.0.%d", i)},
				{Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: version, OperatingSystem: "linux", Architecture: "amd64",
				OSImage: "simulated by kwok", ContainerRuntimeVersion: "kwok://0.8.0", KernelVersion: "none",
			},
		},
	}
}
