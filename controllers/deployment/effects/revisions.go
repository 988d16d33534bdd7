package effects

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// change is what the newest revision changed of the one before, computed once
// for two ReplicaSets; nil where there are no two revisions.
func (k *knownTemplate) change(own []*appsv1.ReplicaSet) *deployment.TemplateChange {
	last, before := newestTwo(own)
	if before == nil {
		return nil
	}
	of := [2]setVersion{versionOf(before), versionOf(last)}
	if k.changed == nil || k.changedOf != of {
		k.changed, k.changedOf = templateChange(before, last), of
	}
	return k.changed
}

func versionOf(rs *appsv1.ReplicaSet) setVersion {
	return setVersion{rs.UID, rs.Generation, rs.Annotations[AnnotationRevision]}
}

// newestTwo are the ReplicaSets of the two highest revisions; nil for what is not there.
func newestTwo(own []*appsv1.ReplicaSet) (last, before *appsv1.ReplicaSet) {
	for _, rs := range own {
		switch revision := rs.Annotations[AnnotationRevision]; {
		case revision == "":
		case last == nil || compareRevisions(revision, last.Annotations[AnnotationRevision]) > 0:
			last, before = rs, last
		case before == nil || compareRevisions(revision, before.Annotations[AnnotationRevision]) > 0:
			before = rs
		}
	}
	return last, before
}

// compareRevisions compares two whole numbers of any length.
func compareRevisions(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// templateChange is masked as the fields of a cause are.
func templateChange(from, to *appsv1.ReplicaSet) *deployment.TemplateChange {
	c := templateDifference(&from.Spec.Template, &to.Spec.Template)
	c.From, c.To = redact.Number(from.Annotations[AnnotationRevision]), redact.Number(to.Annotations[AnnotationRevision])
	return c
}

func templateDifference(from, to *corev1.PodTemplateSpec) *deployment.TemplateChange {
	all := changes.Template(withoutHash(from), withoutHash(to))
	c := &deployment.TemplateChange{More: int64(max(0, len(all)-deployment.MaxChanged))}
	for _, f := range all[:len(all)-int(c.More)] {
		f.Field = strings.TrimPrefix(f.Field, changes.PathTemplate+".")
		c.Fields = append(c.Fields, decision.Change{Field: f.Field, From: f.From, To: f.To})
	}
	return c
}
