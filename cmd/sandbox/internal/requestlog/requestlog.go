// Package requestlog notes which kinds of requests the loops send, and what answers
// they get, so that the tests of package controllers can be held against what really
// happens. It is silent unless LOOPSCOPE_REQUESTS names a file.
package requestlog

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// File names the file to which every new line is added. "make requests" sorts it.
const File = "LOOPSCOPE_REQUESTS"

// parts are the clients whose requests the loops decide on. What informers, probe and
// console send is client-go's own, or a reader's.
var parts = []string{"deployment-controller", "replicaset-controller", "replication-controller", "unblock"}

// Follow notes every request that is sent with config. Wrappers that answer in the API
// server's place come before it.
func Follow(config *rest.Config) error {
	path := os.Getenv(File)
	if path == "" {
		return nil
	}
	known, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%s: %w", File, err)
	}
	l := &log{path: path, known: map[string]bool{}}
	for line := range strings.Lines(string(known)) {
		l.known[strings.TrimSuffix(line, "\n")] = true
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return follower{l, next} })
	return nil
}

// log adds lines to a file. Several processes may share the file. Safe for concurrent use.
type log struct {
	path  string
	mu    sync.Mutex
	known map[string]bool
}

func (l *log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[line] {
		return
	}
	l.known[line] = true
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(line + "\n")
		_ = file.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("%s: %v", File, err)) // A table that lacks lines would pass for a whole one.
	}
}

type follower struct {
	log  *log
	next http.RoundTripper
}

// RoundTrip sends the request and notes it with its answer.
func (f follower) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := describe(request)
	response, err := f.next.RoundTrip(request)
	if sent != "" {
		f.log.add(sent + ": " + answer(response, err))
	}
	return response, err
}

// describe is "LOOP VERB RESOURCE", with the type of a patch; "" for what is not noted.
func describe(request *http.Request) string {
	_, part, _ := strings.Cut(request.UserAgent(), " ")
	if !slices.Contains(parts, part) {
		return ""
	}
	verb := verbOf(request)
	if kind := request.Header.Get("Content-Type"); verb == "patch" {
		verb += " (" + strings.TrimSuffix(strings.TrimPrefix(kind, "application/"), "+json") + ")"
	}
	return part + " " + verb + " " + resourceOf(request.URL.Path)
}

var verbs = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}

func verbOf(request *http.Request) string {
	named := nameIn(request.URL.Path) != ""
	switch {
	case verbs[request.Method] != "":
		return verbs[request.Method]
	case request.URL.Query().Get("watch") != "":
		return "watch"
	case named:
		return "get"
	}
	return "list"
}

// below are the parts of a path behind its version and its namespace: resource, name,
// subresource.
func below(path string) []string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2 // api/v1
	if parts[0] == "apis" {
		skip = 3 // apis/GROUP/VERSION
	}
	parts = parts[min(skip, len(parts)):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return parts
}

func resourceOf(path string) string {
	switch parts := below(path); len(parts) {
	case 0:
		return path
	case 3:
		return parts[0] + "/" + parts[2]
	default:
		return parts[0]
	}
}

func nameIn(path string) string {
	if parts := below(path); len(parts) > 1 {
		return parts[1]
	}
	return ""
}

// answer is a code, with the reason and what is known of who refused.
func answer(response *http.Response, err error) string {
	if err != nil {
		return "none"
	}
	if response.StatusCode < 300 {
		return fmt.Sprint(response.StatusCode)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return "cut"
	}
	status := &metav1.Status{}
	if decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		status, _ = decoded.(*metav1.Status)
	}
	if status == nil {
		return fmt.Sprint(response.StatusCode)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, status.Reason)) + refuser(status)
}

// refuser tells apart what answers 403.
func refuser(status *metav1.Status) string {
	if status.Code != http.StatusForbidden {
		return ""
	}
	if status.Details != nil {
		for _, c := range status.Details.Causes {
			if c.Type == "NamespaceTerminating" {
				return " by a terminating namespace"
			}
		}
	}
	switch {
	case strings.Contains(status.Message, "exceeded quota"):
		return " by quota"
	case strings.Contains(status.Message, "admission webhook"):
		return " by webhook"
	}
	return ""
}
