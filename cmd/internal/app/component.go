package app

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/statusz"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/configz"
	"k8s.io/component-base/metrics/prometheus/slis"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/web"
)

const (
	// componentName is what this process calls itself where Kubernetes' components do.
	componentName = "loopscope-manager"
	// rulesOf is the Kubernetes whose rules the loops follow.
	rulesOf = "1.36"
)

// Component is what a process knows of itself. Every zero value leaves an address of the
// console out.
type Component struct {
	// Flags are those that it was started with, without secrets, for /flagz.
	Flags map[string]string
	// Configuration is what these come to, for /configz, with apiVersion and kind. It is
	// the process's: two programs in one cannot both have the same.
	Configuration map[string]any
	// SetVerbosity changes how much is logged and says so, for /debug/flags/v.
	SetVerbosity func(level string) (string, error)
	// Memory says what bounds its memory.
	Memory string
}

// component is what the console tells of this process.
func (a *App) component() *web.Component {
	of := a.opts.Component
	c := &web.Component{Statusz: a.statusz, SLIs: newSLIs(), SetVerbosity: of.SetVerbosity}
	if of.Flags != nil {
		c.Flagz = installed(func(m *onlyRoute) { flagz.Install(m, componentName, flags(of.Flags)) })
	}
	if of.Configuration != nil {
		c.Configz = installed(func(m *onlyRoute) { configz.InstallHandler(m) })
	}
	return c
}

// startConfigz makes the configuration known to /configz, until Stop.
func (a *App) startConfigz() error {
	if a.opts.Component.Configuration == nil {
		return nil
	}
	object := &unstructured.Unstructured{Object: a.opts.Component.Configuration}
	name := object.GroupVersionKind().Group
	config, err := configz.New(name)
	if err != nil {
		return fmt.Errorf("/configz: %w", err)
	}
	a.push("/configz", func(context.Context) error { configz.Delete(name); return nil })
	if err := config.Set(object); err != nil {
		return fmt.Errorf("/configz: %w", err)
	}
	return nil
}

func (a *App) statusz(paths []string) http.Handler {
	v := compatibility.NewEffectiveVersionFromString(binaryVersion(a.opts.Version), "", "")
	v.SetEmulationVersion(version.MustParse(rulesOf))
	return installed(func(m *onlyRoute) {
		statusz.Install(m, componentName, statusz.NewRegistry(v, statusz.WithListedPaths(paths)))
	})
}

// binaryVersion is a version as Kubernetes reads one. A commit, or "dev", comes before the
// first of all.
func binaryVersion(stamped string) string {
	for _, v := range []string{stamped, "0.0.0-" + stamped} {
		if _, err := version.ParseSemantic(v); err == nil {
			return v
		}
	}
	return "0.0.0-dev"
}

// flags is a flagz.Reader.
type flags map[string]string

// GetFlagz returns all flags.
func (f flags) GetFlagz() map[string]string { return f }

// onlyRoute takes what a package of Kubernetes installs on a mux: the console has its own.
type onlyRoute struct{ http.Handler }

// Handle takes the handler of a path.
func (o *onlyRoute) Handle(_ string, h http.Handler) { o.Handler = h }

func installed(install func(*onlyRoute)) http.Handler {
	var only onlyRoute
	install(&only)
	return only.Handler
}

// healthSLIs are Kubernetes' own metrics of health checks, which are the process's.
type healthSLIs struct{ http.Handler }

func newSLIs() healthSLIs {
	return healthSLIs{installed(func(m *onlyRoute) { slis.SLIMetricsWithReset{}.Install(m) })}
}

// Checked counts the outcome of one check.
func (healthSLIs) Checked(check, probe string, err error) {
	status := slis.Success
	if err != nil {
		status = slis.Error
	}
	_ = slis.ObserveHealthcheck(context.Background(), check, probe, status) // It has no error to return.
}

// byController are the loops by the names of their controllers.
func byController() map[string]string {
	loops := map[string]string{}
	for _, r := range controllers.Registered {
		loops[r.Controller] = r.Loop.Name
	}
	return loops
}
