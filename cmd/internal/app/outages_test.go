package app

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/telemetry"
)

var probed = time.Date(2026, 3, 1, 20, 1, 0, 0, time.UTC)

// TestOutages begins an outage when the API server served last, and keeps it when it is over.
func TestOutages(t *testing.T) {
	var o outages
	o.begin(probed)
	at := func(s int) time.Time { return probed.Add(time.Duration(s) * time.Second) }
	o.note(at(7), nil)
	if o.note(at(8), syscall.ECONNREFUSED) {
		t.Error("a probe that fails ends an outage")
	}
	if s := o.now(); s.Reachable || !s.Since.Equal(at(7)) || s.Lack != telemetry.LackAnswer || s.Error != "connection refused" {
		t.Errorf("while nobody listens: %+v", s)
	}
	o.note(at(16), &notReady{[]string{"poststarthook/rbac"}})
	if s := o.now(); !s.Since.Equal(at(7)) || s.Lack != telemetry.LackReady || len(s.Outages()) != 1 {
		t.Errorf("while it starts: %+v", s)
	}
	if !o.note(at(17), nil) || o.note(at(18), nil) {
		t.Error("it serves again once")
	}
	s := o.now()
	if list := s.Outages(); !s.Reachable || !s.Since.Equal(at(17)) || s.Error != "" || len(list) != 1 || !list[0].Began.Equal(at(7)) || !list[0].Ended.Equal(at(17)) || list[0].Lack != telemetry.LackAnswer || list[0].Error != "connection refused" {
		t.Errorf("when it is over: %+v", s)
	}
	o.note(at(19), syscall.ECONNREFUSED)
	if list := o.now().Outages(); len(list) != 2 || !list[1].Began.Equal(at(18)) || !list[1].Ended.IsZero() {
		t.Errorf("in the second one: %+v", list)
	}
}

func TestOutagesAreBounded(t *testing.T) {
	var o outages
	o.begin(probed)
	for i := range keptOutages + 3 {
		o.note(probed.Add(time.Duration(2*i)*time.Second), syscall.ECONNREFUSED)
		o.note(probed.Add(time.Duration(2*i+1)*time.Second), nil)
	}
	list := o.now().Outages()
	if len(list) != keptOutages || !list[len(list)-1].Ended.Equal(probed.Add(time.Duration(2*keptOutages+5)*time.Second)) {
		t.Errorf("%d are kept, the last until %s", len(list), list[len(list)-1].Ended)
	}
}

// TestProbe tells an API server that is not there, that has lost its etcd and that is not ready.
func TestProbe(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		lack         telemetry.Lack
		want         string
	}{
		{"etcd", "[+]ping ok\n[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\n[+]informer-sync ok\nreadyz check failed\n", telemetry.LackEtcd, "/readyz: etcd failed, etcd-readiness failed"},
		{"start", "[+]ping ok\n[+]etcd ok\n[-]poststarthook/rbac failed: reason withheld\nreadyz check failed\n", telemetry.LackReady, "/readyz: poststarthook/rbac failed"},
		{"nothing said", "", telemetry.LackReady, "an error on the server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, c.answer, http.StatusInternalServerError) }))
			t.Cleanup(server.Close)
			err := probe(t, &rest.Config{Host: server.URL})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || lackOf(err) != c.lack {
				t.Errorf("lack %q of %v, want %q of %s", lackOf(err), err, c.lack, c.want)
			}
		})
	}
	if err := probe(t, answering(t, metav1.Status{Code: http.StatusUnauthorized, Reason: metav1.StatusReasonUnauthorized, Message: "Unauthorized"})); lackOf(err) != telemetry.LackLogin {
		t.Errorf("with a certificate that has run out: lack %q of %v", lackOf(err), err)
	}
	if err := probe(t, nowhere()); !errors.Is(err, syscall.ECONNREFUSED) || lackOf(err) != telemetry.LackAnswer {
		t.Errorf("where nobody listens: lack %q of %v", lackOf(err), err)
	}
}

func probe(t *testing.T, config *rest.Config) error {
	t.Helper()
	c, err := reader(config, "dev", "probe")
	if err != nil {
		t.Fatal(err)
	}
	x := &cluster{health: c.Discovery().RESTClient()}
	return x.ask(t.Context())
}

// A process that ends while it waits for an API server does not say that this one does not answer. It is
// not ready before the first answer.
func TestEndsBeforeTheFirstAnswer(t *testing.T) {
	asked := make(chan struct{}, 1)
	c, log := versioned(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	})
	c.answers = make(chan struct{})
	c.state.begin(probed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- c.probe(ctx) }()
	<-asked
	if s := c.server(); !s.Awaited || c.ready() {
		t.Errorf("before the first answer it is %+v, and ready: %v", s, c.ready())
	}
	cancel()
	if err, said := <-ended, log.take(); err != nil || said != "" {
		t.Errorf("%v, and the log says %q", err, said)
	}
	c.note(nil)
	if s := c.server(); s.Awaited || !c.ready() {
		t.Errorf("after it, it is %+v, and ready: %v", s, c.ready())
	}
}
