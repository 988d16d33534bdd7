package create

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

const (
	// servedWithin is how long an API server may take to serve a kind that was just defined, and
	// servedEvery how often it is asked.
	servedWithin = 30 * time.Second
	servedEvery  = 200 * time.Millisecond
)

// definitions are the kinds that CustomResourceDefinitions of the input define. All objects are
// read before the first is sent, so the API server does not know these yet.
type definitions struct {
	cmdutil.Factory
	kinds map[schema.GroupVersionKind]definition
}

type definition struct {
	name    string // of the CustomResourceDefinition
	mapping *meta.RESTMapping
}

func isDefinition(info *resource.Info) bool {
	return info.Mapping.GroupVersionKind.GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// add reads what an object defines; nothing where it is no CustomResourceDefinition. What is wrong
// with one the API server says.
func (d *definitions) add(info *resource.Info) {
	o, is := info.Object.(*unstructured.Unstructured)
	if !is || !isDefinition(info) {
		return
	}
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(o.Object, fields...)
		return s
	}
	group, kind, plural := text("spec", "group"), text("spec", "names", "kind"), text("spec", "names", "plural")
	scope := meta.RESTScope(meta.RESTScopeNamespace)
	if text("spec", "scope") == "Cluster" {
		scope = meta.RESTScopeRoot
	}
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, v := range versions {
		fields, _ := v.(map[string]any)
		version, _ := fields["name"].(string)
		if served, _ := fields["served"].(bool); !served || version == "" || kind == "" || plural == "" {
			continue
		}
		gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
		if d.kinds == nil {
			d.kinds = map[schema.GroupVersionKind]definition{}
		}
		d.kinds[gvk] = definition{info.Name, &meta.RESTMapping{Resource: gvk.GroupVersion().WithResource(plural), GroupVersionKind: gvk, Scope: scope}}
	}
}

// ToRESTMapper is that of the API server, and after it of the input.
func (d *definitions) ToRESTMapper() (meta.RESTMapper, error) {
	m, err := d.Factory.ToRESTMapper()
	return &definedMapper{m, d}, err
}

type definedMapper struct {
	meta.RESTMapper
	more *definitions
}

// RESTMapping is where objects of a kind are sent.
func (m *definedMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if !meta.IsNoMatchError(err) {
		return mapping, err
	}
	for _, version := range versions {
		if d, defined := m.more.kinds[kind.WithVersion(version)]; defined {
			return d.mapping, nil
		}
	}
	return nil, err
}

// of is the CustomResourceDefinition of the input by which an object is known alone; "" for none.
func (d *definitions) of(info *resource.Info) string {
	if known := d.kinds[info.Mapping.GroupVersionKind]; known.mapping == info.Mapping {
		return known.name
	}
	return ""
}

// sendDefined sends an object whose kind the input has defined, as soon as the API server knows it.
func (s *sending) sendDefined(info *resource.Info, by string) (runtime.Object, error) {
	if s.r.dryRun == cmdutil.DryRunServer {
		return nil, fmt.Errorf("%s cannot be checked by a dry run: its CustomResourceDefinition %s is in the same input, and not there yet", info.ObjectName(), by)
	}
	limit := time.After(servedWithin)
	for {
		o, err := s.r.send(info, false)
		if !unserved(err) || !s.defined[by] {
			return o, err
		}
		select {
		case <-s.ctx.Done():
			return nil, fmt.Errorf("interrupted: %s was not sent", info.ObjectName())
		case <-limit:
			return nil, fmt.Errorf("the API server does not serve what CustomResourceDefinition %s defines: %w", by, err)
		case <-time.After(servedEvery):
		}
	}
}

// unserved reports whether an API server knows no such resource, and not whether an object or a
// namespace is not there.
func unserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err)
}
