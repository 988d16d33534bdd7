package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// having is an API server that has these ReplicationControllers, the first of them web.
func having(t *testing.T, list ...string) string {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method != http.MethodGet:
			t.Errorf("it wrote: %s %s", r.Method, r.URL)
		case strings.HasSuffix(r.URL.Path, "/replicationcontrollers"):
			_, _ = io.WriteString(w, `{"kind":"ReplicationControllerList","apiVersion":"v1","metadata":{},"items":[`+strings.Join(list, ",")+"]}")
		case strings.HasSuffix(r.URL.Path, "/web") && len(list) > 0 && strings.Contains(list[0], `"name":"web",`):
			_, _ = io.WriteString(w, list[0])
		case strings.HasSuffix(r.URL.Path, "/web"):
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		case strings.HasSuffix(r.URL.Path, "/pods"):
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}`)
		default:
			_, _ = io.WriteString(w, `{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}`)
		}
	}))
	t.Cleanup(api.Close)
	return contexts(t, api.URL)
}

// requestOnHalf is the request of halfOld as it stands in its text.
const requestOnHalf = `"rollingupdate.loopscope.dev/request":"{\"version\":1,\"id\":\"r1\",\"to\":\"web-2\"}",`

// replacedWeb is the one that has replaced web, which is gone.
const replacedWeb = `{"kind":"ReplicationController","apiVersion":"v1","metadata":{"name":"web-2","namespace":"shop","uid":"u-2","resourceVersion":"8","annotations":{
"rollingupdate.loopscope.dev/result":"{\"id\":\"r1\",\"ended\":\"complete\",\"from\":\"web\",\"to\":\"web-2\",\"at\":\"2026-01-02T03:04:05Z\"}"}},
"spec":{"replicas":3,"selector":{"app":"web","v":"2"},"template":{"metadata":{"labels":{"app":"web","v":"2"}},"spec":{"containers":[{"name":"c","image":"web:2"}]}}},"status":{"replicas":3}}`

// A watch of what has not ended and does not move ends with 2, and says why.
func TestStatusWatchDoesNotMove(t *testing.T) {
	left := strings.Replace(halfOld, requestOnHalf, "", 1)
	for name, c := range map[string]struct {
		have []string
		want string
		ends int // 0, or 2
	}{
		"half-done":  {[]string{left, halfNew}, "was left half-done", 2},
		"unreadable": {[]string{strings.Replace(halfOld, `\"version\":1`, `\"version\":9`, 1), halfNew}, "the request cannot be read", 2},
		"over":       {[]string{replacedWeb}, "web has been replaced by web-2", 0},
	} {
		out, errOut, err := runBoth(t, "rolling-update", "status", "web", "--watch", "--kubeconfig", having(t, c.have...))
		if !strings.Contains(out+errOut, c.want) || errors.As(err, new(needsYou)) != (c.ends == 2) || err != nil && c.ends == 0 {
			t.Errorf("%s: %v\n%s%s", name, err, out, errOut)
		}
		if _, err := run(t, "rolling-update", "status", "web", "--kubeconfig", having(t, c.have...)); err != nil {
			t.Errorf("%s, without --watch: %v", name, err)
		}
	}
}

// A take-over whose request was removed is watched to its end all the same.
func TestStatusWatchesATakeOver(t *testing.T) {
	const taking = `"rollingupdate.loopscope.dev/parked":"{\"size\":3,\"from\":\"web-2\",\"uid\":\"u-2\",\"id\":\"r1\"}",`
	const taken = `"rollingupdate.loopscope.dev/result":"{\"id\":\"r1\",\"ended\":\"complete\",\"from\":\"web\",\"to\":\"web-2\",\"at\":\"2026-01-02T03:04:05Z\",\"tookOver\":true}",`
	var lists atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		ended := lists.Load() >= 4 // Two are a look.
		web := strings.Replace(halfOld, requestOnHalf, map[bool]string{false: taking, true: taken}[ended], 1)
		if !ended {
			web = strings.ReplaceAll(web, `"v":"1"`, `"rollingupdate.loopscope.dev/parked":"true"`)
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/pods"):
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}`)
		case strings.HasSuffix(r.URL.Path, "/web"):
			_, _ = io.WriteString(w, web)
		default:
			_, _ = io.WriteString(w, `{"kind":"ReplicationControllerList","apiVersion":"v1","metadata":{},"items":[`+web+"]}")
			if strings.HasSuffix(r.URL.Path, "/replicationcontrollers") {
				lists.Add(1)
			}
		}
	}))
	defer api.Close()
	out, err := run(t, "rolling-update", "status", "web", "--watch", "--kubeconfig", contexts(t, api.URL))
	if err != nil || !strings.Contains(out, "The rolling update of web is complete") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A program is told the same as people, also where the old one is gone, and everything once.
func TestStatusForPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		have []string
		want string
	}{
		"half-done": {[]string{halfOld, halfNew}, "web"},
		"replaced":  {[]string{replacedWeb}, "web has been replaced by web-2"},
	} {
		out, err := run(t, "rolling-update", "status", "web", "-o", "json", "--kubeconfig", having(t, c.have...))
		var got map[string]json.RawMessage
		if err := errors.Join(err, json.Unmarshal([]byte(out), &got)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
			continue
		}
		if _, has := got["Result"]; has || got["Now"] != nil || got["now"] == nil || !strings.Contains(string(got["text"]), c.want) || name == "replaced" && got["result"] == nil {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// What the rules refuse ends with 2, and a dry run of it, too.
func TestRefusedByTheRules(t *testing.T) {
	web := idle()
	for _, flags := range []string{"", " --dry-run", " --dry-run=server -o yaml"} {
		out, errOut, err := runBoth(t, append(strings.Fields("rolling-update web --image=web:1"+flags), "--kubeconfig", having(t, web))...)
		if !errors.As(err, new(needsYou)) || !strings.Contains(out+errOut, "it has the image web:1 already") {
			t.Errorf("%q: %v\n%s%s", flags, err, out, errOut)
		}
	}
}

// idle is web without an update.
func idle() string {
	web := strings.Replace(halfOld, requestOnHalf, "", 1)
	web = strings.Replace(web, `"kubectl.kubernetes.io/next-controller-id":"web-2","kubectl.kubernetes.io/original-replicas":"3"`, "", 1)
	return strings.Replace(web, ",\n}},", "}},", 1)
}

// Where neither more pods are allowed nor fewer, one may be missing all the same, and that is said.
func TestTwoZerosAreTold(t *testing.T) {
	const told = "With a surge of 0 and 0 unavailable nothing could move: one pod may be unavailable.\n"
	const rounded = "With a surge of 0 and 10% unavailable, which of 2 pods is none, nothing could move: one pod may be unavailable.\n"
	if _, errOut, err := runBoth(t, append(strings.Fields("rolling-update web --image=web:2 --dry-run --surge=0 --unavailable=10%"), "--kubeconfig", having(t, idle()))...); err != nil || !strings.Contains(errOut, rounded) {
		t.Errorf("a percentage that comes to 0: %v\n%s", err, errOut)
	}
	for flags, want := range map[string]bool{"--surge=0 --unavailable=0": true, "--surge=0% --unavailable=0": true, "--surge=0 --unavailable=1": false, "--unavailable=0": false} {
		_, errOut, err := runBoth(t, append(strings.Fields("rolling-update web --image=web:2 --dry-run "+flags), "--kubeconfig", having(t, idle()))...)
		if err != nil || strings.Contains(errOut, told) != want {
			t.Errorf("%s: %v\n%s", flags, err, errOut)
		}
	}
}

// A watch that says nothing for a while says why.
func TestWatchTellsAnOutage(t *testing.T) {
	var out strings.Builder
	o := &rollingOptions{s: streams{out: &out}}
	o.watching().Unread(errors.New("connection refused"))
	if got := out.String(); !strings.HasSuffix(got, "  The update cannot be read, will try again: connection refused\n") || !clock.MatchString(got) {
		t.Errorf("it says %q", got)
	}
}

var clock = regexp.MustCompile(`^\d\d:\d\d:\d\d `)
