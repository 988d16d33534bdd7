package app

import (
	"fmt"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/loopscope/loopscope/telemetry/metrics"
)

// clients makes the client of a controller.
type clients func(controller string) (kubernetes.Interface, error)

// controllerClients are those of the credentials of this process, or each of a ServiceAccount of
// its own in kube-system [M-4]. The transport of each is fenced.
func controllerClients(opts Options, m *metrics.Metrics, fence func(http.RoundTripper) http.RoundTripper) (clients, error) {
	config := func(string) *rest.Config { return rest.CopyConfig(opts.Config) }
	if opts.OwnAccounts {
		asking, err := client(opts, m, "accounts")
		if err != nil {
			return nil, err
		}
		accounts := clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(opts.Config), asking.CoreV1(), metav1.NamespaceSystem)
		config = func(controller string) *rest.Config { return as(accounts, opts.Config, controller) }
	}
	return func(controller string) (kubernetes.Interface, error) {
		own := opts
		own.Config = config(controller)
		own.Config.Wrap(fence)
		return client(own, m, controller)
	}, nil
}

// as is the configuration of a client that has an account of its own and no other credentials.
func as(accounts clientbuilder.ControllerClientBuilder, config *rest.Config, account string) *rest.Config {
	config = rest.AnonymousClientConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &ownAccount{accounts: accounts, name: account, next: next}
	})
	return config
}

// ownAccount sends requests with the token of a ServiceAccount. It looks for the account with the
// first request: the loops are built while the API server may be away.
type ownAccount struct {
	accounts clientbuilder.ControllerClientBuilder
	name     string
	next     http.RoundTripper

	mu   sync.Mutex
	with http.RoundTripper // nil until the account was found
}

// RoundTrip sends a request. Where the account may not be had it is refused, and not sent.
func (a *ownAccount) RoundTrip(request *http.Request) (*http.Response, error) {
	with, err := a.found()
	switch {
	case apierrors.IsForbidden(err):
		return refusal(request, fmt.Sprintf("not sent: this process may not look for the ServiceAccount %s in %s, which --use-service-account-credentials needs: %v", a.name, metav1.NamespaceSystem, err))
	case err != nil:
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, fmt.Errorf("ServiceAccount %s: %w", a.name, err)
	}
	return with.RoundTrip(request)
}

func (a *ownAccount) found() (http.RoundTripper, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.with == nil {
		config, err := a.accounts.Config(a.name)
		if err != nil {
			return nil, err
		}
		a.with = config.WrapTransport(a.next)
	}
	return a.with, nil
}
