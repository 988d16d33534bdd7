package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// Observe takes the snapshot of one update from the caches.
func (b *controller) Observe(ctx context.Context, key string) (engine.Sync, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, fmt.Errorf("key %q: %w", key, err)
	}
	t := &updateSync{controller: b, key: key, seen: engine.VersionsOf(b.stores)}
	t.s = rollingupdate.Snapshot{Version: rollingupdate.SnapshotVersion, Now: engine.WallTime(b.now()), Namespace: namespace, Name: name}
	t.old = b.cached(namespace, name)
	t.fillRequest()
	if b.Unresolved(key) {
		if err := b.readLive(ctx, t); err != nil {
			return nil, err
		}
		b.Resolved(key)
	}
	if err := t.readSplit(ctx); err != nil {
		return nil, err
	}
	t.fill()
	return t, nil
}

// cached is a ReplicationController of the cache, nil where it is not there.
func (b *controller) cached(namespace, name string) *corev1.ReplicationController {
	if name == "" {
		return nil
	}
	rc, err := b.lister.ReplicationControllers(namespace).Get(name)
	if err != nil {
		return nil
	}
	return rc
}

// fillRequest reads what is asked for, and finds the new one.
func (t *updateSync) fillRequest() {
	asks := t.old
	if asks == nil {
		t.new = t.heir()
		asks = t.new
	}
	if asks == nil {
		return
	}
	if text, asked := asks.Annotations[rollingupdate.AnnotationRequest]; asked && (asks == t.old && !finishesItself(asks) || asks != t.old && finishesItself(asks)) {
		var err error
		if t.s.Request, err = rollingupdate.ParseRequest(text); err != nil {
			t.s.RequestError = redact.Message(err.Error())
		} else {
			t.image, t.s.Request.Image = t.s.Request.Image, redact.Image(t.s.Request.Image)
		}
	}
	t.s.Result = result(asks)
	t.s.NewName = t.newName()
	if t.new == nil {
		t.new = t.controller.cached(t.s.Namespace, t.s.NewName)
	}
	if p, _ := parked(asks); p != nil && t.new != nil && string(t.new.UID) != p.UID {
		t.new = nil // Somebody has made another one of that name.
	}
}

// heir is the one that says that it replaces one that is gone; the first by name.
func (t *updateSync) heir() *corev1.ReplicationController {
	var first *corev1.ReplicationController
	for _, rc := range t.said() {
		if sourceName(rc) == t.s.Name && (first == nil || rc.Name < first.Name) {
			first = rc
		}
	}
	return first
}

// said are those that have a part in the update by what they say themselves.
func (t *updateSync) said() []*corev1.ReplicationController {
	found, _ := t.controller.indexer.ByIndex(indexUpdates, "old/"+t.key) // The constructor added the index.
	var list []*corev1.ReplicationController
	for _, obj := range found {
		if rc, ok := obj.(*corev1.ReplicationController); ok {
			list = append(list, rc)
		}
	}
	return list
}

// newName is what the new one is or will be called ([RU-1]).
func (t *updateSync) newName() string {
	old := t.old
	if old == nil {
		return t.new.Name
	}
	n := rollingupdate.Names{
		Parked: parkedFrom(old), Next: named(old.Annotations[rollingupdate.AnnotationNext]), Begun: sizeOf(old, rollingupdate.AnnotationOriginal) != nil,
	}
	for _, rc := range t.said() {
		if rc.Annotations[rollingupdate.AnnotationSource] == t.s.Name+":"+string(old.UID) && (n.Heir == "" || rc.Name < n.Heir) {
			n.Heir = rc.Name
		}
	}
	if r := t.s.Request; r != nil {
		n.Asked, n.Made = r.To, t.s.Name+"-"+t.newHash()
	}
	return n.New()
}

// fill copies what is decided on out of the cached objects.
func (t *updateSync) fill() {
	s := &t.s
	keyLabel := t.keyLabel()
	if t.old != nil {
		s.Old = t.view(t.old, keyLabel)
		s.OldKey = templateHash(t.old.Spec.Template, keyLabel)
		if from := sourceName(t.old); from != "" && t.old.Annotations[rollingupdate.AnnotationSource] != "" {
			s.Into = redact.Line(from)
		}
	}
	if t.new != nil {
		s.New = t.view(t.new, keyLabel)
	}
	if t.old != nil && t.new != nil {
		s.Apart = apart(t.old.Spec.Selector, t.new.Spec.Selector)
	}
	if s.Request != nil && s.Request.Image != "" && t.old != nil {
		s.NewKey = t.newHash()
	}
	t.fillStrays(keyLabel)
	s.Echo = t.echoes()
	s.Refused = t.refused()
}

// refused is the newest refusal that is known of one of the two; nil for none.
func (t *updateSync) refused() (newest *rollingupdate.Refused) {
	for _, rc := range []*corev1.ReplicationController{t.old, t.new} {
		if rc == nil {
			continue
		}
		if r, is := t.controller.refused[rc.UID]; is && (newest == nil || r.At.After(newest.At)) {
			newest = &r
		}
	}
	return newest
}

// keyLabel is the label that tells the pods of the two apart.
func (t *updateSync) keyLabel() string {
	if t.s.Request != nil {
		return t.s.Request.DeploymentKey
	}
	return rollingupdate.DefaultKey
}

func (t *updateSync) view(rc *corev1.ReplicationController, keyLabel string) *rollingupdate.Controller {
	c := &rollingupdate.Controller{
		Name: rc.Name, UID: string(rc.UID), RV: rc.ResourceVersion, Generation: rc.Generation, Observed: rc.Status.ObservedGeneration,
		Deleting: rc.DeletionTimestamp != nil,
		Size:     int64(family.DefaultToOne(rc.Spec.Replicas)), Replicas: int64(rc.Status.Replicas), MinReady: int64(rc.Spec.MinReadySeconds),
		Next: named(rc.Annotations[rollingupdate.AnnotationNext]), Source: named(rc.Annotations[rollingupdate.AnnotationSource]),
		Desired: sizeOf(rc, rollingupdate.AnnotationDesired), Original: sizeOf(rc, rollingupdate.AnnotationOriginal),
		SelectorKey: t.keyValue(rc.Name, keyLabel, rc.Spec.Selector[keyLabel]),
		Given:       sizeOf(rc, rollingupdate.AnnotationSize), Owner: ownerOf(rc), LetsGo: rc.Spec.Selector[rollingupdate.LabelParked] != "",
		TakenOver: takenOver(rc),
		Scaler:    redact.Line(t.controller.opts.Managers.OwnerOf(rc, "spec.replicas")),
	}
	if r := result(rc); r != nil && r.Ended == rollingupdate.Complete && r.To == rc.Name {
		c.Replaced = r.From
	}
	if at, err := time.Parse(time.RFC3339Nano, rc.Annotations[rollingupdate.AnnotationStepped]); err == nil && !at.After(t.s.Now.Add(time.Minute)) {
		c.Stepped = at.UTC() // One of tomorrow would hold every step until then.
	}
	p, err := parked(rc)
	if err != nil && t.s.RequestError == "" {
		t.s.RequestError = redact.Message(err.Error())
	}
	c.Parked = p
	if rc.Spec.Template != nil {
		c.TemplateKey = t.keyValue(rc.Name, keyLabel, rc.Spec.Template.Labels[keyLabel])
		c.Account = named(rc.Spec.Template.Spec.ServiceAccountName)
		for i := range rc.Spec.Template.Spec.Containers {
			one := &rc.Spec.Template.Spec.Containers[i]
			c.Containers = append(c.Containers, rollingupdate.Container{Name: one.Name, Image: redact.Image(one.Image)})
		}
	}
	t.fillConditions(c, rc)
	own := t.podsOf(rc)
	if c.Deletion = family.Deletion(rc, own); c.Deletion != nil {
		c.Terminating = terminating(own)
	}
	for _, pod := range own {
		if family.PodActive(pod) {
			c.Pods = append(c.Pods, podView(pod, keyLabel))
		}
	}
	slices.SortFunc(c.Pods, byName)
	return c
}

// terminating are the first of the pods that are on their way out.
func terminating(pods []*corev1.Pod) []decision.TerminatingPod {
	var list []decision.TerminatingPod
	for _, p := range pods {
		if p.DeletionTimestamp != nil {
			list = append(list, family.TerminatingPod(p))
		}
	}
	return family.FirstTerminating(list)
}

// keyValue is a value of the label that tells the two apart. It is decided on and written, so
// one that would be masked in the record is refused with the request.
func (t *updateSync) keyValue(of, label, value string) string {
	masked := redact.Line(value)
	if masked != value && t.s.Request != nil && t.s.RequestError == "" {
		t.s.RequestError = fmt.Sprintf("the label %s of %s looks like a credential: choose another deploymentKey", redact.Line(label), of)
	}
	return masked
}

// takenOver is the Deployment of a migration's record; what is no record counts as none.
func takenOver(rc *corev1.ReplicationController) string {
	var record struct {
		Deployment string `json:"deployment"`
	}
	if json.Unmarshal([]byte(rc.Annotations[rollingupdate.AnnotationMigration]), &record) != nil {
		return ""
	}
	return named(record.Deployment)
}

// ownerOf is the controller of a ReplicationController, as "Kind name"; "" for none.
func ownerOf(rc *corev1.ReplicationController) string {
	ref := metav1.GetControllerOf(rc)
	if ref == nil {
		return ""
	}
	return redact.Line(ref.Kind + " " + ref.Name)
}

func (t *updateSync) fillConditions(c *rollingupdate.Controller, rc *corev1.ReplicationController) {
	for _, one := range rc.Status.Conditions {
		switch told := t.Condition(string(one.Type), string(one.Status), one.Reason, one.Message); one.Type {
		case rollingupdate.CondProgressing:
			told.Transition = one.LastTransitionTime.UTC()
			c.Progress = &told
		case corev1.ReplicationControllerReplicaFailure:
			if one.Status == corev1.ConditionTrue {
				c.Refusal, c.RefusedSince, c.KeepsPods = told.Message, one.LastTransitionTime.UTC(), one.Reason == "FailedDelete"
			}
		}
	}
}

// apart reports whether the new selector has a label that the old one has with another value.
func apart(old, new map[string]string) bool {
	for key, value := range new {
		if was, has := old[key]; has && was != value {
			return true
		}
	}
	return false
}

// sizeOf is an annotation that is a size; nil where it is none.
func sizeOf(rc *corev1.ReplicationController, key string) *int64 {
	n, err := strconv.ParseInt(rc.Annotations[key], 10, 32)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

// parked is what it waits for; nil for nothing.
func parked(rc *corev1.ReplicationController) (*rollingupdate.Parked, error) {
	text, has := rc.Annotations[rollingupdate.AnnotationParked]
	if !has {
		return nil, nil
	}
	p, err := rollingupdate.ParseParked(text)
	if err == nil && (p.Account == nil) != (rc.Spec.Selector[rollingupdate.LabelParked] != "") {
		return nil, fmt.Errorf("the annotation %s does not go with its selector", rollingupdate.AnnotationParked)
	}
	return p, err
}

// result is how the last update ended; nil where nobody says.
func result(rc *corev1.ReplicationController) *rollingupdate.Result {
	if text, has := rc.Annotations[rollingupdate.AnnotationResult]; has {
		return rollingupdate.ParseResult(text)
	}
	return nil
}

// newHash names the template that the new one gets.
func (t *updateSync) newHash() string {
	hash, label := templateHash(t.newTemplate(), t.keyLabel()), t.keyLabel()
	if old := t.old; old != nil && old.Spec.Template != nil && t.s.Request != nil &&
		(hash == templateHash(old.Spec.Template, label) || hash == old.Spec.Selector[label] || hash == old.Spec.Template.Labels[label]) {
		return hashOf([]byte(hash + t.s.Request.ID)) // The same image is to be pulled anew.
	}
	return hash
}

// named is a name, or a name with a UID, as it is: it is decided on. Anything else is masked.
func named(text string) string {
	name, uid, _ := strings.Cut(text, ":")
	if len(validation.IsDNS1123Subdomain(name)) == 0 && (uid == "" || len(validation.IsDNS1123Label(uid)) == 0) {
		return text
	}
	return redact.Line(text)
}

// templateHash is a hash of a template without the label that tells the two apart, so that
// the label may be made of it.
func templateHash(template *corev1.PodTemplateSpec, keyLabel string) string {
	copied := corev1.PodTemplateSpec{}
	if template != nil {
		copied = *template.DeepCopy()
	}
	delete(copied.Labels, keyLabel)
	text, _ := json.Marshal(&copied) // API objects always marshal.
	return hashOf(text)
}

func hashOf(text []byte) string {
	sum := fnv.New32a()
	sum.Write(text)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(sum.Sum32()), 10))
}

// echoes are our writes to the two and to their pods that the caches do not show yet.
func (t *updateSync) echoes() []rollingupdate.Echo {
	seen := map[types.UID]bool{}
	var list []rollingupdate.Echo
	for _, rc := range []*corev1.ReplicationController{t.old, t.new} {
		if rc == nil {
			continue
		}
		for _, e := range t.controller.opts.Ledger.Pending(rc.UID, t.controller.stores, t.seen, t.versionOf) {
			if seen[e.UID] {
				continue
			}
			seen[e.UID] = true
			list = append(list, rollingupdate.Echo{Object: e.Object, Written: e.Written, Cached: e.Cached, Since: engine.WallTime(e.Since), Check: engine.WallTime(e.Check)})
			if e.Overdue {
				t.controller.MarkUnresolved(t.key)
			}
		}
	}
	slices.SortFunc(list, func(a, b rollingupdate.Echo) int { return strings.Compare(a.Object, b.Object) })
	return list
}

// versionOf is the version in which the snapshot has an object.
func (t *updateSync) versionOf(_ string, uid types.UID) string {
	for _, rc := range []*corev1.ReplicationController{t.old, t.new} {
		if rc != nil && rc.UID == uid {
			return rc.ResourceVersion
		}
	}
	for _, c := range []*rollingupdate.Controller{t.s.Old, t.s.New} {
		if c == nil {
			continue
		}
		for i := range c.Pods {
			if c.Pods[i].UID == string(uid) {
				return c.Pods[i].RV
			}
		}
	}
	return ""
}
