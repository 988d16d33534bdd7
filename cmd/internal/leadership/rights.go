package leadership

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rights are what a manager needs in the namespace of its Lease. A role cannot name what is yet
// to be created.
func Rights(o Options) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, ResourceNames: []string{o.Name}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"events"}, Verbs: []string{"create"}},
	}
}
