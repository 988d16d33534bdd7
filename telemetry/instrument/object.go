package instrument

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// resourcePath is an address of the API: /api/v1/namespaces/shop/pods/web/status.
type resourcePath struct{ group, namespace, resource, name, subresource string }

// pathOf takes an address apart; false for one of no resource.
func pathOf(path string) (p resourcePath, ok bool) {
	// Behind a proxy the API may begin further right.
	parts := strings.Split(strings.Trim(path, "/"), "/")
	at := slices.IndexFunc(parts, func(s string) bool { return s == "api" || s == "apis" })
	if at < 0 {
		return p, false
	}
	rest := parts[at+1:]
	if parts[at] == "apis" && len(rest) > 0 {
		p.group, rest = rest[0], rest[1:]
	}
	if len(rest) < 2 { // The version, and a resource.
		return p, false
	}
	rest = rest[1:]
	if rest[0] == "namespaces" && len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
		p.namespace, rest = line(rest[1]), rest[2:]
	}
	if len(rest) > 3 { // Of pods there are proxies with an address of their own behind.
		return p, false
	}
	for i, to := range []*string{&p.resource, &p.name, &p.subresource}[:len(rest)] {
		*to = line(rest[i])
	}
	return p, true
}

// says reports whether what is posted there changes nothing: an event, or a question.
func (p resourcePath) says() bool {
	return p.resource == "events" || p.group == "authorization.k8s.io" || p.group == "authentication.k8s.io"
}

// object is what is kept of an object that was sent or came back.
type object struct{ kind, name, uid, rv string }

// protobufPrefix begins whatever Kubernetes writes as protobuf.
var protobufPrefix = []byte("k8s\x00")

// objectOf reads an object in JSON or Kubernetes' protobuf.
func objectOf(body []byte) (object, bool) {
	var o struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct{ Name, UID, ResourceVersion string }
	}
	if !bytes.HasPrefix(body, protobufPrefix) {
		if json.Unmarshal(body, &o) != nil {
			return object{}, false
		}
		return object{line(o.Kind), line(o.Metadata.Name), line(o.Metadata.UID), line(o.Metadata.ResourceVersion)}, true
	}
	var unknown runtime.Unknown
	var meta metav1.PartialObjectMetadata // Every object has its metadata where this one has them.
	if unknown.Unmarshal(body[len(protobufPrefix):]) != nil || meta.Unmarshal(unknown.Raw) != nil {
		return object{}, false
	}
	return object{line(unknown.Kind), line(meta.Name), line(string(meta.UID)), line(meta.ResourceVersion)}, true
}

// dryRun reports whether the options that a deletion or an eviction is sent with ask for one. All other
// writes say so in their address.
func dryRun(method string, path resourcePath, body []byte) bool {
	var options metav1.DeleteOptions
	var eviction policyv1.Eviction
	switch {
	case method == http.MethodDelete:
		return decode(body, &options) && len(options.DryRun) > 0
	case path.subresource == "eviction":
		return decode(body, &eviction) && eviction.DeleteOptions != nil && len(eviction.DeleteOptions.DryRun) > 0
	}
	return false
}

// decode reads JSON or Kubernetes' protobuf; false for neither.
func decode(body []byte, into interface{ Unmarshal(protobuf []byte) error }) bool {
	if !bytes.HasPrefix(body, protobufPrefix) {
		return json.Unmarshal(body, into) == nil
	}
	var unknown runtime.Unknown
	return unknown.Unmarshal(body[len(protobufPrefix):]) == nil && into.Unmarshal(unknown.Raw) == nil
}

// statusOf reads what an API server says of a failure.
func statusOf(body []byte) (*status, bool) {
	if !bytes.HasPrefix(body, protobufPrefix) {
		var s status
		if json.Unmarshal(body, &s) != nil || s.Kind != "Status" {
			return nil, false
		}
		return &s, true
	}
	var unknown runtime.Unknown
	var s metav1.Status
	if unknown.Unmarshal(body[len(protobufPrefix):]) != nil || unknown.Kind != "Status" || s.Unmarshal(unknown.Raw) != nil {
		return nil, false
	}
	return &status{Kind: unknown.Kind, Reason: string(s.Reason), Message: s.Message}, true
}

type status struct{ Kind, Reason, Message string }

// patched names the fields of a patch. Numbers and switches are shown; a text may be
// anything, a secret included, and is not.
func patched(body []byte) []decision.Change {
	var patch any
	if json.Unmarshal(body, &patch) != nil {
		return nil
	}
	var list patchFields
	switch patch := patch.(type) {
	case map[string]any:
		list.fields("", patch)
	case []any:
		for _, step := range patch {
			if step, ok := step.(map[string]any); ok && step["op"] != "test" { // A test changes nothing.
				path, _ := step["path"].(string)
				list.add(pointed.Replace(strings.Trim(path, "/")), step["value"])
			}
		}
	}
	return list
}

// pointed makes the name of a field from a JSON pointer.
var pointed = strings.NewReplacer("/", ".", "~1", "/", "~0", "~")

type patchFields []decision.Change

// naming says which object a patch is of, and changes nothing.
var naming = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.resourceVersion", "metadata.uid"}

func (c *patchFields) fields(path string, of map[string]any) {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		below := strings.TrimPrefix(path+"."+name, ".")
		if inner, ok := of[name].(map[string]any); ok && len(inner) > 0 {
			c.fields(below, inner)
			continue
		}
		c.add(below, of[name])
	}
}

func (c *patchFields) add(path string, value any) {
	if len(*c) >= changes.MaxFields || path == "" || slices.Contains(naming, path) {
		return
	}
	change := decision.Change{Field: line(path)}
	switch value := value.(type) {
	case bool:
		change.To = fmt.Sprint(value)
	case float64:
		change.To = strconv.FormatFloat(value, 'f', -1, 64)
	}
	*c = append(*c, change)
}
