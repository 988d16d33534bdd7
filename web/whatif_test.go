package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// planWorld is shop/web, settled at ten pods, and shop/stuck, whose last three
// new pods cannot pull their image.
func planWorld(t testing.TB) *world {
	t.Helper()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.rollout("web").begin()
	r := w.rollout("stuck")
	r.begin()
	w.now = storyNow.Add(-16 * time.Minute)
	r.roll("registry.example/shop/web:3.4.0", 3)
	return w
}

// planTwin is what programs read of a plan.
type planTwin struct {
	Headline, PodsError, Permalink string
	Base                           views.WhatIfBase
	Fields                         []views.WhatIfField
	Pods                           []views.WhatIfPod
	Plans                          []views.Comparison
	Commands                       []string
}

// whatIfTwin is the JSON of a plan.
func whatIfTwin(t testing.TB, base, name, query string) (int, planTwin) {
	t.Helper()
	res, body := getWithin(t, 5*time.Minute, base, "/deployments/shop/"+name+"/what-if.json?"+query) // Not cut by the clock, a large plan takes long.
	var twin struct {
		Page  planTwin `json:"page"`
		Error *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(body), &twin); err != nil {
		t.Fatalf("%s: %v\n%.400s", query, err, body)
	}
	if twin.Error != nil {
		t.Fatalf("%s: %s", query, twin.Error.Message)
	}
	return res.StatusCode, twin.Page
}

// steps is a plan as text: new, old, total and available after each event.
func steps(p *views.Plan) string {
	var b strings.Builder
	for _, r := range p.Rows {
		mark := ""
		if r.Mark != nil {
			mark = " " + r.Mark.Word
		}
		fmt.Fprintf(&b, "%s: %d %d %d %d%s\n", r.When, r.New.N, r.Old.N, r.Total.N, r.Available.N, mark)
	}
	return b.String()
}

// TestWhatIfPlans holds the plans to the numbers of the drawing, which were
// worked out by hand.
func TestWhatIfPlans(t *testing.T) {
	_, h := planWorld(t).serve(nil)
	_, v := whatIfTwin(t, h.URL, "stuck", "maxUnavailable=30%25")
	now, all := v.Plans[0], v.Plans[1]
	for name, x := range map[string]struct{ got, want string }{
		"now, as it is": {steps(&now.Now), "at once: 10 1 11 8 held\nthe deadline: 10 1 11 8 deadline exceeded\n"},
		"now, what if":  {steps(now.If), "at once: 10 0 10 7\nthe deadline: 10 0 10 7 deadline exceeded\n"},
		"whole, as it is": {steps(&all.Now), "at once: 5 8 13 8\n1 available: 6 7 13 8\n2 available: 7 6 13 8\n3 available: 8 5 13 8\n4 available: 9 4 13 8\n5 available: 10 3 13 8\n" +
			"6 available: 10 2 12 8\n7 available: 10 1 11 8\n8 available: 10 0 10 8\n9 available: 10 0 10 9\n10 available: 10 0 10 10 complete\n"},
		"whole, what if": {steps(all.If), "at once: 6 7 13 7\n1 available: 7 6 13 7\n2 available: 8 5 13 7\n3 available: 9 4 13 7\n4 available: 10 3 13 7\n5 available: 10 2 12 7\n" +
			"6 available: 10 1 11 7\n7 available: 10 0 10 7\n8 available: 10 0 10 8\n9 available: 10 0 10 9\n10 available: 10 0 10 10 complete\n"},
	} {
		if diff := cmp.Diff(x.want, x.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if want := "With maxUnavailable 30%, old 1 → 0 at once, at least 7 stay available instead of 8 and it takes 1 scale write instead of 0."; v.Headline != want {
		t.Errorf("headline %q, want %q", v.Headline, want)
	}
	if r := all.If.Rows[0]; !r.New.Differs || !r.Available.Differs || r.Total.Differs || all.Now.Rows[0].New.Differs {
		t.Errorf("marked as different: %+v beside %+v", r, all.Now.Rows[0])
	}
}

// TestWhatIfFates lets pods become ready or fail, and asks for one thing at a
// time of everything else.
func TestWhatIfFates(t *testing.T) {
	w := planWorld(t)
	_, h := w.serve(nil)
	_, v := whatIfTwin(t, h.URL, "stuck", "")
	pod := v.Pods[0].Value
	for query, want := range map[string][2]string{
		"":                             {"stuck", "What if shop/stuck were changed?"},
		"ready=" + pod:                 {"stuck", "old 1 → 0"},
		"ready=*":                      {"stuck", "ends complete instead of deadline exceeded"},
		"ready=*&fails=" + pod:         {"stuck", "failing"},
		"replicas=4":                   {"web", "at least 4 stay available instead of 10"},
		"replicas=20":                  {"web", "new 10 → 20 at once"},
		"image=shop/web:9":             {"web", "old 10 → 8, new 0 → 5 at once"},
		"paused=true":                  {"web", "it ends waiting instead of complete"},
		"minReadySeconds=30":           {"web", "at least 0 stay available instead of 10"}, // its pods are ready for 4 s
		"progressDeadlineSeconds=none": {"stuck", "it ends waiting instead of deadline exceeded"},
		"maxSurge=0&maxUnavailable=1":  {"web", "nothing changes now; in a whole rollout, at least 9 stay available instead of 8"},
		"replicas=10&maxSurge=25%25&paused=false": {"web", "were changed?"}, // as the form sends it
	} {
		status, v := whatIfTwin(t, h.URL, want[0], query)
		if status != http.StatusOK || !strings.Contains(v.Headline, want[1]) && !strings.Contains(steps(v.Plans[0].If)+v.Plans[0].If.Rows[min(1, len(v.Plans[0].If.Rows)-1)].Then, want[1]) {
			t.Errorf("%s: %d %s\n%s", query, status, v.Headline, steps(v.Plans[0].If))
		}
	}
	if _, again := whatIfTwin(t, h.URL, "stuck", strings.SplitN(v.Permalink, "?", 2)[1]); again.Base != v.Base || again.Headline != v.Headline {
		t.Errorf("the permalink %s is of %+v, want %+v", v.Permalink, again.Base, v.Base)
	}
}

// TestWhatIfWrong: what cannot be planned is said at its field, and everything
// else that was entered stays.
func TestWhatIfWrong(t *testing.T) {
	_, h := planWorld(t).serve(nil)
	for query, want := range map[string][2]string{
		"replicas=-1":                             {"replicas", "whole number from 0"},
		"replicas=ten":                            {"replicas", "whole number from 0"},
		"replicas=99999999999999999999":           {"replicas", "whole number from 0"},
		"replicas=10000":                          {"replicas", "5,000 at most"},
		"maxSurge=x":                              {"maxSurge", "percentage such as 25%"},
		"maxSurge=-5%25":                          {"maxSurge", "percentage such as 25%"},
		"maxUnavailable=150%25":                   {"maxUnavailable", "100% at most"},
		"maxUnavailable=0&maxSurge=0%25":          {"maxUnavailable", "Must not be 0"},
		"minReadySeconds=1.5":                     {"minReadySeconds", "whole number"},
		"progressDeadlineSeconds=0":               {"progressDeadlineSeconds", "from 1, or none"},
		"minReadySeconds=700":                     {"minReadySeconds", "longer than minReadySeconds"},
		"image=" + url.QueryEscape("a b"):         {"image", "Enter an image"},
		"image=a,b":                               {"image", "1 image"},
		"image=" + url.QueryEscape("<b>'\"$(id)"): {"image", "Enter an image"},
		"paused=maybe":                            {"paused", "true or false"},
	} {
		status, v := whatIfTwin(t, h.URL, "web", query+"&maxSurge=4&replicas=12"[len("&maxSurge=4"):])
		found := ""
		for _, f := range v.Fields {
			if f.Name == want[0] {
				found = f.Error
			}
		}
		if status != http.StatusBadRequest || !strings.Contains(found, want[1]) || len(v.Commands) > 0 || v.Plans[0].If != nil {
			t.Errorf("%s: %d, %s says %q, want %q", query, status, want[0], found, want[1])
		}
		res, body := get(t, h.URL, "/deployments/shop/web/what-if?"+query+"&minReadySeconds=7")
		d := parse(t, body)
		d.sound()
		if res.StatusCode != http.StatusOK || !strings.Contains(body, `aria-invalid="true"`) || want[0] != "minReadySeconds" && want[0] != "progressDeadlineSeconds" && !strings.Contains(body, `name="minReadySeconds" value="7"`) {
			t.Errorf("%s: %d, without its message or with other values lost", query, res.StatusCode)
		}
	}
	for query, want := range map[string]string{"ready=nobody": "Nothing called nobody", "ready=6vxpg&fails=6vxpg": ""} {
		status, v := whatIfTwin(t, h.URL, "web", query)
		if status != http.StatusBadRequest || !strings.Contains(v.PodsError, want) {
			t.Errorf("%s: %d %q", query, status, v.PodsError)
		}
	}
}

// TestWhatIfBase: the sync in the address is the base, whatever came after it.
func TestWhatIfBase(t *testing.T) {
	w := planWorld(t)
	_, h := w.serve(nil)
	kept := w.journal.Of(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "stuck"}, source.HistoryRows)
	first := kept[len(kept)/2]
	_, v := whatIfTwin(t, h.URL, "stuck", "sync="+words.Digits(first.Seq)+"&epoch="+first.Epoch)
	if v.Base.Seq != first.Seq || !v.Base.At.Equal(first.Started) {
		t.Errorf("base %+v, want sync %d", v.Base, first.Seq)
	}
	for _, path := range []string{"?sync=0", "?sync=x", "?sync=99999", "?sync=1&epoch=gone"} {
		if res, _ := get(t, h.URL, "/deployments/shop/stuck/what-if"+path); res.StatusCode < 400 || res.StatusCode >= 500 {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// many is the trace of a large Deployment.
func (w *world) many(name string, pods int64) {
	s := largeDeployment(w.now, name, pods)
	w.journal.Record(w.decideDeployment(s, script{}))
}

// largeDeployment is a Deployment of so many pods that all are available.
func largeDeployment(now time.Time, name string, pods int64) *deployment.Snapshot {
	one := deployment.IntOrPercent{Int: 1}
	return &deployment.Snapshot{Version: 1, Now: now, Found: true, Namespace: "shop", Name: name, UID: name, RV: "1", Generation: 1, Want: pods, Strategy: "RollingUpdate",
		MaxSurge: &one, MaxUnavailable: &deployment.IntOrPercent{}, Deadline: ptr(int64(600)), Images: []string{"a:1"}, NextName: name + "-1", NextHash: "1",
		ReplicaSets: []deployment.ReplicaSet{{Name: name + "-1", UID: name + "-1", RV: "1", Created: now, Mine: true, Matches: true, SameTemplate: true, Replicas: pods,
			StatusReplicas: pods, Ready: pods, Available: pods, NonTerminal: pods, Images: []string{"a:1"}}}}
}

// TestWhatIfLongImages: the images of many containers can be edited, and the form can be sent
// again as it is. What is longer than its field is refused.
func TestWhatIfLongImages(t *testing.T) {
	w := newWorld(t, storyNow)
	for name, n := range map[string]int{"three": 3, "thirty": 30} {
		w.pinned(name, n)
	}
	_, h := w.serve(nil)
	for name, n := range map[string]int{"three": 3, "thirty": 30} {
		at := "/deployments/shop/" + name + "/what-if"
		_, plain := get(t, h.URL, at)
		edited := fieldsOf(parse(t, plain).all("form")[0])
		edited.Set("image", strings.Replace(edited.Get("image"), pinnedImage(0), pinnedImage(n), 1))
		_, want := whatIfTwin(t, h.URL, name, edited.Encode())
		if !strings.Contains(want.Headline, "new 0 → ") || len(want.Commands) != 1 {
			t.Fatalf("%s: %s, %q", name, want.Headline, want.Commands)
		}
		_, body := get(t, h.URL, want.Permalink)
		again := fieldsOf(parse(t, body).all("form")[0])
		if status, v := whatIfTwin(t, h.URL, name, again.Encode()); status != http.StatusOK || v.Headline != want.Headline || v.Permalink != want.Permalink {
			t.Errorf("%s, sent again: %d, %s", name, status, v.Headline)
		}
		long := strings.Repeat("x", 4097)
		if status, v := whatIfTwin(t, h.URL, name, "image="+long); status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(v.Fields), "4,096 characters at most") {
			t.Errorf("%s, too long: %d, %+v", name, status, v.Fields)
		}
	}
	res, body := get(t, h.URL, "/deployments/shop/three/what-if?image="+strings.Repeat("x", 9000))
	if res.StatusCode != http.StatusRequestURITooLong || !strings.Contains(body, "8,192 characters") || strings.Contains(body, "filter") {
		t.Errorf("an address of 9,000 characters: %s", res.Status)
	}
}

// pinned is the trace of a Deployment with so many containers.
func (w *world) pinned(name string, containers int) {
	s := largeDeployment(w.now, name, 4)
	s.Images = nil
	for i := range containers {
		s.Images = append(s.Images, pinnedImage(i))
	}
	s.ReplicaSets[0].Images = s.Images
	w.journal.Record(w.decideDeployment(s, script{}))
}

// pinnedImage is an image of 110 characters.
func pinnedImage(i int) string {
	return fmt.Sprintf("registry.example.com/shop/container-%02d@sha256:%064x", i, i)
}

// fieldsOf is what a browser sends of a form; it lets nobody edit what stays too long for its field.
func fieldsOf(form *html.Node) url.Values {
	args := url.Values{}
	for x := range form.Descendants() {
		switch {
		case x.Data == "input" && attr(x, "type") != "checkbox":
			value := attr(x, "value")
			if most, err := strconv.Atoi(attr(x, "maxlength")); err == nil && len(value) > most {
				value = value[:most]
			}
			args.Add(attr(x, "name"), value)
		case x.Data == "option" && slices.ContainsFunc(x.Attr, func(a html.Attribute) bool { return a.Key == "selected" }):
			args.Add(attr(x.Parent, "name"), attr(x, "value"))
		}
	}
	return args
}

// TestWhatIfLarge: nobody keeps the console busy with a large Deployment.
func TestWhatIfLarge(t *testing.T) {
	longUnderRace(t)
	w := planWorld(t)
	w.many("vast", 10_000)
	w.many("large", sim.MaxPods-100)
	s, h := w.serve(nil)
	s.whatIfs.Within = 20 * time.Minute // However busy the machine, the clock must not cut a plan here.
	res, body := get(t, h.URL, "/deployments/shop/vast/what-if")
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "a plan is made for 5,000 at most") {
		t.Errorf("10,000 pods: %s\n%.300s", res.Status, body)
	}
	shrunk := largeDeployment(w.now, "shrunk", 6000)
	shrunk.Want = 10
	w.journal.Record(w.decideDeployment(shrunk, script{}))
	if _, body := get(t, h.URL, "/deployments/shop/shrunk/what-if"); !strings.Contains(body, "It may have 6,000 pods at once; a plan is made for 5,000 at most") {
		t.Errorf("6,000 pods scaled to 10: %.300s", body)
	}
	began := time.Now()
	_, v := whatIfTwin(t, h.URL, "large", "maxSurge=2")
	took := time.Since(began)
	t.Logf("%d pods one by one: %s, %d rows, cut: %v", sim.MaxPods-100, took, len(v.Plans[1].Now.Rows), v.Plans[1].Now.Cut != "")
	_, again := whatIfTwin(t, h.URL, "large", "maxSurge=2")
	if diff := cmp.Diff(v.Plans, again.Plans); diff != "" {
		t.Errorf("the same plan ends elsewhere the second time:\n%s", diff)
	}
	if v.Plans[1].Now.Cut == "" || len(v.Headline) == 0 {
		t.Errorf("a plan of thousands of steps is not cut: %s", v.Headline)
	}
	began = time.Now()
	_, v = whatIfTwin(t, h.URL, "web", "replicas=200")
	t.Logf("200 pods in groups: %s, %d rows", time.Since(began), len(v.Plans[1].If.Rows))
	if v.Plans[1].If.Cut != "" {
		t.Errorf("a plan of 200 pods is cut: %s", v.Plans[1].If.Cut)
	}
	began = time.Now()
	_, v = whatIfTwin(t, h.URL, "web", "replicas=1500")
	t.Logf("1,500 pods in groups: %s, %d rows, cut: %v", time.Since(began), len(v.Plans[1].If.Rows), v.Plans[1].If.Cut != "")
}

// TestWhatIfIsAForm: it needs no script and has nothing that writes.
func TestWhatIfIsAForm(t *testing.T) {
	_, h := planWorld(t).serve(nil)
	_, body := get(t, h.URL, "/deployments/shop/stuck/what-if?maxUnavailable=50%25")
	d := parse(t, body)
	d.sound()
	forms := d.all("form")
	if len(forms) != 1 || attr(forms[0], "method") != "" || attr(forms[0], "action") != "/deployments/shop/stuck/what-if" {
		t.Errorf("%d forms, of method %q", len(forms), attr(forms[0], "method"))
	}
	if n := len(d.all("button")); n != 1 {
		t.Errorf("%d buttons, want the one that plans", n)
	}
	_, body = get(t, h.URL, "/deployments/shop/stuck")
	if !strings.Contains(body, `href="/deployments/shop/stuck/what-if"`) {
		t.Error("the Deployment's page has no link to it")
	}
}

// TestBrowserWhatIf goes the way of somebody who asks what maxUnavailable 50 %
// would change: the answer is on one page, without scrolling.
func TestBrowserWhatIf(t *testing.T) {
	t.Parallel()
	_, h := planWorld(t).serve(nil)
	ctx := browser(t)
	c := listen(t, ctx)
	do(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(h.URL+"/deployments/shop/stuck"))
	until(t, ctx, isLive)
	keys(t, ctx, "w")
	until(t, ctx, `location.pathname.endsWith('/what-if') && document.readyState === 'complete'`)
	run(t, ctx, chromedp.Evaluate[bool](`(document.querySelector('#w-maxUnavailable').focus(), document.querySelector('#w-maxUnavailable').select(), true)`))
	keys(t, ctx, "50%", "\r")
	until(t, ctx, `location.search.includes('maxUnavailable=50%25') && location.search.includes('sync=') && document.readyState === 'complete'`)
	for what, at := range map[string]string{
		"With maxUnavailable 50%, old 1 → 0 at once, at least 7 stay available instead of 8": "h1",
		"fewest available 7": ".whatif section .half>div:nth-child(2) .plan-h",
	} {
		script := `(() => { const e = document.querySelector('` + at + `'), r = e.getBoundingClientRect(); return scrollY === 0 && e.innerText.includes(` + "`" + what + "`" + `) && r.top >= 0 && r.bottom <= innerHeight })()`
		if !run(t, ctx, chromedp.Evaluate[bool](script)) {
			t.Errorf("%q is not to be seen in %s without scrolling: %s", what, at, run(t, ctx, chromedp.Evaluate[string](`document.querySelector('`+at+`').innerText`)))
		}
	}
	run(t, ctx, chromedp.Evaluate[bool](`(history.back(), true)`))
	until(t, ctx, `!location.search.includes('50%25')`)
	c.none(t)
	for name, path := range map[string]string{"plain": "/deployments/shop/stuck/what-if?", "half": "/deployments/shop/stuck/what-if?maxUnavailable=50%25&",
		"settled": "/deployments/shop/web/what-if?maxUnavailable=50%25&", "wrong": "/deployments/shop/web/what-if?maxUnavailable=150%25&replicas=7&",
		"mended": "/deployments/shop/stuck/what-if?ready=*&image=shop/web:4&"} {
		portray(t, ctx, h.URL+path, "whatif-"+name)
	}
	c.none(t)
}
