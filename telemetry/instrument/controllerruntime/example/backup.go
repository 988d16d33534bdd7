package main

import (
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/instrument"
)

// backups is the controller: a Backup has a Job as often as it says, one at a time, and
// keeps as many as it says.
type backups struct{ client.Client }

func (r *backups) Reconcile(ctx context.Context, key reconcile.Request) (again reconcile.Result, err error) {
	var b Backup
	err = r.Get(ctx, key.NamespacedName, &b)
	if !instrument.Ask(ctx, "exists", !apierrors.IsNotFound(err)) || err != nil {
		return again, client.IgnoreNotFound(err)
	}
	var jobs batchv1.JobList
	if err := r.List(ctx, &jobs, client.InNamespace(b.Namespace), client.MatchingLabels{"backup": b.Name}); err != nil {
		return again, err
	}
	slices.SortFunc(jobs.Items, func(x, y batchv1.Job) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	instrument.Numbers(ctx, decision.Count("jobs", int64(len(jobs.Items))), decision.Count("keep", b.Spec.Keep))
	if beyond := instrument.Count(ctx, "jobs-beyond-keep", max(0, int64(len(jobs.Items))-b.Spec.Keep)); beyond > 0 {
		return again, r.Delete(ctx, &jobs.Items[0], client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	every := time.Duration(b.Spec.EverySeconds) * time.Second
	if n := len(jobs.Items); n > 0 {
		newest := &jobs.Items[n-1]
		due := newest.CreationTimestamp.Add(every)
		if again.RequeueAfter = time.Until(due); !instrument.Ask(ctx, "due", again.RequeueAfter <= 0, decision.Instant("due", due)) {
			return again, nil
		}
		if !instrument.Ask(ctx, "last-one-complete", newest.Status.CompletionTime != nil, decision.Text("job", newest.Name)) {
			instrument.Hold(ctx, decision.Held{Code: "still-running", Kind: "create", Target: decision.Ref{Kind: "Job", Namespace: b.Namespace},
				Unblocks: decision.Words{}.Say("when ").Name(newest.Name).Say(" completes")})
			return reconcile.Result{}, nil
		}
	}
	job := jobOf(&b)
	if err := controllerutil.SetControllerReference(&b, job, r.Scheme()); err != nil {
		return again, err
	}
	if err := r.Create(ctx, job); err != nil {
		return again, err
	}
	b.Status.Last = job.Name
	return reconcile.Result{RequeueAfter: every}, r.Status().Update(ctx, &b)
}

func jobOf(b *Backup) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: b.Name + "-", Namespace: b.Namespace, Labels: map[string]string{"backup": b.Name}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "backup", Image: "backup:1.0"}},
		}}},
	}
}
