package app

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
)

// tokenOf is a token as the API server signs one.
func tokenOf(subject string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"kubernetes","sub":"`+subject+`"}`)) + ".c2ln"
}

// A token goes to a pod of the same ServiceAccount, and nowhere else, whatever the Lease says ([M-3]).
func TestVouch(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "loops-1", Namespace: "loops"}, Spec: corev1.PodSpec{ServiceAccountName: "loops"}, Status: corev1.PodStatus{PodIP: "10.0.0.7", Phase: corev1.PodRunning}}
		change(p)
		return p
	}
	same := func(*corev1.Pod) {}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(tokenOf("system:serviceaccount:loops:loops")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ours := &rest.Config{BearerTokenFile: file}
	for name, c := range map[string]struct {
		config *rest.Config
		url    string
		pod    *corev1.Pod
		want   string // of the error; "" for none
	}{
		"its own kind":            {ours, "https://10.0.0.7:10257", pod(same), ""},
		"a token in the config":   {&rest.Config{BearerToken: tokenOf("system:serviceaccount:loops:loops")}, "https://10.0.0.7:10257", pod(same), ""},
		"another address":         {ours, "https://10.0.0.8:10257", pod(same), "no running pod of the ServiceAccount loops/loops has the address 10.0.0.8 to itself, so it is not sent the token"},
		"a name":                  {ours, "https://evil.example:443", pod(same), "evil.example is not the address of a pod"},
		"another account":         {ours, "https://10.0.0.7:10257", pod(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "default" }), "no running pod of the ServiceAccount"},
		"another namespace":       {ours, "https://10.0.0.7:10257", pod(func(p *corev1.Pod) { p.Namespace = "shop" }), "no running pod of the ServiceAccount"},
		"the address of its node": {ours, "https://10.0.0.7:10257", pod(func(p *corev1.Pod) { p.Spec.HostNetwork = true }), "no running pod of the ServiceAccount"},
		"one that has ended":      {ours, "https://10.0.0.7:10257", pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), "no running pod of the ServiceAccount"},
		"a user's token":          {&rest.Config{BearerToken: tokenOf("alice")}, "https://10.0.0.7:10257", pod(same), "to nobody but the API server"},
		"a password":              {&rest.Config{Username: "a", Password: "b"}, "https://10.0.0.7:10257", pod(same), "to nobody but the API server"},
	} {
		err := vouch(t.Context(), fake.NewClientset(c.pod), c.config, leadership.Console{Identity: "a", URL: c.url, Certificate: "x"})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// FuzzAccountOf: no token makes it panic, and an account that it reads is one that the token has.
func FuzzAccountOf(f *testing.F) {
	for _, token := range []string{"", "..", tokenOf("system:serviceaccount:a:b"), tokenOf("system:serviceaccount:a:b:c"), tokenOf("system:serviceaccount::b"), tokenOf("alice"), "e30.bnVsbA.x", "\x00.\x00.\x00"} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		a, ok := accountOf(token)
		if !ok {
			return
		}
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(strings.TrimSpace(token), ".")[1])
		var claims struct{ Sub string }
		if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Sub != "system:serviceaccount:"+a.namespace+":"+a.name {
			t.Errorf("%q is of %s", token, a)
		}
	})
}
