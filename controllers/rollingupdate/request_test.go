package rollingupdate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// What is left out of a request has kubectl's defaults ([RU-1]).
func TestParseRequest(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":1,"image":"web:2"}`:              `{"version":1,"image":"web:2","deploymentKey":"deployment","surge":1,"unavailable":0,"updatePeriod":"1m0s","timeout":"5m0s","cleanup":"rename"}`,
		`{"version":1,"to":"web-2"}`:                 `{"version":1,"to":"web-2","deploymentKey":"deployment","surge":1,"unavailable":0,"updatePeriod":"1m0s","timeout":"5m0s","cleanup":"delete"}`,
		`{"version":1,"to":"web-2","image":"web:2"}`: `{"version":1,"to":"web-2","image":"web:2","deploymentKey":"deployment","surge":1,"unavailable":0,"updatePeriod":"1m0s","timeout":"5m0s","cleanup":"delete"}`,
		` {"version":1,"to":"a.b","surge":"25%","unavailable":2,"updatePeriod":"0s","timeout":"1h","cleanup":"preserve","deploymentKey":"example.com/stage","paused":true,"abort":true,"id":"x"} `: `{"version":1,"id":"x","to":"a.b","deploymentKey":"example.com/stage","surge":"25%","unavailable":2,"updatePeriod":"0s","timeout":"1h0m0s","cleanup":"preserve","paused":true,"abort":true}`,
	} {
		r, err := rollingupdate.ParseRequest(text)
		if err != nil || r.Text() != want {
			t.Errorf("%s: %v, %v, want %s", text, r, err, want)
			continue
		}
		if again, err := rollingupdate.ParseRequest(r.Text()); err != nil || again.Text() != want {
			t.Errorf("%s is read back as %v, %v", want, again, err)
		}
	}
	r, err := rollingupdate.ParseRequest(`{"version":1,"to":"web-2"}`)
	if err != nil || time.Duration(*r.UpdatePeriod) != rollingupdate.DefaultUpdatePeriod || time.Duration(*r.Timeout) != rollingupdate.DefaultTimeout {
		t.Errorf("%+v, %v", r, err)
	}
}

// Each error says what is wrong, and all that is wrong at once ([RU-4]).
func TestParseRequestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "no valid JSON|not valid JSON",
		`[]`:                                  "not valid JSON",
		`{"to":"web-2"}`:                      `no version: it begins with {"version":1`,
		`{"version":2,"later":1}`:             "version 2, and this manager reads version 1",
		`{"version":1}`:                       `neither "to" nor "image"`,
		`{"version":1,"to":"web-2"}}`:         "not valid JSON|goes on after its end",
		`{"version":1,"to":"web-2","size":3}`: `unknown field "size"`,
		`{"version":1,"to":"Web_2"}`:          `to "Web_2" is no name`,
		`{"version":1,"image":"a b"}`:         `image "a b" is no name`,
		`{"version":1,"image":"a","container":"A"}`:                          `container "A" is no name`,
		`{"version":1,"to":"a","container":"b"}`:                             "are for an image",
		`{"version":1,"image":"a","imagePullPolicy":"Sometimes"}`:            "use Always, IfNotPresent or Never",
		`{"version":1,"to":"a","deploymentKey":"-"}`:                         `deploymentKey "-" is no key`,
		`{"version":1,"to":"a","surge":"25"}`:                                `surge: read "25"`,
		`{"version":1,"to":"a","unavailable":-1}`:                            "unavailable -1: use 0 to",
		`{"version":1,"to":"a","updatePeriod":"soon"}`:                       "a period is written as 1m30s",
		`{"version":1,"to":"a","updatePeriod":"-1s"}`:                        "updatePeriod -1s: use 0s",
		`{"version":1,"to":"a","timeout":"0s"}`:                              "timeout 0s: use more than 0s",
		`{"version":1,"to":"a","timeout":"9000h"}`:                           "up to a year",
		`{"version":1,"to":"a","cleanup":"keep"}`:                            "use delete, rename or preserve",
		`{"version":1,"to":"a","id":"` + strings.Repeat("x", 65) + `"}`:      "use up to 64 letters",
		`{"version":1,"to":"A","cleanup":"keep","timeout":"0s"}`:             `to "A" is no name of a ReplicationController; timeout 0s`,
		`{"version":1,"to":"a","image":"` + strings.Repeat("x", 9000) + `"}`: "at most 8192 are read",
	} {
		r, err := rollingupdate.ParseRequest(text)
		if err == nil {
			t.Errorf("%.60s gives %+v", text, r)
			continue
		}
		said := false
		for _, w := range strings.Split(want, "|") {
			said = said || strings.Contains(err.Error(), w)
		}
		if !said {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

// What an update wrote is read as it was written, and nothing else is ([RU-10]).
func TestParseNotes(t *testing.T) {
	for _, want := range []rollingupdate.Parked{{Size: 3, From: "web-2", UID: "u-2", ID: "r1"}, {From: "web-2", UID: "u-2", Account: new("")}, {From: "web-2", UID: "u-2", Account: new("robot")}} {
		if p, err := rollingupdate.ParseParked(want.Text()); err != nil || p.Text() != want.Text() {
			t.Errorf("%s is read as %+v, %v", want.Text(), p, err)
		}
	}
	for _, text := range []string{``, `{}`, `{"size":1,"from":"a"}`, `{"size":-1,"from":"a","uid":"u"}`, `{"size":1,"from":"A","uid":"u"}`, `{"size":1,"from":"a","uid":"u v"}`, `{"size":1,"from":"a","uid":"u","account":"a b"}`} {
		if p, err := rollingupdate.ParseParked(text); err == nil {
			t.Errorf("%s is read as %+v", text, p)
		}
	}
	r := rollingupdate.Result{ID: "r1", Ended: rollingupdate.Aborted, From: "web", To: "web-2", At: now}
	if got := rollingupdate.ParseResult(r.Text()); got == nil || *got != r {
		t.Errorf("%s is read as %+v", r.Text(), got)
	}
	for _, text := range []string{``, `{}`, `{"ended":"lost","from":"a","to":"b","at":"2026-03-01T12:00:00Z"}`, `{"ended":"complete","from":"a","to":"b","at":"9999-03-01T12:00:00Z"}`, `{"ended":"complete","from":"a b","to":"b","at":"2026-03-01T12:00:00Z"}`} {
		if got := rollingupdate.ParseResult(text); got != nil {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}

// FuzzParseRequest: whatever stands in the annotation, it is read whole or refused; what is
// read can be written and read again, and decided on.
func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{`{"version":1,"image":"web:2"}`, `{"version":1,"to":"web-2","surge":"25%","updatePeriod":"1s","abort":true}`, `{"version":1,"to":"x","timeout":"2562047h47m16.854775807s"}`, `{`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := rollingupdate.ParseRequest(text)
		if err != nil {
			return
		}
		again, err := rollingupdate.ParseRequest(r.Text())
		if err != nil || again.Text() != r.Text() {
			t.Fatalf("%s is read back as %v, %v", r.Text(), again, err)
		}
		for _, s := range []*rollingupdate.Snapshot{starting(), moving(2, 2, 1), ended()} {
			s.Request = r
			play(s, tryNone, nil)
		}
	})
}

// FuzzWritten: what is said to be written by an update is read back as it stands, or is none of it.
func FuzzWritten(f *testing.F) {
	for _, seed := range []string{`{"size":3,"from":"web-1","uid":"a-1","account":"builder","id":"x"}`, `{"ended":"complete","from":"web-1","to":"web-2","at":"2026-03-14T09:30:00Z","tookOver":true}`,
		`{"size":-1}`, `{"size":99999999999}`, `{"ended":"else"}`, `null`, `{`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := rollingupdate.ParseParked(text); err == nil {
			if again, err := rollingupdate.ParseParked(p.Text()); err != nil || again.Text() != p.Text() {
				t.Errorf("%s is read back as %+v, %v", p.Text(), again, err)
			}
		}
		if r := rollingupdate.ParseResult(text); r != nil {
			if again := rollingupdate.ParseResult(r.Text()); again == nil || again.Text() != r.Text() {
				t.Errorf("%s is read back as %+v", r.Text(), again)
			}
		}
	})
}
