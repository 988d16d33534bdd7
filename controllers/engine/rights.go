package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rights are what a loop asks of the API server, as rules of roles. What a program may besides
// is of no use to it.
type Rights struct {
	// Decide is what it reads in every namespace that is observed.
	Decide []rbacv1.PolicyRule
	// Cluster is what it reads of no namespace. Where it may not, it does without.
	Cluster []rbacv1.PolicyRule
	// Act is what it needs besides where it writes.
	Act []rbacv1.PolicyRule
}

// Reads are the verbs of what an informer keeps, and of a live read of it.
var Reads = []string{"get", "list", "watch"}

var follows = []string{"list", "watch"}

// Rule is one rule of a role.
func Rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// CommonRights are those of every loop: it tells in events what it did, shows those of pods, compares
// those of another controller where it only watches, and looks at what may end what keeps them.
func CommonRights() Rights {
	r := Rights{
		Decide:  []rbacv1.PolicyRule{Rule(corev1.GroupName, follows, "events")},
		Cluster: []rbacv1.PolicyRule{Rule(namespaceResource.Group, follows, namespaceResource.Resource)},
	}
	for _, group := range []string{corev1.GroupName, eventsv1.GroupName} {
		r.Act = append(r.Act, Rule(group, []string{"create", "patch"}, "events"))
	}
	for _, e := range enders {
		r.Act = append(r.Act, Rule(e.resource.Group, follows, e.resource.Resource))
	}
	return r
}

// MergeRights are the rights of several loops together, each once and always in the same order.
func MergeRights(all ...Rights) (r Rights) {
	for _, of := range all {
		r.Decide, r.Cluster, r.Act = append(r.Decide, of.Decide...), append(r.Cluster, of.Cluster...), append(r.Act, of.Act...)
	}
	return Rights{Decide: merged(r.Decide), Cluster: merged(r.Cluster), Act: merged(r.Act)}
}

// merged has one rule for all resources of a group with the same verbs.
func merged(rules []rbacv1.PolicyRule) (list []rbacv1.PolicyRule) {
	type resource struct{ group, name string }
	verbs := map[resource][]string{}
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, name := range r.Resources {
				verbs[resource{group, name}] = append(verbs[resource{group, name}], r.Verbs...)
			}
		}
	}
	order := func(a, b resource) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.name, b.name)) }
	for _, of := range slices.SortedFunc(maps.Keys(verbs), order) {
		may := slices.Compact(slices.SortedFunc(slices.Values(verbs[of]), byUse))
		i := slices.IndexFunc(list, func(r rbacv1.PolicyRule) bool { return r.APIGroups[0] == of.group && slices.Equal(r.Verbs, may) })
		if i < 0 {
			list = append(list, Rule(of.group, may, of.name))
			continue
		}
		list[i].Resources = append(list[i].Resources, of.name)
	}
	return list
}

// byUse orders verbs as roles usually have them: reads before writes.
func byUse(a, b string) int {
	const usual = "get list watch create update patch delete"
	return cmp.Compare(strings.Index(usual, a), strings.Index(usual, b))
}
