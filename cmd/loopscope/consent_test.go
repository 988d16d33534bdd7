package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Credentials go to a console of the cluster only where somebody has said so, once for each console.
func TestConsent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trusted")
	token, certificate := &rest.Config{BearerToken: "t"}, &rest.Config{TLSClientConfig: rest.TLSClientConfig{CertFile: "c"}}
	plugin := &rest.Config{ExecProvider: &clientcmdapi.ExecConfig{}}
	for _, c := range []struct {
		name   string
		config *rest.Config
		answer string // "-" where nobody can be asked
		uid    string
		want   bool
		says   string
	}{
		{"a certificate", certificate, "-", "a", true, ""},
		{"a token, and nobody to ask", token, "-", "a", false, "give --console-namespace=loopscope"},
		{"no", token, "n\n", "a", false, "One is started here instead"},
		{"nothing", plugin, "", "a", false, "can read the credentials"},
		{"yes", plugin, "Yes\n", "a", true, "[y/N]"},
		{"the same again", token, "-", "a", true, ""},
		{"another one", token, "-", "b", false, "give --console-namespace"},
	} {
		by := consent{remembers: file}
		if c.answer != "-" {
			by.asks = strings.NewReader(c.answer)
		}
		var out strings.Builder
		if got := by.given(c.config, "loopscope", c.uid, &out); got != c.want || !strings.Contains(out.String(), c.says) || c.says == "" && out.Len() > 0 {
			t.Errorf("%s: %v, %q", c.name, got, out.String())
		}
	}
	if (consent{asks: strings.NewReader("y\n")}).given(token, "loopscope", "a", io.Discard) != true {
		t.Error("without a place to remember it is no")
	}
}
