package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// deploymentsOf is an API server with these Deployments, as NAMESPACE/NAME.
func deploymentsOf(t *testing.T, all ...string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		in, isList := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/apis/apps/v1/"), "deployments")
		if !isList {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
			return
		}
		list := appsv1.DeploymentList{TypeMeta: metav1.TypeMeta{Kind: "DeploymentList", APIVersion: "apps/v1"}}
		for _, key := range all {
			namespace, name, _ := strings.Cut(key, "/")
			only, named := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
			if (in == "" || in == "namespaces/"+namespace+"/") && (!named || only == name) {
				list.Items = append(list.Items, appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// A Deployment that is not there is looked for: in other namespaces, and under other names.
func TestNotFound(t *testing.T) {
	config := deploymentsOf(t, "shop/web", "shop/worker", "shop/api", "pay/web", "pay/ledger",
		"many/a", "many/b", "many/c", "many/d", "many/e", "many/f", "many/g")
	for _, c := range []struct{ namespace, name, want string }{
		{"default", "web", "there is no Deployment web in namespace default; there is one in shop, pay: give the namespace with -n"},
		{"default", "worker", "there is one in shop: give the namespace with -n"},
		{"shop", "wob", "there is no Deployment wob in namespace shop; those there are: worker, web, api"},
		{"many", "z", "those there are: a, b, c, d, e and 2 more"},
		{"default", "wob", "nor any other there; give the namespace with -n, or list all with `kubectl get deployments -A`"},
	} {
		if _, err := Explain(t.Context(), config, "deployment", c.namespace, c.name, "test"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s/%s: %v, want %s", c.namespace, c.name, err, c.want)
		}
	}
}

// A server that is no API server says nothing of any Deployment.
func TestNoAPIServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, err := Explain(t.Context(), &rest.Config{Host: server.URL}, "deployment", "shop", "web", "test")
	if want := server.URL + " does not serve deployments.apps: is it the API server of a cluster?"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Every loop has objects that the API knows; those of another program it does not.
func TestKindsAndNames(t *testing.T) {
	var kinds []string
	for _, loop := range Loops().Names() {
		kinds = append(kinds, KindOf(loop).String())
	}
	if want := []string{"apps/v1, Kind=Deployment", "apps/v1, Kind=ReplicaSet", "/v1, Kind=ReplicationController", "/v1, Kind=ReplicationController"}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds are %q, want %q", kinds, want)
	}
	if got := KindOf("claim").GroupKind().String(); got != "claim" {
		t.Errorf("of another program: %s", got)
	}
	if names, err := Names(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, "claim", "shop", "test"); err == nil || !strings.Contains(err.Error(), `"claim"`) {
		t.Errorf("names of another program: %v, %v", names, err)
	}
}
