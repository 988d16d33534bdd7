package create

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	podresources "k8s.io/component-helpers/resource"
)

// outOfRange says which LimitRange refuses a pod, and why; "" for none.
func (s *surroundings) outOfRange(p *corev1.Pod) string {
	for i := range s.limits {
		l := &s.limits[i]
		for j := range l.Spec.Limits {
			switch item := &l.Spec.Limits[j]; item.Type {
			case corev1.LimitTypePod:
				text := beyond(item, "a pod", podresources.PodRequests(p, podresources.PodResourcesOptions{}), podresources.PodLimits(p, podresources.PodResourcesOptions{}))
				if text != "" {
					return fmt.Sprintf("LimitRange %s %s: no pod can be created", l.Name, text)
				}
			case corev1.LimitTypeContainer:
				for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
					if text := beyond(item, "container "+c.Name, c.Resources.Requests, c.Resources.Limits); text != "" {
						return fmt.Sprintf("LimitRange %s %s: no pod can be created", l.Name, text)
					}
				}
			}
		}
	}
	return ""
}

// beyond is which bound of a LimitRange a pod or a container does not keep; "" for none. A least is
// of the request, which has to be said, and a most of the limit.
func beyond(item *corev1.LimitRangeItem, who string, requests, limits corev1.ResourceList) string {
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		most := item.Max[name]
		limit, said := limits[name]
		if !said {
			return fmt.Sprintf("wants %s to have a limit of %s", who, name)
		}
		if limit.Cmp(most) > 0 {
			return fmt.Sprintf("allows %s no limit of %s above %s, and it is %s", who, name, most.String(), limit.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		least := item.Min[name]
		request, said := requests[name]
		if !said {
			return fmt.Sprintf("wants %s to request %s", who, name)
		}
		if request.Cmp(least) < 0 {
			return fmt.Sprintf("allows %s no request of %s below %s, and it is %s", who, name, least.String(), request.String())
		}
	}
	return ""
}
