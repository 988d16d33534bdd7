package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// settings are the names of the loop and of its parts.
var settings = engine.Settings{Name: rollingupdate.Loop.Name, Component: "rollingupdate-controller", Queue: "rollingupdate"}

// Registered is the loop as a program runs it.
var Registered = engine.Registration{
	Controller: "rollingupdate-controller", SyncsFlag: "concurrent-rollingupdate-syncs",
	Loop: rollingupdate.Loop, Kind: family.KindReplicationController, Resource: corev1.SchemeGroupVersion.WithResource(family.ResourceReplicationControllers), Settings: settings, Workers: engine.DefaultWorkers, Explain: Explain,
	Rights: engine.Rights{
		Decide: []rbacv1.PolicyRule{engine.Rule(corev1.GroupName, engine.Reads, family.ResourceReplicationControllers, "pods")},
		Act: []rbacv1.PolicyRule{
			engine.Rule(corev1.GroupName, []string{"create", "update", "delete"}, family.ResourceReplicationControllers),
			engine.Rule(corev1.GroupName, []string{"update"}, family.ResourceReplicationControllers+"/status"),
			engine.Rule(corev1.GroupName, []string{"patch", "delete"}, "pods"),
		},
	},
	New: func(ctx context.Context, n engine.Needs) (*engine.Loop, error) {
		return New(ctx, n.Informers, n.Client, n.Options)
	},
}

// controller is the part of a Loop that updates ReplicationControllers.
type controller struct {
	*engine.Loop
	opts    engine.Options
	client  kubernetes.Interface
	lister  corelisters.ReplicationControllerLister
	indexer cache.Indexer
	pods    cache.Indexer
	stores  map[string]engine.Store
	// refused are refusals that Events tell of, where somebody looks on.
	refused map[types.UID]rollingupdate.Refused
}

// New builds the loop on shared informers, registers its handlers and starts nothing. The
// informers may be started before Run.
func New(_ context.Context, shared informers.SharedInformerFactory, client kubernetes.Interface, opts engine.Options) (*engine.Loop, error) {
	controllers, pods := shared.Core().V1().ReplicationControllers(), shared.Core().V1().Pods()
	opts = opts.WithDefaults()
	l := engine.New(settings, client, opts)
	if err := engine.AddIndex(controllers.Informer(), indexUpdates, updatesOf); err != nil {
		return nil, err
	}
	for name, f := range map[string]cache.IndexFunc{family.PodController: family.IndexPod, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc} {
		if err := engine.AddIndex(pods.Informer(), name, f); err != nil {
			return nil, err
		}
	}
	b := &controller{
		Loop: l, opts: opts, client: client,
		lister: controllers.Lister(), indexer: controllers.Informer().GetIndexer(), pods: pods.Informer().GetIndexer(),
		stores: map[string]engine.Store{
			family.ResourceReplicationControllers: controllers.Informer().GetStore(),
			family.ResourcePods:                   pods.Informer().GetStore(),
		},
	}
	l.Use(b)
	if err := l.Register(family.ResourceReplicationControllers, controllers.Informer(), b.controllerHandler()); err != nil {
		return nil, err
	}
	return l, l.Register(family.ResourcePods, pods.Informer(), b.podHandler())
}

func (b *controller) now() time.Time { return b.opts.Clock.Now() }

// indexUpdates files a ReplicationController under every update that it has a part in, and
// under the name of each other one that it names.
const indexUpdates = "rollingUpdates"

// updatesOf are the keys by which a ReplicationController concerns an update: "old/" with the
// update's key, and "names/" with that of one that it names.
func updatesOf(obj any) ([]string, error) {
	rc, ok := obj.(*corev1.ReplicationController)
	if !ok {
		return nil, nil
	}
	var keys []string
	if isOld(rc) {
		keys = append(keys, "old/"+engine.KeyOf(rc))
	}
	if from := sourceName(rc); from != "" {
		keys = append(keys, "old/"+rc.Namespace+"/"+from)
	}
	for _, name := range namesIn(rc) {
		keys = append(keys, "names/"+rc.Namespace+"/"+name)
	}
	return keys, nil
}

// Keys are those of all updates, whose old one may be gone. One that nobody updates has none.
func (b *controller) Keys() []string {
	var keys []string
	for _, value := range b.indexer.ListIndexFuncValues(indexUpdates) {
		if key, is := strings.CutPrefix(value, "old/"); is {
			keys = append(keys, key)
		}
	}
	return keys
}

// isOld reports whether an update of it is asked for, or was begun, or has left a result.
func isOld(rc *corev1.ReplicationController) bool {
	for _, key := range []string{rollingupdate.AnnotationNext, rollingupdate.AnnotationOriginal, rollingupdate.AnnotationParked, rollingupdate.AnnotationResult} {
		if _, has := rc.Annotations[key]; has {
			return true
		}
	}
	_, asked := rc.Annotations[rollingupdate.AnnotationRequest]
	return asked && !finishesItself(rc)
}

// finishesItself reports whether the request on it is for the update from one that is gone.
func finishesItself(rc *corev1.ReplicationController) bool {
	return sourceName(rc) != "" && wanted(rc) == rc.Name
}

// sourceName is the name of the one that it replaces; "" for none.
func sourceName(rc *corev1.ReplicationController) string {
	name, _, _ := strings.Cut(rc.Annotations[rollingupdate.AnnotationSource], ":")
	return name
}

// wanted is the new one that its request names, as far as it can be read.
func wanted(rc *corev1.ReplicationController) string {
	var r struct{ To string }
	_ = json.Unmarshal([]byte(rc.Annotations[rollingupdate.AnnotationRequest]), &r) // Observe says what is wrong with it.
	return r.To
}

// namesIn are the other ones that it names.
func namesIn(rc *corev1.ReplicationController) []string {
	var names []string
	for _, name := range []string{wanted(rc), rc.Annotations[rollingupdate.AnnotationNext], parkedFrom(rc)} {
		if name != "" && name != rc.Name {
			names = append(names, name)
		}
	}
	return names
}

func parkedFrom(rc *corev1.ReplicationController) string {
	if p, _ := parked(rc); p != nil {
		return p.From
	}
	return ""
}

// concerned are the keys of the updates that a ReplicationController has a part in.
func (b *controller) concerned(rc *corev1.ReplicationController) map[string]bool {
	keys := map[string]bool{}
	if isOld(rc) {
		keys[engine.KeyOf(rc)] = true
	}
	if from := sourceName(rc); from != "" {
		keys[rc.Namespace+"/"+from] = true
	}
	for _, obj := range b.namedBy(engine.KeyOf(rc)) {
		if old, ok := obj.(*corev1.ReplicationController); ok {
			keys[engine.KeyOf(old)] = true
		}
	}
	return keys
}

func (b *controller) controllerHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if rc, ok := obj.(*corev1.ReplicationController); ok {
				b.wake(b.concerned(rc), b.Added(family.KindReplicationController, rc, initial))
			}
		},
		UpdateFunc: func(oldObj, newObj any) {
			old, ok := oldObj.(*corev1.ReplicationController)
			rc, is := newObj.(*corev1.ReplicationController)
			if ok && is && old.ResourceVersion != rc.ResourceVersion {
				b.updated(old, rc)
			}
		},
		DeleteFunc: func(obj any) {
			rc, tombstone, ok := changes.Unwrap[*corev1.ReplicationController](obj)
			if !ok {
				b.opts.Logger.Error("Unexpected object in a delete event", "controller", b.Name(), "want", family.KindReplicationController)
				return
			}
			b.gone(rc, tombstone)
		},
	}
}

func (b *controller) updated(old, rc *corev1.ReplicationController) {
	if old.UID != rc.UID { // Deleted and created again between two looks.
		b.gone(old, false)
	}
	keys := b.concerned(rc)
	for key := range b.concerned(old) {
		keys[key] = true
	}
	if len(keys) == 0 {
		return
	}
	changed := changes.Between(old, rc)
	for i := range changed {
		if changed[i].Field == requestField {
			changed[i].From, changed[i].To = asked(old), asked(rc)
		}
	}
	b.wake(keys, changes.Modified(family.KindReplicationController, old, rc, changed, b.Author(old, rc, changed), b.now()))
}

const requestField = "metadata.annotations[" + rollingupdate.AnnotationRequest + "]"

// asked is what the request on one asks for, as a cause shows it; "" for nothing, or nothing that
// can be read.
func asked(rc *corev1.ReplicationController) string {
	r, err := rollingupdate.ParseRequest(rc.Annotations[rollingupdate.AnnotationRequest])
	if err != nil {
		return ""
	}
	r.Image = redact.Image(r.Image)
	text := r.Goal()
	switch {
	case r.Abort:
		text += ", taken back"
	case r.Paused:
		text += ", paused"
	}
	return redact.Line(text)
}

func (b *controller) gone(rc *corev1.ReplicationController, tombstone bool) {
	b.opts.Managers.Forget(rc.UID) // The ReplicationController loop may not run beside this one.
	b.opts.Ledger.Forget(rc.UID)
	b.ForgetKey(engine.KeyOf(rc))
	b.wake(b.concerned(rc), changes.Deleted(family.KindReplicationController, rc, tombstone, b.now()))
}

func (b *controller) wake(keys map[string]bool, cause telemetry.Cause) {
	for key := range keys {
		b.Enqueue(key, cause)
	}
}

// podHandler wakes the updates of a pod's controller.
func (b *controller) podHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if pod, ok := obj.(*corev1.Pod); ok {
				b.podChanged(pod, changes.Added(family.KindPod, pod, initial, b.now()))
			}
		},
		UpdateFunc: func(oldObj, newObj any) {
			old, ok := oldObj.(*corev1.Pod)
			pod, is := newObj.(*corev1.Pod)
			if !ok || !is || old.ResourceVersion == pod.ResourceVersion {
				return
			}
			b.podReleased(old, pod)
			if fields := family.PodFields(old, pod); len(fields) > 0 {
				b.podChanged(pod, changes.Modified(family.KindPod, old, pod, fields, "", b.now()))
			}
		},
		DeleteFunc: func(obj any) {
			if pod, tombstone, ok := changes.Unwrap[*corev1.Pod](obj); ok {
				b.podChanged(pod, changes.Deleted(family.KindPod, pod, tombstone, b.now()))
			}
		},
	}
}

func (b *controller) podChanged(pod *corev1.Pod, cause telemetry.Cause) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || ref.Kind != family.KindReplicationController {
		return
	}
	rc, err := b.lister.ReplicationControllers(pod.Namespace).Get(ref.Name)
	if err != nil || rc.UID != ref.UID || !isUnderWay(rc) && len(b.namedBy(engine.KeyOf(rc))) == 0 {
		return
	}
	b.wake(b.concerned(rc), cause)
}

// podReleased wakes the update that waits for a pod to lose its controller, which may be gone
// itself.
func (b *controller) podReleased(old, pod *corev1.Pod) {
	ref := metav1.GetControllerOf(old)
	if ref == nil || ref.Kind != family.KindReplicationController || metav1.GetControllerOf(pod) != nil {
		return
	}
	cause := changes.Modified(family.KindPod, old, pod, []decision.Change{{Field: "metadata.ownerReferences", From: ref.Name}}, "", b.now())
	for _, obj := range b.namedBy(pod.Namespace + "/" + ref.Name) {
		if rc, ok := obj.(*corev1.ReplicationController); ok {
			b.Enqueue(engine.KeyOf(rc), cause)
		}
	}
}

// isUnderWay reports whether it has a part in an update that has not ended.
func isUnderWay(rc *corev1.ReplicationController) bool {
	for _, key := range []string{rollingupdate.AnnotationRequest, rollingupdate.AnnotationSource, rollingupdate.AnnotationNext} {
		if _, has := rc.Annotations[key]; has {
			return true
		}
	}
	return false
}

// namedBy are those that name the one of that key.
func (b *controller) namedBy(key string) []any {
	list, _ := b.indexer.ByIndex(indexUpdates, "names/"+key) // The constructor added the index.
	return list
}

// readLive finds out what became of a write whose reply was lost: the caches have to catch
// up with everything that a live read shows.
func (b *controller) readLive(ctx context.Context, t *updateSync) error {
	for _, rc := range []*corev1.ReplicationController{t.old, t.new} {
		if rc == nil {
			continue
		}
		asked := b.now()
		live, err := b.client.CoreV1().ReplicationControllers(rc.Namespace).Get(ctx, rc.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			b.opts.Ledger.Confirmed(rc.UID, asked, nil)
			continue // The cache will see it go.
		case err != nil:
			return fmt.Errorf("live read after a lost reply: %w", err)
		}
		b.opts.Ledger.Confirmed(rc.UID, asked, []engine.Entry{t.entry(live)})
		t.s.LiveReads = append(t.s.LiveReads, family.KindReplicationController+" "+live.Name)
	}
	return b.readNewLive(ctx, t)
}

// readNewLive looks whether a new one was created that the cache does not show.
func (b *controller) readNewLive(ctx context.Context, t *updateSync) error {
	if t.new != nil || t.s.NewName == "" {
		return nil
	}
	live, err := b.client.CoreV1().ReplicationControllers(t.s.Namespace).Get(ctx, t.s.NewName, metav1.GetOptions{})
	if err == nil {
		b.opts.Ledger.ReadLive(t.entry(live))
		t.s.LiveReads = append(t.s.LiveReads, family.KindReplicationController+" "+live.Name)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("live read after a lost reply: %w", err)
	}
	return nil
}

// Pending is nothing: the ledger is shared, and the Deployment loop lists it.
func (*controller) Pending() []telemetry.EchoState { return nil }

// entry is one of the two as the ledger remembers it, filed under the old one.
func (t *updateSync) entry(rc *corev1.ReplicationController) engine.Entry {
	e := engine.Entry{UID: rc.UID, Resource: family.ResourceReplicationControllers, Object: family.KindReplicationController + " " + rc.Name, RV: rc.ResourceVersion}
	if t.old != nil && rc.UID != t.old.UID {
		e.Owner = t.old.UID
	}
	return e
}

func (t *updateSync) podEntry(pod *corev1.Pod) engine.Entry {
	var owner types.UID
	if t.old != nil {
		owner = t.old.UID
	}
	return engine.Entry{UID: pod.UID, Owner: owner, Resource: family.ResourcePods, Object: family.KindPod + " " + pod.Name, RV: pod.ResourceVersion}
}
