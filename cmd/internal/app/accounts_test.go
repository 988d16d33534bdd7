package app

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry/metrics"
)

// ownClient is that of the controller "web-controller" with an account of its own.
func ownClient(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	m, err := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of, err := controllerClients(Options{Config: config, OwnAccounts: true}.withDefaults(), m, func(next http.RoundTripper) http.RoundTripper { return next })
	if err != nil {
		t.Fatal(err)
	}
	c, err := of("web-controller")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A controller with an account of its own sends the token of that account, and nothing of the
// credentials of this process ([M-4]).
func TestOwnAccount(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if binary := "application/vnd.kubernetes.protobuf"; strings.Contains(r.URL.Path, "/serviceaccounts/") && (r.Header.Get("Content-Type") == binary || strings.Contains(r.Header.Get("Accept"), binary)) {
			t.Errorf("%s %s is binary, in which no log masks a token", r.Method, r.URL.Path)
		}
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Impersonate-User"))
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]any{"kind": "ServiceAccount", "apiVersion": "v1", "metadata": map[string]any{"name": "web-controller"}}
		switch {
		case strings.HasSuffix(r.URL.Path, "/token"):
			answer = map[string]any{"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": map[string]any{"expirationSeconds": 3600}, "status": map[string]any{"token": "its-own"}}
		case strings.Contains(r.URL.Path, "/deployments/"):
			answer = map[string]any{"kind": "Deployment", "apiVersion": "apps/v1", "metadata": map[string]any{"name": "web"}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	client := ownClient(t, &rest.Config{Host: server.URL, BearerToken: "of-the-process", Impersonate: rest.ImpersonationConfig{UserName: "me"}})
	if len(asked) > 0 {
		t.Errorf("before any request it asked for %q", asked)
	}
	for range 2 {
		if d, err := client.AppsV1().Deployments("shop").Get(context.Background(), "web", metav1.GetOptions{}); err != nil || d.Name != "web" {
			t.Fatal(err)
		}
	}
	own := asked[len(asked)-2:]
	if want := "GET /apis/apps/v1/namespaces/shop/deployments/web Bearer its-own "; own[0] != want || own[1] != want {
		t.Errorf("it asked for %q", own)
	}
	for _, request := range asked[:len(asked)-2] {
		if !strings.Contains(request, " /api/v1/namespaces/kube-system/serviceaccounts/web-controller") || !strings.HasSuffix(request, " Bearer of-the-process me") {
			t.Errorf("it asked for %q", request)
		}
	}
}

// Without the right to look for accounts a request is refused, which says what is lacking; without
// an API server it has no answer.
func TestNoOwnAccount(t *testing.T) {
	forbidden := answering(t, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "serviceaccounts is forbidden"})
	_, err := ownClient(t, forbidden).AppsV1().Deployments("shop").Create(context.Background(), &appsv1.Deployment{}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "may not act as the ServiceAccount web-controller in kube-system, which --use-service-account-credentials needs: serviceaccounts is forbidden") {
		t.Errorf("it says %v", err)
	}
	accountOnly := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any = map[string]any{"kind": "ServiceAccount", "apiVersion": "v1", "metadata": map[string]any{"name": "web-controller"}}
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "serviceaccounts/token is forbidden"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer accountOnly.Close()
	_, err = ownClient(t, &rest.Config{Host: accountOnly.URL}).AppsV1().Deployments("shop").Create(context.Background(), &appsv1.Deployment{}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "which --use-service-account-credentials needs: serviceaccounts/token is forbidden") {
		t.Errorf("without the right to its token it says %v", err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ownClient(t, nowhere()).AppsV1().Deployments("shop").Create(over, &appsv1.Deployment{}, metav1.CreateOptions{}); err == nil || !errors.Is(err, context.Canceled) {
		t.Errorf("of a request that is over it says %v", err)
	}
	_, err = ownClient(t, nowhere()).AppsV1().Deployments("shop").Create(context.Background(), &appsv1.Deployment{}, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "ServiceAccount web-controller: ") || apierrors.IsForbidden(err) {
		t.Errorf("it says %v", err)
	}
	if _, err := New(Options{Config: nowhere(), Watch: true, OwnAccounts: true}); err == nil || !strings.Contains(err.Error(), "only watches") {
		t.Errorf("watching with accounts: %v", err)
	}
}
