package instrument

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Addresses of resources, wherever the API begins, and those of none.
func TestPathOf(t *testing.T) {
	for path, want := range map[string]resourcePath{
		"/api/v1/namespaces/shop/pods/web/status":                              {"", "shop", "pods", "web", "status"},
		"/api/v1/namespaces/shop/pods":                                         {"", "shop", "pods", "", ""},
		"/apis/apps/v1/deployments":                                            {"apps", "", "deployments", "", ""},
		"/k8s/clusters/c-1/apis/apps/v1/namespaces/shop/deployments/web/scale": {"apps", "shop", "deployments", "web", "scale"},
		"/api/v1/namespaces":                                                   {"", "", "namespaces", "", ""},
		"/api/v1/namespaces/shop":                                              {"", "", "namespaces", "shop", ""},
		"/api/v1/namespaces/shop/status":                                       {"", "", "namespaces", "shop", "status"},
		"/api/v1/namespaces/shop/finalize":                                     {"", "", "namespaces", "shop", "finalize"},
		"/apis":                                                                {}, "/api": {}, "/api/v1": {}, "/apis/apps/v1": {}, "/healthz": {}, "": {},
		"/api/v1/namespaces/shop/pods/web/proxy/metrics": {}, // It has an address of its own behind.
	} {
		if got, ok := pathOf(path); ok != (want != resourcePath{}) || ok && got != want {
			t.Errorf("%s is %+v, %v, want %+v", path, got, ok, want)
		}
	}
}

type marshaler interface{ Marshal() ([]byte, error) }

func marshaled(t *testing.T, o marshaler) []byte {
	t.Helper()
	data, err := o.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// protobuf is an object as Kubernetes writes it.
func protobuf(t *testing.T, kind string, raw []byte) []byte {
	t.Helper()
	return slices.Concat(protobufPrefix, marshaled(t, &runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: kind}, Raw: raw}))
}

// What is read of bodies, and what is none of an object or of a status.
func TestBodies(t *testing.T) {
	meta := marshaled(t, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u", ResourceVersion: "5"}})
	said := marshaled(t, &metav1.Status{Reason: "Conflict", Message: "it changed"})
	broken := []byte{0xff}
	for name, c := range map[string]struct {
		body   []byte
		object object
		status status
	}{
		"an object in JSON":        {[]byte(`{"kind":"Pod","metadata":{"name":"web","uid":"u","resourceVersion":"5"}}`), object{"Pod", "web", "u", "5"}, status{}},
		"an object in protobuf":    {protobuf(t, "Pod", meta), object{"Pod", "web", "u", "5"}, status{}},
		"a status in JSON":         {[]byte(`{"kind":"Status","reason":"Conflict","message":"it changed"}`), object{kind: "Status"}, status{"Status", "Conflict", "it changed"}},
		"nothing":                  {nil, object{}, status{}},
		"a status of another form": {[]byte(`{"kind":"Status","message":7}`), object{kind: "Status"}, status{}},
		"no JSON":                  {[]byte("x"), object{}, status{}},
		"no protobuf":              {slices.Concat(protobufPrefix, broken), object{}, status{}},
		"protobuf of nothing":      {protobuf(t, "Pod", broken), object{}, status{}},
		"a status of nothing":      {protobuf(t, "Status", broken), object{}, status{}},
	} {
		if got, ok := objectOf(c.body); got != c.object || ok != (c.object != object{}) {
			t.Errorf("%s has the object %+v, %v", name, got, ok)
		}
		if got, ok := statusOf(c.body); ok != (c.status != status{}) || ok && *got != c.status {
			t.Errorf("%s has the status %+v, %v", name, got, ok)
		}
	}
	if got, ok := statusOf(protobuf(t, "Status", said)); !ok || *got != (status{"Status", "Conflict", "it changed"}) {
		t.Errorf("a status in protobuf is %+v, %v", got, ok)
	}
	if got, ok := statusOf(protobuf(t, "Pod", said)); ok {
		t.Errorf("a Pod is the status %+v", got)
	}
}

// What a patch changes: numbers and switches are shown, and no more fields than a cause names.
func TestPatched(t *testing.T) {
	many := `[` + strings.TrimSuffix(strings.Repeat(`{"path":"/spec/a","value":1},`, changes.MaxFields+1), ",") + `]`
	for body, want := range map[string][]decision.Change{
		`{"spec":{"share":0.25,"on":true,"who":"hunter2","none":null,"empty":{}},"metadata":{"name":"web"}}`:                             {{Field: "spec.empty"}, {Field: "spec.none"}, {Field: "spec.on", To: "true"}, {Field: "spec.share", To: "0.25"}, {Field: "spec.who"}},
		`[{"path":"/spec/replicas","value":3},{"op":"remove"},7]`:                                                                        {{Field: "spec.replicas", To: "3"}},
		`[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":4}]`:                           {{Field: "spec.replicas", To: "4"}},
		`[{"op":"test","path":"/metadata/finalizers/0","value":"example.com/x"},{"op":"remove","path":"/metadata/finalizers/0"}]`:        {{Field: "metadata.finalizers.0"}},
		`[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"replace","path":"/metadata/resourceVersion","value":"7"}]`: nil,
		`[{"op":"add","path":"/metadata/annotations/example.com~1x~01","value":"y"}]`:                                                    {{Field: "metadata.annotations.example.com/x~1"}},
		many: slices.Repeat([]decision.Change{{Field: "spec.a", To: "1"}}, changes.MaxFields),
		`x`:  nil, `7`: nil,
	} {
		if got := patched([]byte(body)); !slices.Equal(got, want) {
			t.Errorf("%s changes %v, want %v", body, got, want)
		}
	}
}

// What is no write: a read, what is posted to no resource or changes nothing, and a dry run.
func TestNoWrites(t *testing.T) {
	const pods = "/api/v1/namespaces/shop/pods"
	for _, c := range []struct {
		method, address string
		want            bool
	}{
		{"POST", pods, true}, {"PUT", pods + "/web", true}, {"PATCH", pods + "/web", true}, {"DELETE", pods + "/web", true},
		{"GET", pods + "/web", false}, {"POST", "/healthz", false}, {"POST", pods + "?dryRun=All", false}, {"POST", "/api/v1/namespaces/shop/events", false},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", false}, {"POST", "/apis/authentication.k8s.io/v1/tokenreviews", false},
	} {
		request, err := http.NewRequest(c.method, c.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := writeOf(request); got != c.want {
			t.Errorf("%s %s is a write: %v", c.method, c.address, got)
		}
	}
	for _, c := range []struct {
		method, address, body string
		want                  bool
	}{
		{"DELETE", pods + "/web", `{"dryRun":["All"]}`, false}, {"DELETE", pods, `{"dryRun":["All"]}`, false}, {"DELETE", pods + "/web", `{"dryRun":[]}`, true},
		{"DELETE", pods + "/web", `x`, true}, {"DELETE", pods + "/web", string(protobufPrefix) + "x", true}, {"DELETE", pods + "/web", `{"dryRun":["` + strings.Repeat("x", maxBody) + `"]}`, true},
		{"POST", pods + "/web/eviction", `{"deleteOptions":{"dryRun":["All"]}}`, false}, {"POST", pods + "/web/eviction", `{"dryRun":["All"]}`, true}, {"POST", pods, `{"dryRun":["All"]}`, true},
	} {
		request, err := http.NewRequest(c.method, c.address, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if _, got := writeOf(request); got != c.want {
			t.Errorf("%s %s with %.60s is a write: %v", c.method, c.address, c.body, got)
		}
	}
}

// What becomes of a write that is answered with a no.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		kind decision.ActionKind
		code int
		body string
		want decision.State
	}{
		{kindDelete, 404, "", decision.Tolerated},
		{kindUpdate, 404, "", decision.Refused},
		{kindUpdate, 409, "", decision.Conflicted},
		{kindCreate, 409, `{"kind":"Status","reason":"AlreadyExists"}`, decision.Refused},
		{kindUpdate, 500, "", decision.Unknown},
		{kindUpdate, 500, `{"kind":"Status","reason":"InternalError","message":"Internal error occurred: quota evaluation timed out"}`, decision.Unknown},
		{kindUpdate, 500, `{"kind":"Status","reason":"InternalError","message":"Internal error occurred: failed calling webhook \"a.example.com\": connection refused"}`, decision.Refused},
		{kindUpdate, 502, "", decision.Unknown},
		{kindUpdate, 503, "", decision.Unanswered},
		{kindUpdate, 504, "", decision.Unknown},
		{kindUpdate, 422, "", decision.Refused},
	} {
		if got := refused(c.kind, c.code, []byte(c.body)); got.State != c.want || got.Failure.Code != c.code {
			t.Errorf("%s answered %d %s: %s, %+v, want %s", c.kind, c.code, c.body, got.State, got.Failure, c.want)
		}
	}
}

// What is as large as an object may be is read, and no more; it can be read again either way.
func TestLargeBodies(t *testing.T) {
	for _, n := range []int{0, maxBody, maxBody + 1} {
		read := n
		if n > maxBody {
			read = 0
		}
		request, err := http.NewRequest(http.MethodPut, "http://api.example", bytes.NewReader(make([]byte, n)))
		if err != nil {
			t.Fatal(err)
		}
		if got := requestBody(request); len(got) != read {
			t.Errorf("of a request of %d bytes %d are read", n, len(got))
		}
		answer := &http.Response{Body: io.NopCloser(bytes.NewReader(make([]byte, n)))}
		if got, err := peek(answer); err != nil || len(got) != read {
			t.Errorf("of an answer of %d bytes %d are read: %v", n, len(got), err)
		}
		if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) != n {
			t.Errorf("of an answer of %d bytes %d are left: %v", n, len(rest), err)
		}
	}
	if got := requestBody(&http.Request{}); got != nil {
		t.Errorf("a request of nothing has %q", got)
	}
	for name, get := range map[string]func() (io.ReadCloser, error){
		"cannot be had twice": func() (io.ReadCloser, error) { return nil, errors.New("no") },
		"breaks off": func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("a"), broken{errors.New("no")})), nil
		},
	} {
		if got := requestBody(&http.Request{GetBody: get}); got != nil {
			t.Errorf("a body that %s is %q", name, got)
		}
	}
}

// What the API server answers below 300 is a yes.
func TestYes(t *testing.T) {
	for code, want := range map[int]decision.State{200: decision.Written, 299: decision.Written, 300: decision.Refused} {
		answer := &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(""))}
		if got := new(write).answered(answer, nil); got.State != want {
			t.Errorf("%d: %s, want %s", code, got.State, want)
		}
	}
}

// An answer that breaks off does so for who reads it again.
func TestBrokenAnswer(t *testing.T) {
	gone := errors.New("gone")
	answer := &http.Response{StatusCode: 200, Body: io.NopCloser(io.MultiReader(strings.NewReader("abc"), broken{gone}))}
	if got := new(write).answered(answer, nil); got.State != decision.Unknown || !strings.Contains(fmt.Sprint(got.Failure), "broke off") {
		t.Errorf("%s: %+v", got.State, got.Failure)
	}
	if rest, err := io.ReadAll(answer.Body); string(rest) != "abc" || !errors.Is(err, gone) {
		t.Errorf("it is read as %q, %v", rest, err)
	}
}
