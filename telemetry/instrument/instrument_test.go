package instrument_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/instrument"
)

// lab is an instrumented controller of Disks, and an API server whose part a test plays.
type lab struct {
	t       *testing.T
	journal *telemetry.Journal
	control *instrument.Controller
	queue   *instrument.Queue[string]
	client  kubernetes.Interface
	server  *httptest.Server
}

func newLab(t *testing.T, answer http.HandlerFunc) *lab {
	x := newBareLab(t)
	t.Cleanup(x.queue.ShutDown)
	x.server = httptest.NewServer(answer)
	t.Cleanup(x.server.Close)
	x.client = clientOf(t, &rest.Config{Host: x.server.URL, QPS: -1})
	return x
}

// newBareLab has no API server, and its queue is shut down by the test.
func newBareLab(t *testing.T) *lab {
	loop := instrument.Loop("disk", "Disk")
	x := &lab{t: t, journal: telemetry.NewJournal(telemetry.JournalOptions{Loops: decision.Loops{loop}})}
	x.control = control(t, x.journal, loop)
	x.queue = instrument.NewQueue[string](x.control, quick())
	return x
}

func control(t testing.TB, r instrument.Recorder, loop decision.Loop) *instrument.Controller {
	c, err := instrument.New(r, loop)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func clientOf(t testing.TB, config *rest.Config) kubernetes.Interface {
	config.Wrap(instrument.Transport)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// quick is a limiter that lets everything through after a millisecond.
func quick() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Millisecond)
}

// sync is one turn of a worker as client-go's examples have it.
func (x *lab) sync(handle func(context.Context, string) error) *telemetry.Trace {
	x.t.Helper()
	key, shutdown := x.queue.Get()
	if shutdown {
		x.t.Fatal("the queue is shut down")
	}
	if err := x.queue.Sync(x.t.Context(), key, handle); err != nil {
		x.queue.AddRateLimited(key)
	} else {
		x.queue.Forget(key)
	}
	x.queue.Done(key)
	t, ok := x.journal.Get(x.journal.Last())
	if !ok {
		x.t.Fatal("the sync was not recorded")
	}
	return t
}

func disk(rv string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: "d-1", ResourceVersion: rv}}
}

func said(t *telemetry.Trace) string { return t.Sentence.At(t.Ended) }

// answers plays an API server that says the same to everybody.
func answers(code int, o any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(o)
	}
}

func refusal(code int, reason, message string) http.HandlerFunc {
	return answers(code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: metav1.StatusReason(reason), Message: message})
}

func claim(rv string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeClaim", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-0", UID: "c-1", ResourceVersion: rv}}
}

// update is the one write of most of the syncs here.
func (x *lab) update(ctx context.Context, _ string) error {
	_, err := x.client.CoreV1().PersistentVolumeClaims("shop").Update(ctx, claim("11"), metav1.UpdateOptions{})
	return err
}

// TestSync: everything that a sync is made of, in one.
func TestSync(t *testing.T) {
	x := newLab(t, answers(http.StatusOK, claim("12")))
	h := x.queue.Handler("Disk", instrument.ObjectKey)
	h.OnAdd(disk("7"), true)
	changed := disk("8")
	changed.Labels = map[string]string{"tier": "gold"}
	h.OnUpdate(disk("7"), changed)
	got := x.sync(func(ctx context.Context, key string) error {
		if !instrument.Ask(ctx, "claim-fits", true, decision.Count("size", 5)) {
			t.Error("the answer is not the one that was given")
		}
		instrument.Numbers(ctx, decision.Count("size", 5))
		return x.update(ctx, key)
	})
	if got.Object != (telemetry.Object{Loop: "disk", Namespace: "shop", Name: "data"}) || got.UID != "d-1" || got.Result != telemetry.ResultWrote {
		t.Errorf("%+v of %s: %s", got.Object, got.UID, got.Result)
	}
	if len(got.Causes) != 2 || got.Causes[0].Kind != telemetry.CauseStart || got.Causes[1].Kind != telemetry.CauseModified || got.Causes[1].OldRV != "7" || got.Causes[1].NewRV != "8" || got.Causes[1].Object != "Disk data" {
		t.Errorf("causes: %+v", got.Causes)
	}
	if diff := cmp.Diff([]decision.Change{{Field: "metadata.labels[tier]"}}, got.Causes[1].Fields); diff != "" {
		t.Errorf("what changed (-want +got):\n%s", diff)
	}
	want := []telemetry.Write{{Kind: "update", Object: "PersistentVolumeClaim data-0", State: decision.Written, On: "11", RV: "12", Question: "claim-fits"}}
	writes := got.Writes(x.journal.Loops())
	for i := range writes {
		if writes[i].Took <= 0 {
			t.Errorf("%s took no time", writes[i].Object)
		}
		writes[i].Took = 0
	}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if want := "shop/data is settled: the last sync updated PersistentVolumeClaim data-0."; said(got) != want {
		t.Errorf("it says %q, want %q", said(got), want)
	}
	if got.Phases.Act <= 0 || got.Leaf() != "claim-fits" || len(got.Numbers) != 1 {
		t.Errorf("phases %+v, leaf %s, numbers %v", got.Phases, got.Leaf(), got.Numbers)
	}
	// The event of that write is its echo.
	x.queue.Handler("PersistentVolumeClaim", func(metav1.Object) []string { return []string{"shop/data"} }).OnUpdate(claim("11"), claim("12"))
	if echo := x.sync(func(context.Context, string) error { return nil }); len(echo.Causes) != 1 || echo.Causes[0].Sync != got.Seq {
		t.Errorf("the echo of sync %d has the causes %+v", got.Seq, echo.Causes)
	}
}

// TestAnswers: what becomes of a write by how it is answered, and what is said then.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		state  decision.State
		result telemetry.Result
		says   string
	}{
		"conflict":  {refusal(409, "Conflict", "the object has been modified"), decision.Conflicted, telemetry.ResultStale, "shop/data is waiting: another writer was first (the object has been modified). Tries again in"},
		"taken":     {refusal(409, "AlreadyExists", "it exists"), decision.Refused, telemetry.ResultFailed, "shop/data has failed: the last sync returned an error (it exists). Tries again in"},
		"forbidden": {refusal(403, "Forbidden", "exceeded quota: password=hunter2"), decision.Refused, telemetry.ResultFailed, "shop/data has failed: the last sync returned an error (exceeded quota: password=…). Tries again in"},
		"no etcd":   {refusal(500, "ServerTimeout", "etcdserver: request timed out"), decision.Unknown, telemetry.ResultUnknown, "shop/data is waiting: no API server served the last sync (etcdserver: request timed out)."},
		"webhook":   {refusal(500, "InternalError", "failed calling webhook"), decision.Unknown, telemetry.ResultUnknown, "shop/data has failed: the last sync returned an error (failed calling webhook)."},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"kind":`))
		}, decision.Unknown, telemetry.ResultUnknown, "shop/data has failed: the last sync returned an error ("},
		"no answer": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, decision.Unknown, telemetry.ResultUnknown, "shop/data has failed: the last sync returned an error ("},
	} {
		t.Run(name, func(t *testing.T) {
			x := newLab(t, c.answer)
			x.queue.Add("shop/data")
			got := x.sync(x.update)
			writes := got.Writes(x.journal.Loops())
			if len(writes) == 0 || writes[len(writes)-1].State != c.state || got.Result != c.result {
				t.Errorf("%s: %+v", got.Result, writes)
			}
			if !strings.HasPrefix(said(got), c.says) {
				t.Errorf("it says %q", said(got))
			}
			if got.Try.Number != 1 || got.Try.Next.IsZero() || got.Causes[0].Kind != telemetry.CauseAsked {
				t.Errorf("try %+v for %+v", got.Try, got.Causes)
			}
			again := x.sync(func(context.Context, string) error { return nil })
			if again.Causes[0].Kind != telemetry.CauseBackoff || again.Causes[0].Code != string(c.result) || again.Result != telemetry.ResultUnchanged {
				t.Errorf("the next: %s, %+v", again.Result, again.Causes)
			}
		})
	}
}

// TestNobodyThere: a sync whose last write found no API server says so, whatever error its
// handler makes of it.
func TestNobodyThere(t *testing.T) {
	x := newLab(t, http.NotFound)
	x.server.Close()
	x.queue.Add("shop/data")
	got := x.sync(func(ctx context.Context, key string) error {
		if x.update(ctx, key) == nil {
			t.Error("a closed server answers")
		}
		return errors.New("not saved")
	})
	if writes := got.Writes(x.journal.Loops()); len(writes) != 1 || writes[0].State != decision.Unanswered || got.Result != telemetry.ResultFailed {
		t.Errorf("%s: %+v", got.Result, writes)
	}
	if want := "shop/data is waiting: no API server served the last sync (not saved). Tries again in"; !strings.HasPrefix(said(got), want) {
		t.Errorf("it says %q", said(got))
	}
}

// TestNobodyToRead: a sync whose last request is a read that no API server answers says so.
// One that was given up, another server that is away, and a read before an answer do not
// count.
func TestNobodyToRead(t *testing.T) {
	for name, c := range map[string]struct {
		handle func(ctx context.Context, x *lab, away kubernetes.Interface) error
		code   string
	}{
		"a read": {func(ctx context.Context, _ *lab, away kubernetes.Interface) error { return read(ctx, away) }, instrument.CodeSilent},
		"a read, and another error": {func(ctx context.Context, _ *lab, away kubernetes.Interface) error {
			return fmt.Errorf("no claim: %v", read(ctx, away))
		}, instrument.CodeSilent},
		"given up": {func(ctx context.Context, _ *lab, away kubernetes.Interface) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return read(ctx, away)
		}, instrument.CodeFailed},
		"another server": {func(ctx context.Context, x *lab, _ kubernetes.Interface) error {
			return errors.Join(read(ctx, x.client), &url.Error{Op: "Get", URL: "https://backups/", Err: syscall.ECONNREFUSED})
		}, instrument.CodeFailed},
		"a read before an answered one": {func(ctx context.Context, x *lab, away kubernetes.Interface) error {
			return errors.Join(read(ctx, away), read(ctx, x.client))
		}, instrument.CodeFailed},
		"a read before an answered write": {func(ctx context.Context, x *lab, away kubernetes.Interface) error {
			return errors.Join(read(ctx, away), x.update(ctx, ""))
		}, instrument.CodeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			x := newLab(t, answers(http.StatusOK, claim("12")))
			closed := httptest.NewServer(http.NotFoundHandler())
			closed.Close()
			away := clientOf(t, &rest.Config{Host: closed.URL, QPS: -1})
			x.queue.Add("shop/data")
			got := x.sync(func(ctx context.Context, _ string) error { return c.handle(ctx, x, away) })
			if silent := c.code == instrument.CodeSilent; got.Sentence.Code != c.code || got.Unanswered() != silent || got.Result != telemetry.ResultFailed {
				t.Errorf("%s, code %s, unanswered %t: %q", got.Result, got.Sentence.Code, got.Unanswered(), said(got))
			}
		})
	}
}

// read asks an API server for a claim.
func read(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().PersistentVolumeClaims("shop").Get(ctx, "data-0", metav1.GetOptions{})
	return err
}

// wrote is what a sync did to which objects.
func (x *lab) wrote(t *telemetry.Trace) (list []string) {
	for _, w := range t.Writes(x.journal.Loops()) {
		list = append(list, string(w.Kind)+" "+w.Object)
	}
	return list
}

// TestDeletionAnsweredWithAStatus: what is deleted keeps the kind that its resource was
// learnt to have.
func TestDeletionAnsweredWithAStatus(t *testing.T) {
	x := newLab(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			answers(http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"})(w, r)
			return
		}
		answers(http.StatusOK, claim("12"))(w, r)
	})
	x.queue.Add("shop/data")
	got := x.sync(func(ctx context.Context, key string) error {
		remove := func() error {
			return x.client.CoreV1().PersistentVolumeClaims("shop").Delete(ctx, "data-0", metav1.DeleteOptions{})
		}
		return errors.Join(remove(), x.update(ctx, key), remove())
	})
	if want := []string{"delete persistentvolumeclaims data-0", "update PersistentVolumeClaim data-0", "delete PersistentVolumeClaim data-0"}; !slices.Equal(x.wrote(got), want) {
		t.Errorf("writes are %q, want %q", x.wrote(got), want)
	}
}

// TestDryRuns: what a controller tries out is no write, also where its body says so.
func TestDryRuns(t *testing.T) {
	for _, content := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		x := newLab(t, answers(http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"}))
		client := clientOf(t, &rest.Config{Host: x.server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: content}})
		x.queue.Add("shop/data")
		got := x.sync(func(ctx context.Context, _ string) error {
			var errs []error
			for _, options := range []metav1.DeleteOptions{{DryRun: []string{metav1.DryRunAll}}, {GracePeriodSeconds: new(int64)}} {
				errs = append(errs, client.CoreV1().Pods("shop").Delete(ctx, "web", options),
					client.CoreV1().Pods("shop").DeleteCollection(ctx, options, metav1.ListOptions{}),
					client.PolicyV1().Evictions("shop").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, DeleteOptions: &options}))
			}
			errs = append(errs, client.PolicyV1().Evictions("shop").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api"}}))
			return errors.Join(errs...)
		})
		if want := []string{"delete pods web", "delete pods ", "create-eviction pods web", "create-eviction pods api"}; !slices.Equal(x.wrote(got), want) {
			t.Errorf("%s: writes are %q, want %q", content, x.wrote(got), want)
		}
	}
}

// TestDeletionOfAll: it is answered with a list, which is no kind of what is deleted.
func TestDeletionOfAll(t *testing.T) {
	x := newLab(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut:
			answers(http.StatusOK, claim("12"))(w, r)
		case strings.HasSuffix(r.URL.Path, "/persistentvolumeclaims"):
			answers(http.StatusOK, corev1.PersistentVolumeClaimList{TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeClaimList", APIVersion: "v1"}})(w, r)
		default:
			answers(http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"})(w, r)
		}
	})
	x.queue.Add("shop/data")
	got := x.sync(func(ctx context.Context, key string) error {
		claims := x.client.CoreV1().PersistentVolumeClaims("shop")
		all := func() error { return claims.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}) }
		one := func() error { return claims.Delete(ctx, "data-0", metav1.DeleteOptions{}) }
		return errors.Join(all(), one(), x.update(ctx, key), all(), one())
	})
	if want := []string{"delete persistentvolumeclaims ", "delete persistentvolumeclaims data-0", "update PersistentVolumeClaim data-0",
		"delete PersistentVolumeClaim ", "delete PersistentVolumeClaim data-0"}; !slices.Equal(x.wrote(got), want) {
		t.Errorf("writes are %q, want %q", x.wrote(got), want)
	}
}

// TestManyWrites: a trace has so many writes and no more, and what is written outside of a
// sync is in none.
func TestManyWrites(t *testing.T) {
	x := newLab(t, answers(http.StatusOK, claim("12")))
	if err := x.update(t.Context(), ""); err != nil {
		t.Errorf("outside of a sync: %v", err)
	}
	x.queue.Add("shop/data")
	got := x.sync(func(ctx context.Context, key string) error {
		for range 257 {
			if err := x.update(ctx, key); err != nil {
				return err
			}
		}
		return nil
	})
	if n := len(got.Writes(x.journal.Loops())); n != 256 {
		t.Errorf("%d writes", n)
	}
}

// TestAnswersOfQuestions: a name and a number are answers as well, and a write is held back
// for the question that was asked last, or for the one that it names.
func TestAnswersOfQuestions(t *testing.T) {
	x := newLab(t, http.NotFound)
	x.queue.Add("shop/data")
	got := x.sync(func(ctx context.Context, _ string) error {
		if n, name := instrument.Count(ctx, "copies", 3), instrument.Name(ctx, "zone", "west"); n != 3 || name != "west" {
			t.Errorf("the answers are %d and %q", n, name)
		}
		instrument.Hold(ctx, decision.Held{Kind: "create", Question: "quota"})
		instrument.Hold(ctx, decision.Held{Kind: "delete", Question: "zone"})
		return nil
	})
	v := got.Rounds[0].Verdict
	if len(v.Path) != 2 || v.Path[0].Question != "copies" || v.Path[0].Answer != "3" || v.Path[0].Holds || v.Path[1].Answer != "west" || !v.Path[1].Holds {
		t.Errorf("path: %+v", v.Path)
	}
	if len(v.Held) != 2 || v.Held[0].Question != "quota" || v.Held[1].Question != "zone" {
		t.Errorf("held: %+v", v.Held)
	}
	x.queue.Add("shop/data")
	other := x.sync(func(ctx context.Context, _ string) error {
		instrument.Name(ctx, "zone", "west")
		instrument.Hold(ctx, decision.Held{Kind: "create", Question: "quota"})
		return nil
	})
	if other.Rounds[0].Verdict.Path[0].Holds {
		t.Error("a question holds back what another one does")
	}
	if n, name := instrument.Count(t.Context(), "copies", 3), instrument.Name(t.Context(), "zone", "west"); n != 3 || name != "west" {
		t.Errorf("outside of a sync the answers are %d and %q", n, name)
	}
	instrument.Hold(t.Context(), decision.Held{Kind: "create"})
	instrument.Say(t.Context(), decision.Sentence{State: "frozen"})
	instrument.Numbers(t.Context(), decision.Count("size", 5))
	x.queue.Add("shop/data")
	unasked := x.sync(func(ctx context.Context, _ string) error {
		instrument.Hold(ctx, decision.Held{Kind: "create"})
		return nil
	})
	if held := unasked.Rounds[0].Verdict.Held; len(held) != 1 || held[0].Question != "" || len(unasked.Numbers) != 0 {
		t.Errorf("held back without a question: %+v", held)
	}
}

// TestOwnerKey: the key is that of who controls an object, if it is of the kind.
func TestOwnerKey(t *testing.T) {
	owned := func(kind string, controls bool) *metav1.PartialObjectMetadata {
		o := disk("7")
		o.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "nightly", Controller: &controls}}
		return o
	}
	for name, c := range map[string]struct {
		object *metav1.PartialObjectMetadata
		want   []string
	}{
		"nobody": {disk("7"), nil}, "one of the kind": {owned("Backup", true), []string{"shop/nightly"}}, "one of another": {owned("Job", true), nil}, "one who does not control it": {owned("Backup", false), nil},
	} {
		if got := instrument.OwnerKey("Backup")(c.object); !slices.Equal(got, c.want) {
			t.Errorf("of %s: %v, want %v", name, got, c.want)
		}
	}
}

// TestTold: what is said of syncs that wrote nothing.
func TestTold(t *testing.T) {
	x := newLab(t, refusal(404, "NotFound", "none"))
	held := decision.Held{Kind: "create", Target: decision.Ref{Kind: "Job", Name: "backup-1"}, Code: "window-closed", Unblocks: decision.Words{}.Say("when the window opens")}
	for name, c := range map[string]struct {
		handle func(context.Context) error
		after  func(string)
		says   string
		code   string
	}{
		"nothing":  {says: "shop/data is settled: the last sync had nothing to write.", code: instrument.CodeSettled},
		"requeued": {after: func(key string) { x.queue.AddAfter(key, time.Hour) }, says: "shop/data is settled: the last sync had nothing to write. Runs again in ", code: instrument.CodeAgain},
		"retried":  {after: func(key string) { x.queue.AddRateLimited(key) }, says: "shop/data is waiting: the last sync had nothing to write and asked to run again. Tries again in", code: instrument.CodeAgain},
		"held": {handle: func(ctx context.Context) error {
			instrument.Ask(ctx, "window-open", false)
			instrument.Hold(ctx, held)
			return nil
		}, says: "shop/data is waiting: it does not create Job backup-1 yet. Unblocks when the window opens.", code: "window-closed"},
		"own words": {handle: func(ctx context.Context) error {
			instrument.Say(ctx, decision.Sentence{Verb: "is", State: "frozen", Tone: decision.ToneNeutral, Code: "frozen", Lead: decision.Words{}.Say("somebody froze it")})
			return nil
		}, says: "shop/data is frozen: somebody froze it.", code: "frozen"},
		"failed": {handle: func(context.Context) error { return errors.New("no token=abcdefghijklmnop") }, says: "shop/data has failed: the last sync returned an error (no token=…). It is not tried again before something changes.", code: instrument.CodeFailed},
		"gone already": {handle: func(ctx context.Context) error {
			err := x.client.CoreV1().PersistentVolumeClaims("shop").Delete(ctx, "data-0", metav1.DeleteOptions{})
			return errors.Join(err, nil)
		}, says: "shop/data has failed: the last sync returned an error (none)", code: instrument.CodeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			x.queue.Add("shop/data")
			key, _ := x.queue.Get()
			_ = x.queue.Sync(t.Context(), key, func(ctx context.Context, _ string) error {
				if c.handle == nil {
					return nil
				}
				return c.handle(ctx)
			})
			if c.after != nil {
				c.after(key)
			}
			x.queue.Done(key)
			got, _ := x.journal.Get(x.journal.Last())
			if !strings.HasPrefix(said(got), c.says) || got.Sentence.Code != c.code {
				t.Errorf("%s: %q", got.Sentence.Code, said(got))
			}
			if name == "held" {
				v := got.Rounds[0].Verdict
				if len(v.Held) != 1 || v.Held[0].Question != "window-open" || !v.Path[0].Holds {
					t.Errorf("held: %+v on %+v", v.Held, v.Path)
				}
			}
			x.queue.Forget(key)
		})
	}
}

// TestGone: an object that was deleted leaves the board with its last sync, and is not back where
// its key runs once more.
func TestGone(t *testing.T) {
	x := newLab(t, http.NotFound)
	h := x.queue.Handler("Disk", instrument.ObjectKey)
	h.OnAdd(disk("7"), false)
	x.sync(func(context.Context, string) error { return nil })
	h.OnDelete(disk("8"))
	got := x.sync(func(context.Context, string) error { return nil })
	if !got.Gone || said(got) != "shop/data is gone: it was deleted." {
		t.Errorf("gone: %v, %q", got.Gone, said(got))
	}
	if _, there := x.journal.Board().Get(got.Object); there {
		t.Error("it is still on the board")
	}
	x.queue.Add("shop/data") // As by a back-off that was under way.
	if got := x.sync(func(context.Context, string) error { return nil }); !got.Gone {
		t.Errorf("it is back: %q", said(got))
	}
	h.OnAdd(disk("9"), false)
	x.sync(func(context.Context, string) error { return nil })
	h.OnDelete(disk("10"))
	h.OnAdd(disk("11"), false)
	if got := x.sync(func(context.Context, string) error { return nil }); got.Gone {
		t.Error("one that was made again is gone")
	}
}

// TestMadeBy: who made an object is told of one that is new, and not of those of the first list.
func TestMadeBy(t *testing.T) {
	x := newLab(t, http.NotFound)
	h := x.queue.Handler("Disk", instrument.ObjectKey)
	for initial, want := range map[bool]string{false: "helm", true: ""} {
		o := disk("7")
		o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "helm", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
		if _, err := x.control.Strip(o); err != nil {
			t.Fatal(err)
		}
		h.OnAdd(o, initial)
		if got := x.sync(func(context.Context, string) error { return nil }); got.Causes[0].Manager != want {
			t.Errorf("of the first list %v: made by %q, want %q", initial, got.Causes[0].Manager, want)
		}
	}
}

// TestErrorTakenForNone: a sync whose handler returns no error has not failed, whatever
// became of its write.
func TestErrorTakenForNone(t *testing.T) {
	x := newLab(t, refusal(500, "InternalError", "failed calling webhook"))
	x.queue.Add("shop/data")
	got := x.sync(func(ctx context.Context, key string) error {
		if x.update(ctx, key) == nil {
			t.Error("the write was not refused")
		}
		return nil
	})
	if got.Result != telemetry.ResultUnchanged || got.Failure != nil {
		t.Errorf("%s: %+v", got.Result, got.Failure)
	}
}

// TestWaysIntoTheQueue: what each of them waits, and which cause it has.
func TestWaysIntoTheQueue(t *testing.T) {
	cause := telemetry.Cause{Kind: "webhook", Object: "Disk data"}
	for name, c := range map[string]struct {
		add  func(*instrument.Queue[string])
		wait time.Duration
		kind telemetry.CauseKind
	}{
		"at once":            {func(q *instrument.Queue[string]) { q.Add("shop/data") }, 0, telemetry.CauseAsked},
		"after no time":      {func(q *instrument.Queue[string]) { q.AddAfter("shop/data", 0) }, 0, telemetry.CauseAsked},
		"after a time":       {func(q *instrument.Queue[string]) { q.AddAfter("shop/data", time.Second) }, time.Second, telemetry.CauseTimer},
		"again":              {func(q *instrument.Queue[string]) { q.AddRateLimited("shop/data") }, time.Millisecond, telemetry.CauseBackoff},
		"because":            {func(q *instrument.Queue[string]) { q.Because(cause).Add("shop/data") }, 0, "webhook"},
		"because, and later": {func(q *instrument.Queue[string]) { q.Because(cause).AddAfter("shop/data", time.Second) }, time.Second, "webhook"},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := newBareLab(t)
			began := time.Now()
			c.add(x.queue)
			got := x.sync(func(context.Context, string) error { return nil })
			if took := time.Since(began); took != c.wait || len(got.Causes) != 1 || got.Causes[0].Kind != c.kind {
				t.Errorf("%s: after %v for %+v", name, took, got.Causes)
			}
			x.queue.ShutDown()
		})
	}
}

// TestDefaultLimiter: a queue that was given no limiter has client-go's.
func TestDefaultLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newBareLab(t)
		x.queue.ShutDown()
		q := instrument.NewQueue[string](x.control, nil)
		defer q.ShutDown()
		began := time.Now()
		for _, want := range []time.Duration{5 * time.Millisecond, 15 * time.Millisecond} {
			q.AddRateLimited("shop/data")
			key, _ := q.Get()
			if took := time.Since(began); took != want {
				t.Errorf("tried again after %v, want %v", took, want)
			}
			q.Done(key)
		}
	})
}

// TestNotTriedAgain: a sync that fails after the queue was shut down names no time at which it is tried again.
func TestNotTriedAgain(t *testing.T) {
	x := newBareLab(t)
	x.queue.Add("shop/data")
	got := x.sync(func(context.Context, string) error {
		x.queue.ShutDown()
		return errors.New("no")
	})
	if want := "shop/data has failed: the last sync returned an error (no). It is not tried again before something changes."; said(got) != want || len(got.Timers) != 0 || !got.Try.Next.IsZero() {
		t.Errorf("it says %q and has the timers %+v", said(got), got.Timers)
	}
}

// TestSyncOfAKeyThatWasNotTaken: its handler runs, and nothing is recorded.
func TestSyncOfAKeyThatWasNotTaken(t *testing.T) {
	x := newLab(t, http.NotFound)
	ran := false
	if err := x.queue.Sync(t.Context(), "shop/data", func(context.Context, string) error { ran = true; return nil }); err != nil || !ran || x.journal.Last() != 0 {
		t.Errorf("ran: %v, %v, %d syncs", ran, err, x.journal.Last())
	}
}

// TestAnnounced: what is announced is the cause of the Add that follows, and of no other.
func TestAnnounced(t *testing.T) {
	x := newLab(t, http.NotFound)
	h := x.queue.Announcer("Disk", instrument.ObjectKey)
	h.OnAdd(disk("7"), false)
	if x.queue.Len() != 0 {
		t.Fatal("an announcement enqueues")
	}
	nothing := func(context.Context, string) error { return nil }
	x.queue.Add("shop/other")
	if got := x.sync(nothing); got.Causes[0].Kind != telemetry.CauseAsked {
		t.Errorf("another key: %+v", got.Causes)
	}
	for _, want := range []telemetry.CauseKind{telemetry.CauseAdded, telemetry.CauseAsked} {
		x.queue.Add("shop/data")
		if got := x.sync(nothing); len(got.Causes) != 1 || got.Causes[0].Kind != want || got.UID != "d-1" {
			t.Errorf("%+v of %q, want %s", got.Causes, got.UID, want)
		}
	}
}

// TestAnnouncedAreBounded: what is announced of too many keys at once is forgotten.
func TestAnnouncedAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // No time goes by, or the first would be forgotten.
		x := newBareLab(t)
		h := x.queue.Announcer("Disk", instrument.ObjectKey)
		for i := range 4097 {
			o := disk("7")
			o.Name = strconv.Itoa(i)
			h.OnAdd(o, false)
		}
		for key, want := range map[string]telemetry.CauseKind{"shop/0": telemetry.CauseAdded, "shop/4095": telemetry.CauseAdded, "shop/4096": telemetry.CauseAsked} {
			x.queue.Add(key)
			if got := x.sync(func(context.Context, string) error { return nil }); got.Causes[0].Kind != want {
				t.Errorf("%s: %+v", key, got.Causes)
			}
		}
		x.queue.ShutDown()
	})
}

// TestDrainWaits: a shutdown that drains waits for a key that a worker has, and not for one
// that none takes, as with client-go's queue.
func TestDrainWaits(t *testing.T) {
	for name, newQueue := range shutDownAlike(t) {
		for _, taken := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue()
				q.Add("shop/data")
				if taken {
					_, _ = q.Get()
				}
				drained := false
				go func() { q.ShutDownWithDrain(); drained = true }()
				synctest.Wait()
				if drained == taken {
					t.Errorf("%s: with a worker %v it has ended: %v", name, taken, drained)
				}
				if !taken {
					_, _ = q.Get() // What is ready can still be taken.
				}
				q.Done("shop/data")
				synctest.Wait()
				if !drained {
					t.Errorf("%s: it waits for nothing, with a worker %v", name, taken)
				}
				q.ShutDown()
			})
		}
	}
}

// TestShutDownEndsADrain: a plain shutdown ends the waiting of one that drains, as with
// client-go's queue.
func TestShutDownEndsADrain(t *testing.T) {
	for name, newQueue := range shutDownAlike(t) {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			q.Add("shop/data")
			_, _ = q.Get() // The worker hangs.
			drained := false
			go func() { q.ShutDownWithDrain(); drained = true }()
			synctest.Wait()
			q.ShutDown()
			synctest.Wait()
			if !drained {
				t.Errorf("%s: it still waits after ShutDown", name)
			}
			q.Done("shop/data")
		})
	}
}

// shutDownAlike makes queues whose shutdowns do the same: ours and client-go's.
func shutDownAlike(t *testing.T) map[string]func() workqueue.TypedRateLimitingInterface[string] {
	return map[string]func() workqueue.TypedRateLimitingInterface[string]{
		"recorded": func() workqueue.TypedRateLimitingInterface[string] { return newBareLab(t).queue },
		"client-go": func() workqueue.TypedRateLimitingInterface[string] {
			return workqueue.NewTypedRateLimitingQueue(quick())
		},
	}
}

// TestPanic: a panic is recorded, and goes on.
func TestPanic(t *testing.T) {
	x := newLab(t, http.NotFound)
	x.queue.Add("shop/data")
	key, _ := x.queue.Get()
	func() {
		defer x.queue.Done(key)
		defer func() {
			if recover() != "boom" {
				t.Error("the panic did not go on")
			}
		}()
		_ = x.queue.Sync(t.Context(), key, func(context.Context, string) error { panic("boom") })
	}()
	if got, _ := x.journal.Get(1); got.Result != telemetry.ResultPanicked || said(got) != "shop/data has panicked: the handler of the last sync panicked (boom). It is not tried again before something changes." {
		t.Errorf("%s: %q", got.Result, said(got))
	}
}

// TestRequests: of which kind requests are, in JSON and in protobuf, and which are no writes.
func TestRequests(t *testing.T) {
	x := newLab(t, func(w http.ResponseWriter, r *http.Request) {
		o := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "p", ResourceVersion: "5"}}
		if strings.Contains(r.Header.Get("Accept"), "protobuf") {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, w); err != nil {
				t.Error(err)
			}
			return
		}
		answers(http.StatusOK, o)(w, r)
	})
	pods := x.client.CoreV1().Pods("shop")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", ResourceVersion: "4"}}
	named := pod.DeepCopy()
	named.Name = "web-1"
	for name, c := range map[string]struct {
		send func(ctx context.Context) error
		want *telemetry.Write
	}{
		"create": {func(ctx context.Context) error { _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); return err }, &telemetry.Write{Kind: "create", Object: "Pod web-1", On: "4", RV: "5"}},
		"update": {func(ctx context.Context) error { _, err := pods.Update(ctx, named, metav1.UpdateOptions{}); return err }, &telemetry.Write{Kind: "update", Object: "Pod web-1", On: "4", RV: "5"}},
		"status": {func(ctx context.Context) error {
			_, err := pods.UpdateStatus(ctx, named, metav1.UpdateOptions{})
			return err
		}, &telemetry.Write{Kind: "update-status", Object: "Pod web-1", On: "4", RV: "5"}},
		"delete": {func(ctx context.Context) error { return pods.Delete(ctx, "web-1", metav1.DeleteOptions{}) }, &telemetry.Write{Kind: "delete", Object: "Pod web-1"}},
		"patch": {func(ctx context.Context) error {
			_, err := pods.Patch(ctx, "web-1", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"secret"}},"spec":{"priority":3}}`), metav1.PatchOptions{})
			return err
		}, &telemetry.Write{Kind: "patch", Object: "Pod web-1", RV: "5", Changes: []decision.Change{{Field: "metadata.labels.a"}, {Field: "spec.priority", To: "3"}}}},
		"apply": {func(ctx context.Context) error {
			_, err := pods.Patch(ctx, "web-1", types.ApplyPatchType, []byte(`{"kind":"Pod"}`), metav1.PatchOptions{})
			return err
		}, &telemetry.Write{Kind: "apply", Object: "Pod web-1", RV: "5"}},
		"read": {func(ctx context.Context) error { _, err := pods.Get(ctx, "web-1", metav1.GetOptions{}); return err }, nil},
		"dry run": {func(ctx context.Context) error {
			_, err := pods.Create(ctx, pod, metav1.CreateOptions{DryRun: []string{"All"}})
			return err
		}, nil},
		"event": {func(ctx context.Context) error {
			_, err := x.client.CoreV1().Events("shop").Create(ctx, &corev1.Event{}, metav1.CreateOptions{})
			return err
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			x.queue.Add("shop/data")
			got := x.sync(func(ctx context.Context, _ string) error { return c.send(ctx) })
			var want []telemetry.Write
			if c.want != nil {
				c.want.State = decision.Written
				want = append(want, *c.want)
			}
			writes := got.Writes(x.journal.Loops())
			for i := range writes {
				writes[i].Took = 0
			}
			if diff := cmp.Diff(want, writes); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, said(got))
			}
		})
	}
}

// TestOff: without a recorder everything works and nothing is recorded.
func TestOff(t *testing.T) {
	c := control(t, (*telemetry.Journal)(nil), instrument.Loop("disk", "Disk"))
	q := instrument.NewQueue[string](c, nil)
	defer q.ShutDown()
	h := q.Handler("Disk", instrument.ObjectKey)
	h.OnAdd(disk("7"), false)
	h.OnUpdate(disk("7"), disk("8"))
	h.OnDelete(disk("8"))
	q.Announcer("Disk", instrument.ObjectKey).OnAdd(disk("7"), false)
	if q.Len() != 1 {
		t.Errorf("%d keys are ready", q.Len())
	}
	key, _ := q.Get()
	ran := false
	if err := q.Sync(t.Context(), key, func(ctx context.Context, key string) error {
		ran = key == "shop/data" && instrument.Ask(ctx, "q", true)
		return nil
	}); err != nil || !ran {
		t.Errorf("ran: %v, %v", ran, err)
	}
	q.Done(key)
	if !c.Off() || c.State().Running {
		t.Error("it is not switched off")
	}
}

// TestNoNamespace: the objects of a controller may have no namespace, and what they own has
// one. Both are called by what they are, and a write into a namespace is known by its echo.
func TestNoNamespace(t *testing.T) {
	x := newLab(t, answers(http.StatusOK, claim("12")))
	tenant := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "north", UID: "d-1", ResourceVersion: "7"}}
	x.queue.Handler("Disk", instrument.ObjectKey).OnAdd(tenant, false)
	got := x.sync(x.update)
	if got.Object != (telemetry.Object{Loop: "disk", Name: "north"}) || got.UID != "d-1" || got.Causes[0].Object != "Disk north" {
		t.Errorf("%+v of %q, as %+v", got.Object, got.UID, got.Causes)
	}
	if want := "north is settled: the last sync updated PersistentVolumeClaim shop/data-0."; said(got) != want {
		t.Errorf("it says %q, want %q", said(got), want)
	}
	owned := func(rv string) *corev1.PersistentVolumeClaim {
		o, yes := claim(rv), true
		o.OwnerReferences = []metav1.OwnerReference{{Kind: "Disk", Name: "north", UID: "d-1", Controller: &yes}}
		return o
	}
	h := x.queue.Handler("PersistentVolumeClaim", instrument.ClusterOwnerKey("Disk"))
	h.OnUpdate(owned("11"), owned("12"))
	h.OnUpdate(claim("11"), claim("12")) // which nobody controls
	echo := x.sync(func(context.Context, string) error { return nil })
	if echo.Key() != "north" || len(echo.Causes) != 1 || echo.Causes[0].Object != "PersistentVolumeClaim shop/data-0" || echo.Causes[0].Sync != got.Seq {
		t.Errorf("the echo of sync %d is of %s and has the causes %+v", got.Seq, echo.Key(), echo.Causes)
	}
	if keys := x.control.State().Queue.Keys; len(keys) != 0 {
		t.Errorf("the queue still has %+v", keys)
	}
	if x.queue.Len() != 0 {
		t.Error("what nobody controls woke somebody")
	}
}

// TestNames: what no loop can be called is refused with what is wrong.
func TestNames(t *testing.T) {
	for _, c := range []struct{ name, kind, want string }{{"Disk", "Disk", "no name for a loop"}, {"", "Disk", "no name for a loop"}, {"disk", "", "the kind of its objects is missing"}} {
		if _, err := instrument.New(nil, instrument.Loop(c.name, c.kind)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q of kind %q: %v", c.name, c.kind, err)
		}
	}
}

// TestWorkers: workers have numbers of their own, and a shutdown waits for their keys.
func TestWorkers(t *testing.T) {
	x := newLab(t, http.NotFound)
	var keys []string
	for i := range 3 {
		x.queue.Add(fmt.Sprint("shop/", i))
		key, _ := x.queue.Get()
		keys = append(keys, key)
	}
	if s := x.control.State(); s.Queue.Workers != 3 || s.Queue.Busy != 3 || !s.Running {
		t.Errorf("state: %+v", s)
	}
	var drained sync.WaitGroup
	drained.Go(x.queue.ShutDownWithDrain)
	for _, key := range keys {
		x.queue.Done(key)
	}
	drained.Wait()
	workers := map[int]bool{}
	for seq := range x.journal.Last() {
		got, _ := x.journal.Get(seq + 1)
		workers[got.Worker] = true
	}
	if len(workers) != 3 || !x.queue.ShuttingDown() {
		t.Errorf("workers %v, shutting down: %v", workers, x.queue.ShuttingDown())
	}
	if _, shutdown := x.queue.Get(); !shutdown {
		t.Error("a key after the shutdown")
	}
}

// BenchmarkSync is what recording costs a sync that does nothing, against client-go's own queue.
func BenchmarkSync(b *testing.B) {
	for name, r := range map[string]*telemetry.Journal{"off": nil, "recorded": telemetry.NewJournal(telemetry.JournalOptions{})} {
		b.Run(name, func(b *testing.B) {
			q := instrument.NewQueue[string](control(b, r, instrument.Loop("disk", "Disk")), nil)
			defer q.ShutDown()
			nothing := func(context.Context, string) error { return nil }
			b.ReportAllocs()
			for b.Loop() {
				q.Add("shop/data")
				key, _ := q.Get()
				_ = q.Sync(b.Context(), key, nothing)
				q.Forget(key)
				q.Done(key)
			}
		})
	}
	b.Run("client-go", func(b *testing.B) {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer q.ShutDown()
		b.ReportAllocs()
		for b.Loop() {
			q.Add("shop/data")
			key, _ := q.Get()
			q.Forget(key)
			q.Done(key)
		}
	})
}
