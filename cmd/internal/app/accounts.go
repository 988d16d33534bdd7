package app

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
		asking, err := accountClient(opts, m)
		if err != nil {
			return nil, err
		}
		accounts := clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(opts.Config), asking.CoreV1(), metav1.NamespaceSystem)
		config = func(controller string) *rest.Config { return as(accounts, asking, opts.Config, controller) }
	}
	return func(controller string) (kubernetes.Interface, error) {
		own := opts
		own.Config = config(controller)
		own.Config.Wrap(fence)
		return client(own, m, controller)
	}, nil
}

// accountsWithin is how long a request for an account or its token may take: no request that needs
// it goes on meanwhile.
const accountsWithin = 10 * time.Second

// accountClient asks for accounts and tokens. It speaks JSON: the log of requests masks a token in
// text, and could not in binary.
func accountClient(opts Options, m *metrics.Metrics) (kubernetes.Interface, error) {
	config := configOf(opts, m, "accounts")
	config.Timeout = accountsWithin
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for accounts: %w", err)
	}
	return c, nil
}

// as is the configuration of a client that has an account of its own and no other credentials.
func as(accounts clientbuilder.ControllerClientBuilder, asking kubernetes.Interface, config *rest.Config, account string) *rest.Config {
	config = rest.AnonymousClientConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &ownAccount{accounts: accounts, asking: asking, name: account, next: next}
	})
	return config
}

// ownAccount sends requests with the token of a ServiceAccount. It looks for the account with the
// first request: the loops are built while the API server may be away.
type ownAccount struct {
	accounts clientbuilder.ControllerClientBuilder
	asking   kubernetes.Interface
	name     string
	next     http.RoundTripper

	mu   sync.Mutex
	with http.RoundTripper // nil until the account was found
}

// RoundTrip sends a request. Where the account or its token may not be had it is refused, and not
// sent.
func (a *ownAccount) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return a.unsent(request, err)
	}
	with, err := a.found()
	if err != nil {
		return a.unsent(request, err)
	}
	response, err := with.RoundTrip(request)
	if err != nil && strings.Contains(err.Error(), noToken) {
		return a.unsent(request, cmp.Or(a.refused(request.Context()), err))
	}
	return response, err
}

// noToken is in the error of a token that could not be had, which does not say why.
const noToken = "failed to get token"

// refused is why no token is to be had, where the API server refuses it.
func (a *ownAccount) refused(ctx context.Context) error {
	_, err := a.asking.CoreV1().ServiceAccounts(metav1.NamespaceSystem).CreateToken(ctx, a.name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// unsent is the outcome of a request that needs an account which cannot be had.
func (a *ownAccount) unsent(request *http.Request, err error) (*http.Response, error) {
	if apierrors.IsForbidden(err) {
		return refusal(request, fmt.Sprintf("not sent: this process may not act as the ServiceAccount %s in %s, which --use-service-account-credentials needs: %v", a.name, metav1.NamespaceSystem, err))
	}
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, fmt.Errorf("ServiceAccount %s: %w", a.name, err)
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
