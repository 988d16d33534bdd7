package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// leading is this process as the leader, led as one that waits for its turn.
func leading() telemetry.Leadership {
	return telemetry.Leadership{Lease: "kube-system/loopscope-manager", Elected: true, Identity: "pod-7", Leader: "pod-7", Since: storyNow.Add(-2 * time.Hour)}
}

func led() telemetry.Leadership {
	l := leading()
	l.Leader, l.StandsBy = "pod-1_c0ffee", true
	l.Changes = []telemetry.LeaderChange{{At: storyNow.Add(-3 * time.Hour), From: "pod-9", To: ""}, {At: l.Since, From: "", To: l.Leader}}
	return l
}

// following is led, as a process that receives the leader's decisions so.
func following(f telemetry.Following) func(*telemetry.Leadership) {
	return func(l *telemetry.Leadership) {
		*l = led()
		f.Leader, f.From, f.Since = l.Leader, "https://10.0.0.1:10443", storyNow.Add(-time.Minute)
		l.Following = &f
	}
}

// Every page says who leads, and what that means for what it shows.
func TestWhoLeads(t *testing.T) {
	for name, c := range map[string]struct {
		is                        func(l *telemetry.Leadership)
		rival                     telemetry.Rival
		mode, title, text, leader string
	}{
		"the leader": {mode: "acting, leader since 01:13", leader: "this process, since 2026-11-21 01:13:04 UTC, as pod-7 by the Lease kube-system/loopscope-manager"},
		"just so": {is: func(l *telemetry.Leadership) {
			l.Changes = []telemetry.LeaderChange{{At: storyNow.Add(-time.Minute), From: "pod-1_c0ffee", To: l.Identity, Last: storyNow.Add(-76 * time.Second)}}
		}, mode: "acting, leader since", title: "This process has become the leader", text: "It has led since 03:12:04 UTC. pod-1 led before, and last renewed the Lease 16s earlier. Every object has been queued once more since.", leader: "pod-1_c0ffee → pod-7, 16s after the last sign of a leader"},
		"some time ago": {is: func(l *telemetry.Leadership) {
			l.Changes = []telemetry.LeaderChange{{At: storyNow.Add(-2 * time.Minute), From: "pod-1_c0ffee", To: l.Identity, Last: storyNow.Add(-136 * time.Second)}}
		}, mode: "acting, leader since"},
		"by a clock that was set back": {is: func(l *telemetry.Leadership) {
			l.Changes = []telemetry.LeaderChange{{At: storyNow.Add(time.Hour), From: "pod-1_c0ffee", To: l.Identity, Last: storyNow.Add(time.Hour - 16*time.Second)}}
			l.Missed = []telemetry.MissedSyncs{{Leader: "pod-1_c0ffee", From: storyNow.Add(time.Hour)}}
		}, mode: "acting, leader since"},
		"not elected": {is: func(l *telemetry.Leadership) { l.Elected, l.Leader = false, "" }, mode: "acting since",
			leader: "This process acts without leader election. It looked at the Lease kube-system/loopscope-manager when it started, and nobody held it."},
		"nobody is elected": {is: func(l *telemetry.Leadership) { *l = telemetry.Leadership{} }, mode: "acting since", leader: "There is no leader election"},
		"another one leads": {is: func(l *telemetry.Leadership) { *l = led() }, mode: "standing by, pod-1 leads", title: "This process stands by",
			text: "pod-1_c0ffee has led since 01:13:04 UTC by the Lease kube-system/loopscope-manager. Shown is what this process would do in its place. This process writes nothing, and takes over as soon as", leader: "earlier leaders 01:13:04 nobody → pod-1_c0ffee; 00:13:04 pod-9 → nobody"},
		"another one leads, and there is no election": {is: func(l *telemetry.Leadership) { *l = led(); l.Elected = false }, mode: "standing by, pod-1 leads", title: "This process stands by",
			text: "was started without leader election; it writes nothing as long as that Lease is held", leader: "pod-1_c0ffee by the Lease"},
		"the leader has just changed": {is: func(l *telemetry.Leadership) {
			*l = led()
			l.Since = storyNow.Add(-time.Minute)
			l.Changes = []telemetry.LeaderChange{{At: l.Since, From: "pod-9_feed", To: l.Leader, Last: storyNow.Add(-76 * time.Second)}}
		}, mode: "standing by, pod-1 leads; own view", title: "This process stands by, and the leader has changed", text: "pod-9 led before, and last renewed the Lease 16s earlier.", leader: "pod-9_feed → pod-1_c0ffee"},
		"its decisions are received": {is: following(telemetry.Following{Connected: true, Shown: true}), mode: "standing by, pod-1 leads", title: "This process stands by",
			text: "Shown is what it decides, as this process receives it.", leader: "pod-1_c0ffee by the Lease"},
		"its decisions are not received yet": {is: following(telemetry.Following{Connected: true}), mode: "standing by, pod-1 leads; own view", title: "This process stands by",
			text: "Shown is what this process would do in its place until it has received what the leader has decided so far.", leader: "pod-1_c0ffee by the Lease"},
		"its decisions were received a moment ago": {is: following(telemetry.Following{Shown: true, Error: "EOF"}), mode: "standing by, pod-1 leads", title: "This process stands by",
			text: "Shown is what it had decided at 03:12:04 UTC, when the connection to it was lost; this process tries to connect again.", leader: "pod-1_c0ffee by the Lease"},
		"it is silent": {is: func(l *telemetry.Leadership) {
			following(telemetry.Following{Connected: true, Shown: true})(l)
			l.Overdue, l.Renewed, l.Expires = true, storyNow.Add(-9*time.Second), storyNow.Add(6*time.Second)
		}, mode: "standing by, pod-1 is silent", title: "This process stands by, and the leader is silent",
			text:   "pod-1_c0ffee has not renewed the Lease kube-system/loopscope-manager for 9s, and holds it until 03:13:10 UTC: it may have been killed, or cut off from the API server. Shown is what this process has received of its decisions so far. This process writes nothing, and takes over as soon as that Lease is given back or runs out.",
			leader: "pod-1_c0ffee by the Lease kube-system/loopscope-manager, which it has not renewed for 9s"},
		"it is silent, and its Lease lasts for long": {is: func(l *telemetry.Leadership) {
			*l = led()
			l.Overdue, l.Renewed, l.Expires = true, storyNow.Add(-time.Minute), storyNow.Add(59*time.Minute)
		}, mode: "standing by, pod-1 is silent", title: "This process stands by, and the leader is silent",
			text:   "for 1m, and holds it until 04:12:04 UTC: it may have been killed, or cut off from the API server. Shown is what this process would do in its place. This process writes nothing, and takes over as soon as that Lease is given back or runs out. If that manager is gone, delete the Lease: kubectl -n kube-system delete lease loopscope-manager.",
			leader: "pod-1_c0ffee by the Lease"},
		"its Lease has run out": {is: func(l *telemetry.Leadership) {
			*l = led()
			l.Overdue, l.Silent, l.Renewed, l.Expires = true, true, storyNow.Add(-16*time.Second), storyNow.Add(-time.Second)
		}, mode: "standing by, pod-1 led last", title: "This process stands by, and the leader is silent",
			text: "pod-1_c0ffee has not renewed the Lease kube-system/loopscope-manager for 16s, and it has run out. Shown is what this process would do in its place. Nothing is written until a manager has taken it", leader: "not known: pod-1_c0ffee led last by the Lease"},
		"it cannot be reached": {is: following(telemetry.Following{Error: "connection refused"}), mode: "standing by, pod-1 leads; own view", title: "This process stands by",
			text: "Shown is what this process would do in its place: its console at https://10.0.0.1:10443 has not been reached since 03:12:04 UTC (connection refused), and is tried again.", leader: "pod-1_c0ffee by the Lease"},
		"it is not let in": {is: following(telemetry.Following{Error: `forbidden: User "x" cannot get path "/live"`}), mode: "standing by, pod-1 leads; own view", title: "This process stands by",
			text: "(forbidden: User \"x\" cannot get path \"/live\"), and is tried again. The user of this process needs the right to get that path.", leader: "pod-1_c0ffee by the Lease"},
		"it is not vouched for": {is: following(telemetry.Following{Error: `it cannot be found out whether a pod has that address: pods is forbidden: User "x" cannot list resource "pods"`}), mode: "standing by, pod-1 leads; own view", title: "This process stands by",
			text: "cannot list resource \"pods\"), and is tried again. This process writes nothing", leader: "pod-1_c0ffee by the Lease"},
		"it has no address": {is: func(l *telemetry.Leadership) {
			*l = led()
			l.Following = &telemetry.Following{Leader: l.Leader, Error: "none"}
		}, mode: "standing by, pod-1 leads; own view", title: "This process stands by",
			text: "Shown is what this process would do in its place: the Lease does not say where the leader's console can be reached. A leader tells others only with --secure-port.", leader: "pod-1_c0ffee by the Lease"},
		"syncs were missed": {is: func(l *telemetry.Leadership) {
			following(telemetry.Following{Connected: true, Shown: true})(l)
			l.Missed = []telemetry.MissedSyncs{{Leader: "pod-9", From: storyNow.Add(-time.Hour)}, {Leader: "pod-1_c0ffee", From: storyNow.Add(-3 * time.Minute), To: storyNow.Add(-time.Minute), Count: 12}}
		}, mode: "standing by, pod-1 leads", title: "This process stands by", text: "12 syncs of pod-1_c0ffee between 03:10:04 and 03:12:04 were not received.",
			leader: "not received Syncs of pod-9 after 02:13:04 may be missing."},
		"nobody leads": {is: func(l *telemetry.Leadership) { l.Leader, l.StandsBy = "", true }, mode: "standing by, nobody leads", title: "This process stands by",
			text: "Nobody holds the Lease kube-system/loopscope-manager. Nothing is written until this process has taken it", leader: "nobody by the Lease"},
		"nobody knows yet": {is: func(l *telemetry.Leadership) { l.Leader, l.StandsBy, l.Silent = "", true, true }, mode: "standing by, leader unknown", title: "This process stands by",
			text: "It has not read the Lease kube-system/loopscope-manager yet, and writes nothing until it has.", leader: "not known; the Lease kube-system/loopscope-manager has not been read yet"},
		"not renewed": {is: func(l *telemetry.Leadership) {
			l.StandsBy, l.Silent, l.Renewed = true, true, storyNow.Add(-11*time.Second)
		}, mode: "standing by, leader unknown", title: "This process stands by",
			text: "It did not renew the Lease kube-system/loopscope-manager in time, so another manager may lead by now.", leader: "not known: this process led last (last renewal 03:12:53 UTC) by the Lease kube-system/loopscope-manager"},
		"no right to lead": {is: func(l *telemetry.Leadership) {
			l.Leader, l.StandsBy, l.Silent, l.Error, l.ErrorSince = "", true, true, "leases is forbidden", storyNow.Add(-time.Minute)
		}, mode: "standing by, leader unknown", title: "This process stands by", text: "For 1m it could not get at the Lease kube-system/loopscope-manager: leases is forbidden. Nothing is written until it can. Who leads now is not known. It needs the rights to get, create and update that Lease.",
			leader: "not known; the Lease kube-system/loopscope-manager cannot be read or written: leases is forbidden"},
		"nobody was heard of": {is: func(l *telemetry.Leadership) {
			*l = led()
			l.Silent, l.Error, l.ErrorSince = true, "timed out", storyNow.Add(-time.Minute)
		}, mode: "standing by, pod-1 led last", title: "This process stands by", text: "Nothing is written until it can. Who leads now is not known: pod-1_c0ffee led last.", leader: "not known: pod-1_c0ffee led last; the Lease kube-system/loopscope-manager cannot be read or written: timed out"},
		"the API server fails": {is: func(l *telemetry.Leadership) {
			l.StandsBy, l.Silent, l.Error, l.ErrorSince, l.Renewed = true, true, "timed out", storyNow.Add(-time.Minute), storyNow.Add(-time.Minute)
		},
			mode: "standing by, leader unknown", title: "This process stands by", text: "timed out. Nothing is written until it can. Who leads now is not known: this process led last (last renewal 03:12:04 UTC).",
			leader: "not known: this process led last (last renewal 03:12:04 UTC); the Lease"},
		"a rival": {rival: telemetry.Rival{Writes: 3, Last: storyNow.Add(-2 * time.Second), Object: "Deployment shop/web"}, mode: "acting, leader since", title: "Another manager acts on this cluster, too",
			text: "In the last minute it wrote 3 statuses under the name of this process, the last one of Deployment shop/web 2s ago. The two fight over every ReplicaSet"},
		"upstream as a rival": {rival: telemetry.Rival{Manager: "kube-controller-manager", Writes: 12, Last: storyNow.Add(-2 * time.Second), Object: "Deployment shop/web"}, mode: "acting, leader since",
			title: "kube-controller-manager acts on the same objects", text: "In the last minute it wrote 12 statuses as kube-controller-manager, the last one of Deployment shop/web 2s ago. The two fight over every ReplicaSet: there may be more pods than any rollout allows. Start it without these loops, with --controllers=*,-deployment-controller,-replicaset-controller,-replicationcontroller-controller, or this process with --watch."},
	} {
		l := leading()
		if c.is != nil {
			c.is(&l)
		}
		w := newWorld(t, storyNow)
		_, h := w.serve(func(o *Options) {
			o.Leadership, o.Rival = func() telemetry.Leadership { return l }, func() telemetry.Rival { return c.rival }
		})
		for _, path := range []string{"/deployments", "/about"} {
			_, body := get(t, h.URL, path)
			d := parse(t, body)
			d.sound()
			if got := d.one("#f-mode"); !strings.HasPrefix(got, c.mode) {
				t.Errorf("%s, %s: the mode is %q", name, path, got)
			}
			if got := d.one("#f-notice"); (got == "") != (c.title == "") || !strings.Contains(got, c.title) || !strings.Contains(got, c.text) {
				t.Errorf("%s, %s: the notice is %q", name, path, got)
			}
			if path == "/about" && !strings.Contains(d.one("main"), c.leader) {
				t.Errorf("%s: the page about it says %s", name, d.one("main"))
			}
		}
	}
}

// The list of the debug endpoints has who leads, and a leader that hangs is not healthy.
func TestLeadershipForPrograms(t *testing.T) {
	w := newWorld(t, storyNow)
	var stuck error
	_, h := w.serve(func(o *Options) { o.Leadership, o.Healthy = led, func() error { return stuck } })
	_, body := get(t, h.URL, "/debug/controllers", "Accept", "application/json")
	var list struct {
		Page struct{ Leadership telemetry.Leadership }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || !reflect.DeepEqual(list.Page.Leadership, led()) {
		t.Errorf("%v: %s", err, body)
	}
	if _, body := get(t, h.URL, "/healthz?verbose"); !strings.Contains(body, "[+]leaderElection ok") {
		t.Errorf("/healthz: %s", body)
	}
	stuck = errors.New("failed election to renew leadership on lease loopscope-manager")
	if res, body := get(t, h.URL, "/healthz"); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "[-]leaderElection failed: failed election") {
		t.Errorf("/healthz: %s: %s", res.Status, body)
	}
}

// Where a cache cannot be filled, or is no longer kept up to date, every page says so, and
// what that means; About says how far the start has come.
func TestBlindLoops(t *testing.T) {
	const forbidden = `pods is forbidden: User "loopscope" cannot list resource "pods"`
	w := newWorld(t, storyNow)
	cache := telemetry.CacheState{Resource: "pods", Error: forbidden}
	_, h := w.serve(func(o *Options) {
		o.Blind = func() []telemetry.CacheState {
			return []telemetry.CacheState{cache, {Resource: "replicasets", Error: "timed out", Synced: cache.Synced}}
		}
		o.Loops = func() []telemetry.LoopState {
			return []telemetry.LoopState{{Name: "deployment", Mode: "act", Running: true, Caches: []telemetry.CacheState{cache}}}
		}
		o.Start = func() []telemetry.StartStep {
			return []telemetry.StartStep{{Name: "API server", Took: 12 * time.Millisecond}, {Name: "pods", Error: forbidden}, {Name: "loops"}}
		}
	})
	says := func(path, id, want string) {
		t.Helper()
		_, body := get(t, h.URL, path)
		d := parse(t, body)
		d.sound()
		if got := d.one(id); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in %s", path, want, got)
		}
	}
	says("/deployments", "#f-notice", "The loops wait for pods and replicasets")
	says("/deployments", "#f-notice", "The API server does not list pods: "+forbidden+". Grant this process get, list and watch on pods and replicasets. Loops that need them decide nothing until then")
	says("/queues", "h1", "No loop has started yet: they wait for their caches.")
	says("/queues", "main", "cannot list")
	says("/about", "main", "API server there after 12 ms")
	says("/about", "main", "pods not yet, for")
	says("/about", "main", "deployment waits for its caches")
	cache.Synced, cache.Error = true, "timed out"
	says("/deployments", "#f-notice", "What is known of pods and replicasets is out of date The API server does not list pods: timed out. Decisions are made on the last known state")
}
