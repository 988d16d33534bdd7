package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Backup is a custom resource; crd.yaml defines it.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BackupSpec   `json:"spec"`
	Status            BackupStatus `json:"status,omitempty"`
}

// BackupSpec says how often a Job runs, and how many are kept.
type BackupSpec struct {
	EverySeconds int64 `json:"everySeconds"`
	Keep         int64 `json:"keep"`
}

// BackupStatus names the newest Job.
type BackupStatus struct {
	Last string `json:"last,omitempty"`
}

// BackupList is a list of Backups.
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backup `json:"items"`
}

var groupVersion = schema.GroupVersion{Group: "example.loopscope.dev", Version: "v1"}

func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(groupVersion, &Backup{}, &BackupList{})
	metav1.AddToGroupVersion(s, groupVersion)
	return nil
}

// DeepCopyObject implements runtime.Object.
func (b *Backup) DeepCopyObject() runtime.Object {
	c := *b
	b.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *BackupList) DeepCopyObject() runtime.Object {
	c := *l
	l.ListMeta.DeepCopyInto(&c.ListMeta)
	c.Items = make([]Backup, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Backup)
	}
	return &c
}
