package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/controllers"
)

const (
	// program is the name of the ServiceAccount, and of the namespace where there is one for
	// the program alone.
	program = "loopscope"
	// readName and writeName are those of the roles.
	readName, writeName = program + "-read", program + "-write"
	leaseName           = program + "-leader-election"
	standbyName         = program + "-standby"
)

// rights are all rules, by what they are for.
type rights struct {
	// Read is of every namespace that is observed, Cluster of none.
	Read    []rbacv1.PolicyRule `json:"read"`
	Cluster []rbacv1.PolicyRule `json:"cluster"`
	// Write is what acting takes besides, and Lease what it takes in the namespace of the Lease.
	Write []rbacv1.PolicyRule `json:"write"`
	Lease []rbacv1.PolicyRule `json:"lease"`
	// Standby is what it takes to read what the leader decides.
	Standby []rbacv1.PolicyRule `json:"standby"`
}

func declared() rights {
	loops := controllers.Rights()
	return rights{Read: loops.Decide, Cluster: loops.Cluster, Write: loops.Act, Lease: leadership.Rights(leadership.Defaults()),
		Standby: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/live"}, Verbs: []string{"get"}}}}
}

func shadowRights() []any {
	r := declared()
	return clusterRole(readName, slices.Concat(r.Read, r.Cluster))
}

// managerRights are those beside a shadow's.
func managerRights() []any {
	r := declared()
	return slices.Concat(clusterRole(writeName, r.Write), role(leadership.Defaults().Namespace, leaseName, r.Lease), clusterRole(standbyName, r.Standby))
}

func namespacedRights() []any { return role(program, readName, declared().Read) }

// account is whom roles are given to.
var account = []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: program, Name: program}}

// labels are those of every object.
var labels = map[string]string{"app.kubernetes.io/name": program, "app.kubernetes.io/instance": program}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: name}
}

func ref(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

// clusterRole is a role and its binding to the account.
func clusterRole(name string, rules []rbacv1.PolicyRule) []any {
	return []any{
		rbacv1.ClusterRole{TypeMeta: kind("ClusterRole"), ObjectMeta: meta("", name), Rules: rules},
		rbacv1.ClusterRoleBinding{TypeMeta: kind("ClusterRoleBinding"), ObjectMeta: meta("", name), RoleRef: ref("ClusterRole", name), Subjects: account},
	}
}

// role is a role in one namespace, and its binding to the account.
func role(namespace, name string, rules []rbacv1.PolicyRule) []any {
	return []any{
		rbacv1.Role{TypeMeta: kind("Role"), ObjectMeta: meta(namespace, name), Rules: rules},
		rbacv1.RoleBinding{TypeMeta: kind("RoleBinding"), ObjectMeta: meta(namespace, name), RoleRef: ref("Role", name), Subjects: account},
	}
}

// securePort is what secure-port.yaml holds.
type securePort struct {
	objects []map[string]any
	// Viewer and Metrics are the rules of its roles for readers.
	Viewer, Metrics []rbacv1.PolicyRule
}

func readSecurePort(path string) (securePort, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return securePort{}, err
	}
	var s securePort
	for _, part := range bytes.Split(text, []byte("\n---\n")) {
		var o map[string]any
		var r rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(part, &o); err != nil {
			return securePort{}, fmt.Errorf("%s: %w", path, err)
		}
		if err := yaml.Unmarshal(part, &r); err != nil {
			return securePort{}, fmt.Errorf("%s: %w", path, err)
		}
		switch s.objects = append(s.objects, o); r.Name {
		case program + "-viewer":
			s.Viewer = r.Rules
		case program + "-metrics-reader":
			s.Metrics = r.Rules
		}
	}
	if s.Viewer == nil || s.Metrics == nil {
		return securePort{}, fmt.Errorf("%s has no roles for readers", path)
	}
	return s, nil
}

// installed are its objects for the account of the manifests.
func (s securePort) installed() (list []any) {
	for _, o := range s.objects {
		meta, is := o["metadata"].(map[string]any)
		if is && meta["name"] == standbyName {
			continue // Nobody stands by but managers.
		}
		if is {
			meta["labels"] = labels
		}
		if o["subjects"] != nil {
			o["subjects"] = account
		}
		list = append(list, o)
	}
	return list
}

// chartRights are all rules, as the templates of the chart read them.
func chartRights(s securePort) any {
	return struct {
		rights
		Viewer  []rbacv1.PolicyRule `json:"viewer"`
		Metrics []rbacv1.PolicyRule `json:"metrics"`
	}{declared(), s.Viewer, s.Metrics}
}

// prometheusRule is a file of alert rules as the operator of Prometheus takes it.
func prometheusRule(file map[string]any) any {
	return map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
		"metadata": map[string]any{"name": program, "namespace": program, "labels": labels},
		"spec":     file,
	}
}
