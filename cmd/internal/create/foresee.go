package create

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
)

// Forecast is what the loops will do with one object, as far as that can be known beforehand.
type Forecast struct {
	Kind, Namespace, Name string
	// Source is the file that the object is of.
	Source string
	// Refused says why there is nothing to tell: the API server would not take the object. Unknown
	// says why it cannot be asked.
	Refused error
	Unknown string
	// Trace is the first sync of the object, as the API server would have it. It is nil where
	// the object is refused.
	Trace *telemetry.Trace
	// Plan is the whole sequence; nil where Unplanned says why there is none.
	Plan      *views.Plan
	Unplanned string
	// Clashes are what would be in the way.
	Clashes []string
	// Unread is what could not be looked at for that.
	Unread []string
}

// Foresee says for every Deployment, ReplicaSet and ReplicationController among the objects
// what its loop would do with it. It asks the API server for dry runs, and writes nothing.
func (r *Request) Foresee(ctx context.Context, infos []*resource.Info) ([]Forecast, error) {
	client, err := r.Factory.KubernetesClientSet()
	if err != nil {
		return nil, err
	}
	f := &foreseer{r: r, client: client, around: map[string]*surroundings{}}
	return f.all(ctx, infos)
}

// all tells what there is to tell of each object, in the order of the input.
func (f *foreseer) all(ctx context.Context, infos []*resource.Info) ([]Forecast, error) {
	for i, info := range infos {
		f.input.add(info, i)
	}
	told := make([][]Forecast, len(infos))
	for _, i := range f.input.order(len(infos)) {
		if ctx.Err() != nil {
			return nil, errors.New("interrupted: nothing was written")
		}
		info := infos[i]
		if of := registrationOf(info.Mapping.GroupVersionKind); of != nil {
			told[i] = []Forecast{f.foresee(ctx, info, i, of)}
		} else if by := f.r.definitions.of(info); by != "" {
			told[i] = []Forecast{{Kind: info.Mapping.GroupVersionKind.Kind, Namespace: info.Namespace, Name: info.Name, Source: info.Source,
				Unknown: "its CustomResourceDefinition " + by + " is in the same input, and the API server knows no such objects before that is there"}}
		}
	}
	return slices.Concat(told...), nil
}

type foreseer struct {
	r      *Request
	client kubernetes.Interface
	input  input
	around map[string]*surroundings // by namespace
	first  map[[3]string]string     // the source of what was looked at, by kind, namespace and name
	// current leaves out what matters beforehand alone.
	current bool
}

// registrationOf is the loop that keeps objects of a kind; nil for none.
func registrationOf(kind schema.GroupVersionKind) *engine.Registration {
	if kind.GroupVersion() != appsv1.SchemeGroupVersion && kind.GroupVersion() != corev1.SchemeGroupVersion {
		return nil
	}
	for i := range controllers.Registered {
		if r := &controllers.Registered[i]; r.Loop.Kind == kind.Kind {
			return r
		}
	}
	return nil
}

func (f *foreseer) foresee(ctx context.Context, info *resource.Info, position int, of *engine.Registration) Forecast {
	out := Forecast{Kind: of.Loop.Kind, Namespace: info.Namespace, Name: info.Name, Source: info.Source}
	o, err := f.dryRun(info)
	fresh := missingNamespace(err)
	if fresh {
		o, err = f.dryRunElsewhere(info, position, err)
	}
	if err != nil {
		out.Refused = Failure(err)
		return out
	}
	w, err := workloadOf(of.Loop.Kind, o)
	if err != nil {
		out.Refused = err
		return out
	}
	if name := f.input.unnamed[position]; name != "" { // The dry run has made up one that is not kept.
		w.meta.SetName(name)
	}
	out.Name = w.meta.GetName()
	if f.again(&out) {
		return out
	}
	if !fresh {
		w.refused = refusesPods(ctx, f.client, w, &f.input)
	}
	f.judge(ctx, &out, of, w, f.surroundings(ctx, info.Namespace, fresh))
	return out
}

// again reports whether the input has the same object before, and says what becomes of the second then.
func (f *foreseer) again(out *Forecast) bool {
	key := [3]string{out.Kind, out.Namespace, out.Name}
	first, twice := f.first[key]
	switch {
	case !twice:
		if f.first == nil {
			f.first = map[[3]string]string{}
		}
		f.first[key] = out.Source
	case f.r.apply:
		out.Unplanned = "the input changes it a second time, after " + first + ": how that goes depends on how far the first change has come by then; leave one of them out"
	default:
		out.Refused = fmt.Errorf("the input has it twice: the API server creates that of %s, and refuses this one; leave one of them out", first)
	}
	return twice
}

// judge says what a workload will do beside what is there.
func (f *foreseer) judge(ctx context.Context, out *Forecast, of *engine.Registration, w *workload, s *surroundings) {
	var err error
	if out.Trace, err = s.look(ctx, f.client, of, w); err != nil {
		out.Unplanned = err.Error()
		return
	}
	snapshot, err := out.Trace.Decided(controllers.Loops)
	if err != nil {
		out.Unplanned = "the first sync would fail: " + failureText(out.Trace, err)
		return
	}
	out.Clashes, out.Unread = clashes(w, s, &f.input), s.unread
	room := out.foresee(ctx, w, s, snapshot)
	if by := adopter(w, s, &f.input); by != "" {
		out.Plan, out.Unplanned = nil, "Deployment "+by+" adopts it and decides on its size"
		if f.input.adopts(w) {
			s.joins(w, room)
		} else { // The Deployment is there, with the pods that it keeps, and scales down at once.
			s.drops(w)
		}
	}
}

func failureText(t *telemetry.Trace, err error) string {
	if t.Failure != nil {
		return t.Failure.Message
	}
	return err.Error()
}

// dryRun is the object as the API server would have it, with its defaults.
func (f *foreseer) dryRun(info *resource.Info) (runtime.Object, error) {
	copied := *info
	copied.Object = info.Object.DeepCopyObject()
	if err := f.r.prepare(&copied); err != nil {
		return nil, err
	}
	return f.r.send(&copied, true)
}

// elsewhere is a namespace that every cluster has.
const elsewhere = metav1.NamespaceDefault

// dryRunElsewhere is dryRun for an object whose namespace the input creates, which the API server
// completes and checks in a namespace that is there, under a name that nobody has.
func (f *foreseer) dryRunElsewhere(info *resource.Info, position int, missing error) (runtime.Object, error) {
	switch at, found := f.input.namespaces[info.Namespace]; {
	case !found:
		return nil, missing
	case at > position:
		return nil, fmt.Errorf("its namespace %s comes after it in the input: put the Namespace first", info.Namespace)
	}
	o, ok := info.Object.DeepCopyObject().(*unstructured.Unstructured)
	if !ok {
		return nil, missing
	}
	o.SetNamespace(elsewhere)
	if info.Name != "" {
		o.SetGenerateName(info.Name + "-")
		o.SetName("")
	}
	answer, err := f.r.helper(info, true).Create(elsewhere, true, o)
	if err != nil {
		return nil, fmt.Errorf("its namespace %s is created by the same input, so that the API server was asked about it in namespace %s, and refused: %w", info.Namespace, elsewhere, err)
	}
	named, err := meta.Accessor(answer)
	if err != nil {
		return nil, err
	}
	named.SetNamespace(info.Namespace)
	if info.Name != "" {
		named.SetName(info.Name)
		named.SetGenerateName("")
	}
	return answer, nil
}

// workload is an object of one of the loops in the form that all have.
type workload struct {
	kind     string
	object   runtime.Object
	meta     metav1.Object
	selector *metav1.LabelSelector
	template corev1.PodTemplateSpec
	observed int64  // the generation that its status is of
	refused  string // why the API server would create none of its pods; "" where it would or was not asked
}

// owned reports whether a controller has it.
func (w *workload) owned() bool { return metav1.GetControllerOf(w.meta) != nil }

// workloadOf reads the object that an API server has answered.
func workloadOf(kind string, o runtime.Object) (*workload, error) {
	var typed runtime.Object
	switch kind {
	case "Deployment":
		typed = &appsv1.Deployment{}
	case "ReplicaSet":
		typed = &appsv1.ReplicaSet{}
	default:
		typed = &corev1.ReplicationController{}
	}
	if err := readInto(o, typed); err != nil {
		return nil, fmt.Errorf("read the %s: %w", kind, err)
	}
	return workloadIn(typed), nil
}

func workloadIn(o runtime.Object) *workload {
	switch x := o.(type) {
	case *appsv1.Deployment:
		return &workload{"Deployment", x, x, x.Spec.Selector, x.Spec.Template, x.Status.ObservedGeneration, ""}
	case *appsv1.ReplicaSet:
		return &workload{"ReplicaSet", x, x, x.Spec.Selector, x.Spec.Template, x.Status.ObservedGeneration, ""}
	case *corev1.ReplicationController:
		w := &workload{kind: "ReplicationController", object: x, meta: x, selector: &metav1.LabelSelector{MatchLabels: x.Spec.Selector}, observed: x.Status.ObservedGeneration}
		if x.Spec.Template != nil {
			w.template = *x.Spec.Template
		}
		return w
	}
	return nil
}

// look decides once on a workload beside what is there, as its loop will.
func (s *surroundings) look(ctx context.Context, client kubernetes.Interface, of *engine.Registration, w *workload) (*telemetry.Trace, error) {
	if s.blind != nil {
		return nil, s.blind
	}
	around := make([]runtime.Object, 0, len(s.workloads)+len(s.pods)+1)
	for _, other := range s.workloads {
		around = append(around, other.object)
	}
	for i := range s.pods {
		around = append(around, &s.pods[i])
	}
	return decide(ctx, client, of, w, append(around, w.object))
}

// Decide decides once on an object, as its loop would if it and what is around it were all
// there is. It writes nothing, and its error is that no loop keeps such objects.
func Decide(ctx context.Context, client kubernetes.Interface, o runtime.Object, around []runtime.Object) (*telemetry.Trace, error) {
	w := workloadIn(o)
	if w == nil {
		return nil, fmt.Errorf("no loop keeps a %T", o)
	}
	for i := range controllers.Registered {
		if of := &controllers.Registered[i]; of.Loop.Kind == w.kind {
			return decide(ctx, client, of, w, append(slices.Clone(around), o))
		}
	}
	return nil, fmt.Errorf("no loop keeps a %s", w.kind)
}

func decide(ctx context.Context, client kubernetes.Interface, of *engine.Registration, w *workload, all []runtime.Object) (*telemetry.Trace, error) {
	caches := informers.NewSharedInformerFactory(client, 0) // Filled by hand, and never started.
	loop, err := of.New(ctx, engine.Needs{Informers: caches, Client: client, Options: engine.Options{Mode: engine.Watch}})
	if err != nil {
		return nil, err
	}
	apps, core := caches.Apps().V1(), caches.Core().V1()
	for _, o := range all {
		store := core.Pods().Informer().GetIndexer()
		switch o.(type) {
		case *appsv1.Deployment:
			store = apps.Deployments().Informer().GetIndexer()
		case *appsv1.ReplicaSet:
			store = apps.ReplicaSets().Informer().GetIndexer()
		case *corev1.ReplicationController:
			store = core.ReplicationControllers().Informer().GetIndexer()
		}
		if err := store.Add(o); err != nil {
			return nil, err
		}
	}
	return loop.Look(ctx, w.meta.GetNamespace(), w.meta.GetName()), nil
}
