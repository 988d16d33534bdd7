package instrument

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry/safetext"
)

// FuzzBodies: whatever an API server answers and whatever is sent to it, in JSON or as protobuf, is read or
// left; what is kept of it has no character that is not for reading.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		`{"kind":"Pod","metadata":{"name":"web","uid":"u","resourceVersion":"1"}}`, `{"kind":"Status","reason":"Forbidden","message":"no"}`,
		`[{"op":"replace","path":"/spec/replicas","value":3}]`, `{"spec":{"replicas":3,"paused":true,"a":{"b":[1,{}]}}}`, `{"kind":"\u001b[2J\u202e","metadata":{"name":"\u0000"}}`,
		"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x05\n\x03\n\x01a", "k8s\x00\xff\xff", "null", "[]", "{",
	} {
		f.Add([]byte(body), "/api/v1/namespaces/shop/pods/web/status")
	}
	f.Add([]byte("{}"), "/apis/apps/v1/namespaces/shop/deployments/\x1b/scale")
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		var kept []string
		if o, ok := objectOf(body); ok {
			kept = append(kept, o.kind, o.name, o.uid, o.rv)
		}
		for _, c := range patched(body) {
			kept = append(kept, c.Field, c.From, c.To)
		}
		if p, ok := pathOf(path); ok {
			kept = append(kept, p.namespace, p.resource, p.name, p.subresource)
		}
		if s, ok := statusOf(body); ok && s.Kind != "Status" {
			t.Errorf("%q is taken for a status", s.Kind)
		}
		for _, text := range kept {
			if strings.ContainsFunc(text, safetext.Hidden) {
				t.Errorf("%q is kept of %q and %q", text, body, path)
			}
		}
	})
}
