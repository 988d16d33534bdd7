package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whoever has named the namespace of a console is told that it is not there, and nobody else is.
func TestOpenSaysThatNoConsoleIsThere(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	forbidden := false
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/v1/namespaces/tools/services" || forbidden {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"ServiceList","apiVersion":"v1","items":[]}`)
	}))
	defer api.Close()
	for _, c := range []struct {
		named, forbidden bool
		want             string
	}{
		{true, false, "No console is installed in namespace tools: no Service there has the label app.kubernetes.io/name=loopscope, selects pods and has one port, or one named https. One is started here instead\n"},
		{true, true, "The console that is installed in namespace tools cannot be opened: you may not look for it (list services). One is started here instead\n"},
		{false, false, ""},
		{false, true, ""},
	} {
		forbidden = c.forbidden
		o := openOptions{manager: newManagerOptions(), named: c.named, in: "tools"}
		*o.manager.kubeconfig.KubeConfig = contexts(t, api.URL)
		var said strings.Builder
		served, err := o.forwarded(t.Context(), streams{out: io.Discard, err: &said})
		if served || err != nil || said.String() != c.want {
			t.Errorf("named is %t, forbidden is %t: %t, %v, %q, want %q", c.named, c.forbidden, served, err, said.String(), c.want)
		}
	}
}
