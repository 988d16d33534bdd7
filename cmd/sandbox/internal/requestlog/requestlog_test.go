package requestlog

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// Requests of the loops are noted once each, and their answers can still be read.
func TestFollow(t *testing.T) {
	const refused = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods is forbidden: exceeded quota: full"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, refused)
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "seen.txt")
	if err := os.WriteFile(path, []byte("replicaset-controller list pods: 200\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(File, path)
	config := &rest.Config{Host: server.URL}
	if err := Follow(config); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: config.WrapTransport(http.DefaultTransport)}
	for _, x := range []struct{ agent, method, path, kind string }{
		{"loopscope/dev replicaset-controller", "POST", "/api/v1/namespaces/shop/pods", ""},
		{"loopscope/dev replicaset-controller", "POST", "/api/v1/namespaces/shop/pods", ""},
		{"loopscope/dev replicaset-controller", "GET", "/api/v1/namespaces/shop/pods?labelSelector=a", ""},
		{"loopscope/dev replicaset-controller", "PATCH", "/api/v1/namespaces/shop/pods/p", "application/strategic-merge-patch+json"},
		{"loopscope/dev deployment-controller", "PUT", "/apis/apps/v1/namespaces/shop/deployments/web/status", ""},
		{"loopscope/dev unblock", "GET", "/api/v1/namespaces?watch=true", ""},
		{"loopscope/dev informers", "GET", "/api/v1/pods", ""},
	} {
		request, err := http.NewRequest(x.method, server.URL+x.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("User-Agent", x.agent)
		request.Header.Set("Content-Type", x.kind)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if want := map[string]string{"POST": refused}[x.method]; err != nil || string(body) != want {
			t.Errorf("%s %s is answered %q, %v", x.method, x.path, body, err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"replicaset-controller list pods: 200",
		"replicaset-controller create pods: 403 Forbidden by quota",
		"replicaset-controller patch (strategic-merge-patch) pods: 200",
		"deployment-controller update deployments/status: 200",
		"unblock watch namespaces: 200", "",
	}
	if string(got) != strings.Join(want, "\n") {
		t.Errorf("noted:\n%s", got)
	}
}
