package main

import (
	"encoding/json"
)

// statement is an in-toto Statement with a predicate of SLSA, as slsa.dev/spec/v1.0/provenance
// has it.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		InternalParameters   map[string]any `json:"internalParameters"`
		ResolvedDependencies []resource     `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// provenance says from which commit and how the files were made, so that anybody can make them
// again. It has no times: a second run is to say the same.
func provenance(o options, from source, made []file) ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, f := range made {
		s.Subject = append(s.Subject, resource{Name: f.name, Digest: map[string]string{"sha256": f.sum}})
	}
	d := &s.Predicate.BuildDefinition
	d.BuildType = project + "/blob/main/deploy/release"
	d.ExternalParameters = map[string]any{"version": o.version, "platforms": o.platforms}
	d.InternalParameters = map[string]any{"environment": settings, "flags": flags(o.version), "package": "./cmd/loopscope"}
	d.ResolvedDependencies = []resource{
		{URI: "git+" + project, Digest: map[string]string{"gitCommit": from.commit}},
		{URI: "pkg:golang/toolchain@" + goVersion()},
	}
	s.Predicate.RunDetails.Builder.ID = d.BuildType
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}
