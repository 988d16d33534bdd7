package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestStoryNamesEverySurprise takes one rollout through everything that holds
// rollouts up, and then reads its story: it names each cause, in order, and each
// write of ours that the API server's audit log has, once, with its version.
func TestStoryNamesEverySurprise(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	client := clientOf(t, plane.Plane)
	s := &surprises{plane: plane.Plane, client: client, namespace: newNamespace(t, client, "surprises")}
	create(t, client, s.namespace, oneByOne("web", 3, 0))
	waitQuiet(t, client, s.namespace, "web")
	began := time.Now()
	s.badImage(t)
	s.scaleIntoQuota(t)
	s.foreignLabel(t)
	s.pauseAndResume(t)
	s.noNode(t)
	s.conflict(t)
	s.fix(t)
	waitQuiet(t, client, s.namespace, "web")
	s.toldInOrder(t)
	s.everyWriteOnce(t, began)
}

// surprises is one rollout that meets with all of them.
type surprises struct {
	plane     *testplane.Plane
	client    kubernetes.Interface
	namespace string
}

// story is what the console tells of it now.
func (s *surprises) story(t *testing.T) *telemetry.Story {
	t.Helper()
	var twin struct {
		Page struct{ Story *telemetry.Story }
	}
	fetchJSON(t, s.plane.Dashboard+"/deployments/"+url.PathEscape(s.namespace)+"/web/story.json", &twin)
	return twin.Page.Story
}

// tells waits until the story has such beats, in that order.
func (s *surprises) tells(t *testing.T, what string, is ...func(*telemetry.Beat) bool) {
	t.Helper()
	testplane.Until(t, settleLimit, "story with "+what, func() error {
		story, found := s.story(t), 0
		for i := range story.Beats {
			if is[found](&story.Beats[i]) {
				found++
			}
			if found == len(is) {
				return nil
			}
		}
		return fmt.Errorf("%d of %d among %d beats", found, len(is), len(story.Beats))
	})
}

func (s *surprises) badImage(t *testing.T) {
	t.Helper()
	setImage(t, s.client, s.namespace, "web", "shop:404")
	s.tells(t, "a pod that cannot pull its image", pod("status.reason", "ImagePullBackOff"))
}

func (s *surprises) scaleIntoQuota(t *testing.T) {
	t.Helper()
	hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4")}
	_, err := s.client.CoreV1().ResourceQuotas(s.namespace).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create quota: %v", err)
	}
	testplane.Until(t, settleLimit, "quota in force", func() error {
		q, err := s.client.CoreV1().ResourceQuotas(s.namespace).Get(t.Context(), "team", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if used := q.Status.Used[corev1.ResourcePods]; used.Value() != 4 {
			return fmt.Errorf("%s pods in use, want 4", used.String())
		}
		return nil
	})
	patchDeployment(t, s.client, s.namespace, "web", `{"spec":{"replicas":5}}`)
	s.tells(t, "a refusal by the quota", refusedBy("exceeded quota"))
}

func (s *surprises) foreignLabel(t *testing.T) {
	t.Helper()
	patchDeployment(t, s.client, s.namespace, "web", `{"metadata":{"labels":{"example.com/team":"kitchen"}}}`)
	s.tells(t, "the label", field("metadata.labels[example.com/team]", ""))
}

func (s *surprises) pauseAndResume(t *testing.T) {
	t.Helper()
	for _, paused := range []string{"true", "false"} {
		patchDeployment(t, s.client, s.namespace, "web", `{"spec":{"paused":`+paused+`}}`)
		s.tells(t, "paused "+paused, field("spec.paused", paused))
	}
}

// noNode asks for a node that does not exist, with an image that does.
func (s *surprises) noNode(t *testing.T) {
	t.Helper()
	if err := s.client.CoreV1().ResourceQuotas(s.namespace).Delete(t.Context(), "team", metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete quota: %v", err)
	}
	patchDeployment(t, s.client, s.namespace, "web",
		`{"spec":{"template":{"spec":{"nodeSelector":{"example.com/no":"node"},"containers":[{"name":"main","image":"shop:v2"}]}}}}`)
	s.tells(t, "a pod without a node", pod("status.reason", "Unschedulable"))
}

// conflict writes beside the loop until one of its writes comes too late.
func (s *surprises) conflict(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.interfere(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("write beside the loop: %v", err)
		}
	}()
	// An earlier surprise may have come to a conflict of its own.
	s.tells(t, "a conflict", pod("status.reason", "Unschedulable"), field("spec.replicas", "4"), conflicted, field("metadata.annotations[example.com/n]", ""))
}

// interfere changes an annotation and the size, again and again: the size gives
// the loop something to write, and the annotation comes in between.
func (s *surprises) interfere(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/n":"%d"}}}`, n)
		if n%20 == 0 {
			patch = fmt.Sprintf(`{"spec":{"replicas":%d}}`, 4+n/20%2)
		}
		_, err := s.client.AppsV1().Deployments(s.namespace).Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

func (s *surprises) fix(t *testing.T) {
	t.Helper()
	patchDeployment(t, s.client, s.namespace, "web", `{"spec":{"replicas":4,"template":{"spec":{"nodeSelector":null,"containers":[{"name":"main","image":"shop:v3"}]}}}}`)
}

// beat kinds to look for.
func field(name, to string) func(*telemetry.Beat) bool {
	return func(b *telemetry.Beat) bool { return b.Kind == telemetry.BeatChange && has(b.Cause, name, to) }
}

func pod(name, to string) func(*telemetry.Beat) bool {
	return func(b *telemetry.Beat) bool { return b.Kind == telemetry.BeatPod && has(b.Cause, name, to) }
}

func has(c *telemetry.Cause, field, to string) bool {
	return slices.ContainsFunc(c.Fields, func(f decision.Change) bool { return f.Field == field && (to == "" || f.To == to) })
}

func refusedBy(text string) func(*telemetry.Beat) bool {
	return func(b *telemetry.Beat) bool {
		return slices.ContainsFunc(b.Writes, func(w telemetry.Write) bool {
			return w.State == decision.Refused && w.Failure != nil && strings.Contains(w.Failure.Message, text)
		})
	}
}

func conflicted(b *telemetry.Beat) bool {
	return slices.ContainsFunc(b.Writes, func(w telemetry.Write) bool { return w.State == decision.Conflicted })
}

func settles(b *telemetry.Beat) bool { return b.Settles }

// toldInOrder finds each surprise after the one before it.
func (s *surprises) toldInOrder(t *testing.T) {
	t.Helper()
	story := s.story(t)
	rest := story.Beats
	image := "spec.template.containers[main].image"
	for _, x := range []struct {
		what string
		is   func(*telemetry.Beat) bool
	}{
		{"the bad image", field(image, "shop:404")},
		{"a pod that cannot pull it", pod("status.reason", "ImagePullBackOff")},
		{"the new size", field("spec.replicas", "5")},
		{"the refusal by the quota", refusedBy("exceeded quota")},
		{"the label of somebody else", field("metadata.labels[example.com/team]", "")},
		{"the pause", field("spec.paused", "true")},
		{"its end", field("spec.paused", "false")},
		{"the template for no node", field(image, "shop:v2")},
		{"a pod without a node", pod("status.reason", "Unschedulable")},
		{"the meddler's size", field("spec.replicas", "4")},
		{"the conflict", conflicted},
		{"what it was with, which the loop saw later", field("metadata.annotations[example.com/n]", "")},
		{"the good image", field(image, "shop:v3")},
		{"the end", settles},
	} {
		at := slices.IndexFunc(rest, func(b telemetry.Beat) bool { return x.is(&b) })
		if at < 0 {
			t.Fatalf("%s is not told, or not in its place; the story:\n%s", x.what, told(story))
		}
		rest = rest[at+1:]
	}
	if story.Open || story.Settled.IsZero() {
		t.Errorf("the story is open (%t) or has no end (%s)", story.Open, story.Settled)
	}
	t.Logf("%+v in %s, every cause in order", story.Counts, story.Settled.Sub(story.Began))
}

func told(story *telemetry.Story) string {
	var b strings.Builder
	for i := range story.Beats {
		beat := &story.Beats[i]
		fmt.Fprintf(&b, "%s %s %s\n", beat.At.Format("15:04:05.000"), beat.Kind, beat.Tell().At(beat.At))
	}
	return b.String()
}

// everyWriteOnce compares the story with the audit log.
func (s *surprises) everyWriteOnce(t *testing.T, began time.Time) {
	t.Helper()
	audited := of(readAudit(t, s.plane.AuditPath), func(r *request) bool {
		return r.ours() && r.write() && r.ObjectRef.Namespace == s.namespace && r.ObjectRef.Resource != "events" && r.RequestReceivedTimestamp.After(began)
	})
	want := make([]string, 0, len(audited))
	for i := range audited {
		want = append(want, auditLine(&audited[i]))
	}
	var got []string
	story := s.story(t)
	for i := range story.Beats {
		for j := range story.Beats[i].Writes {
			got = append(got, storyLines(&story.Beats[i].Writes[j])...)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("our writes (-audit log +story):\n%s", diff)
	}
	t.Logf("%d writes of ours in the audit log, each once in the story", len(want))
}

// auditLine is a write as both sides can tell it: what, which object, and the
// version that came back. A deletion brings none back to the loop, and a pod that
// was refused has no name.
func auditLine(r *request) string {
	line := r.Verb + " " + r.resource()
	if r.Verb == "patch" {
		line = "update " + r.resource()
	}
	if r.taken() || r.ObjectRef.Resource != "pods" {
		line += " " + strings.TrimPrefix(r.object(), r.ObjectRef.Resource+" "+r.ObjectRef.Namespace+"/")
	}
	switch {
	case !r.taken():
		return line + fmt.Sprintf(" %d", r.ResponseStatus.Code)
	case r.Verb == "delete":
		return line
	}
	return line + " rv " + r.ResponseObject.Metadata.ResourceVersion
}

var storyVerbs = map[decision.ActionKind]string{
	decision.CreateReplicaSet: "create", decision.UpdateReplicaSet: "update", decision.DeleteReplicaSet: "delete",
	decision.UpdateDeployment: "update", decision.Adopt: "update", decision.Release: "update",
	decision.CreatePods: "create", decision.DeletePods: "delete", telemetry.WriteStatus: "update",
}

func storyLines(w *telemetry.Write) []string {
	kind, name, named := strings.Cut(w.Object, " ")
	line := storyVerbs[w.Kind] + " " + strings.ToLower(kind) + "s"
	if w.Kind == telemetry.WriteStatus {
		line += "/status"
	}
	if named {
		line += " " + name
	}
	switch {
	case w.Failure != nil:
		line += fmt.Sprintf(" %d", w.Failure.Code)
	case w.RV != "":
		line += " rv " + w.RV
	}
	return slices.Repeat([]string{line}, int(max(1, w.Count)))
}
