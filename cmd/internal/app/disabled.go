package app

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// without gathers all metrics but these, by their whole names.
func without(all prometheus.Gatherer, names []string) prometheus.Gatherer {
	if len(names) == 0 {
		return all
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := all.Gather()
		return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return slices.Contains(names, f.GetName()) }), err
	})
}
