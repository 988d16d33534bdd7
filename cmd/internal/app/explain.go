package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sort"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// Explained are the names of the loops whose objects Explain reads from a cluster.
var Explained = func() (names []string) {
	for _, r := range controllers.Explained {
		names = append(names, r.Loop.Name)
	}
	return names
}()

// checkWithin is how long a cluster may take to answer a first question.
const checkWithin = 10 * time.Second

// reading is the configuration of a client for a few reads, with a bound on each.
func reading(config *rest.Config, version, part string) (*rest.Config, error) {
	if config == nil {
		return nil, errors.New("no cluster is configured: give --kubeconfig, or set KUBECONFIG")
	}
	config = rest.CopyConfig(config)
	config.UserAgent = program + "/" + version + " " + part
	if config.Timeout == 0 {
		config.Timeout = checkWithin
	}
	return config, nil
}

// reader makes a client for a few reads.
func reader(config *rest.Config, version, part string) (kubernetes.Interface, error) {
	config, err := reading(config, version, part)
	if err != nil {
		return nil, err
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return c, nil
}

// Check asks the cluster for its version, and says what to do if it does not answer.
func Check(ctx context.Context, config *rest.Config, version string) error {
	c, err := reader(config, version, "check")
	if err != nil {
		return err
	}
	_, err = c.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted before the API server answered")
	}
	return unreachable(config, redact.Error(err))
}

// unreachable is a cluster that does not answer, or whose answer is not trusted.
func unreachable(config *rest.Config, err error) error {
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return fmt.Errorf("the certificate of the cluster at %s is not trusted: %w\nIs it that cluster? Then its address and certificate-authority in the kubeconfig do not go together: fetch the kubeconfig again, or choose another one with --context or --kubeconfig", config.Host, err)
	}
	return fmt.Errorf("the cluster at %s does not answer: %w\nIs it running? Check the address with `kubectl cluster-info`, or choose another one with --context or --kubeconfig", config.Host, err)
}

// unable is an API server that answers and cannot serve.
func unable(config *rest.Config, err error) error {
	return fmt.Errorf("the API server at %s cannot serve: %w\nLook at it and its etcd with `kubectl get --raw /readyz`, and ask again", config.Host, err)
}

// Explain observes one object of a loop of Explained on a live cluster, decides once and writes
// nothing. The trace that comes back is what a sync would record now.
func Explain(ctx context.Context, config *rest.Config, loop, namespace, name, version string) (*telemetry.Trace, error) {
	c, err := reader(config, version, "explain")
	if err != nil {
		return nil, err
	}
	r := registered(loop)
	if r.Explain == nil {
		return nil, fmt.Errorf("the objects of the loop %q cannot be explained", loop)
	}
	t, err := r.Explain(ctx, c, namespace, name, engine.Options{}.Follow(releaseOf(ctx, c.Discovery()), nil))
	switch {
	case err == nil:
		return t, nil
	case apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err): // No API server says it like this.
		return nil, fmt.Errorf("%s does not serve %s: is it the API server of a cluster?", config.Host, r.Resource.GroupResource())
	case apierrors.IsNotFound(err):
		return nil, notFound(ctx, config, &r, namespace, name, version)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil, fmt.Errorf("%w\nexplain needs to get and list the %s, and what they own, in namespace %s", err, r.Resource.Resource, namespace)
	case unavailable(err):
		return nil, unable(config, err)
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		return nil, unreachable(config, err)
	default:
		return nil, err
	}
}

// unavailable reports whether an API server answered that it cannot serve.
func unavailable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	f := decision.Failure{Code: int(status.Status().Code), Reason: string(status.Status().Reason)}
	return f.Down()
}

// Warnings are the newest Warning events of the pods that keep the object of a trace.
func Warnings(ctx context.Context, config *rest.Config, t *telemetry.Trace, version string) ([]telemetry.Warning, error) {
	var pods []string
	for _, f := range t.Diagnosis.Findings {
		pods = append(pods, f.Pods...)
	}
	if len(pods) == 0 {
		return nil, nil
	}
	c, err := reader(config, version, "explain")
	if err != nil {
		return nil, err
	}
	return engine.Warnings(ctx, c, t.Namespace, pods[:min(len(pods), 3)])
}

// notFound names what is there instead: this name in other namespaces, or other names in this one.
func notFound(ctx context.Context, config *rest.Config, of *engine.Registration, namespace, name, version string) error {
	text := fmt.Sprintf("there is no %s %s in namespace %s", cmp.Or(of.Kind, of.Loop.Kind), name, namespace)
	nor := fmt.Errorf("%s, nor any other there; give the namespace with -n, or list all with `kubectl get %s -A`", text, of.Resource.Resource)
	config, err := reading(config, version, "explain")
	if err != nil {
		return nor
	}
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return nor
	}
	elsewhere, err := c.Resource(of.Resource).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), Limit: 100})
	if err == nil && len(elsewhere.Items) > 0 {
		in := namesOf(elsewhere.Items, (*metav1.PartialObjectMetadata).GetNamespace, namespace)
		return fmt.Errorf("%s; there is one in %s: give the namespace with -n", text, in)
	}
	list, err := c.Resource(of.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 100})
	if err != nil || len(list.Items) == 0 {
		return nor
	}
	return fmt.Errorf("%s; those there are: %s", text, namesOf(list.Items, (*metav1.PartialObjectMetadata).GetName, name))
}

// namesOf are a few names, and how many more there are in the list, those that are most like the one that was meant first.
func namesOf(list []metav1.PartialObjectMetadata, of func(*metav1.PartialObjectMetadata) string, meant string) string {
	var names []string
	for i := range list {
		names = append(names, of(&list[i]))
	}
	sort.SliceStable(names, func(i, j int) bool { return prose.CommonPrefix(names[i], meant) > prose.CommonPrefix(names[j], meant) })
	return redact.Line(prose.Some(names, 5))
}
