package main

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

// krewManifest lets `kubectl krew install --manifest=loopscope.yaml` fetch the archive of a
// platform, and kubectl find the program in it.
func krewManifest(version string, binaries []binary, made []file) ([]byte, error) {
	p := index.Plugin{
		TypeMeta:   metav1.TypeMeta{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin"},
		ObjectMeta: metav1.ObjectMeta{Name: "loopscope"},
		Spec: index.PluginSpec{
			Version: version, Homepage: project, ShortDescription: "See why Deployments are as they are",
			Description: "Shows what the loops of Deployments, ReplicaSets and ReplicationControllers\ndecide and why: the questions that they ask, what they write, what they hold\nback, and what would unblock it. Without a command it opens the console for\nthe cluster of the current context; nothing is written to the cluster.\n",
		},
	}
	for _, b := range binaries {
		i := slices.IndexFunc(made, func(f file) bool { return f.name == b.archiveName(version) })
		if i < 0 {
			return nil, fmt.Errorf("%s has no archive", b.platform())
		}
		p.Spec.Platforms = append(p.Spec.Platforms, index.Platform{
			URI: project + "/releases/download/" + version + "/" + made[i].name, Sha256: made[i].sum,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"os": b.os, "arch": b.arch}},
			Files:    []index.FileOperation{{From: b.program(), To: "."}, {From: "LICENSE", To: "."}}, Bin: b.program(),
		})
	}
	return yaml.Marshal(p)
}
