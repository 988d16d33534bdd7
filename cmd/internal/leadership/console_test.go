package leadership_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	certutil "k8s.io/client-go/util/cert"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/telemetry"
)

// certificate signs itself.
func certificate(t testing.TB) string {
	t.Helper()
	cert, _, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(cert)
}

// The Lease says where the console of its holder is, of that one alone, and nothing once nobody
// holds it ([M-2]).
func TestConsoleInTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		annotation := func() string {
			t.Helper()
			lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "loopscope-manager", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return lease.Annotations[leadership.ConsoleAnnotation]
		}
		first := run(t, client, "a", true)
		second := run(t, client, "b", true)
		const there = `{"identity":"a","url":"http://127.0.0.1:1"}`
		if got := annotation(); got != there {
			t.Errorf("the Lease says %s", got)
		}
		want := leadership.Console{Identity: "a", URL: "http://127.0.0.1:1"}
		if got := second.Leader(); got != want {
			t.Errorf("the second one knows of %+v", got)
		}
		if got := first.Leader(); got != (leadership.Console{}) {
			t.Errorf("the leader follows %+v", got)
		}
		third := run(t, client, "says nothing", true)
		for _, c := range []*candidate{first, second} {
			if err := c.stop(); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
		}
		third.want(t, true, "says nothing")
		if got := annotation(); got != "" {
			t.Errorf("the Lease says %s of one that says nothing", got)
		}
		fourth := run(t, client, "d", true)
		if got := fourth.Leader(); got != (leadership.Console{Identity: "says nothing"}) {
			t.Errorf("the fourth one knows of %+v", got)
		}
		for _, c := range []*candidate{fourth, third} {
			if err := c.stop(); err != nil {
				t.Error(err)
			}
		}
		if got := annotation(); got != "" {
			t.Errorf("nobody leads, and the Lease says %s", got)
		}
	})
}

func TestParseConsole(t *testing.T) {
	pem := strings.ReplaceAll(certificate(t), "\n", `\n`)
	for text, want := range map[string]string{
		`{"identity":"a","url":"http://127.0.0.1:8077"}`:                                 "",
		`{"identity":"a","url":"http://[::1]:8077","newer":1}`:                           "",
		`{"identity":"a","url":"https://10.0.0.1:10443","certificate":"` + pem + `"}`:    "",
		`{"identity":"a","url":"https://10.0.0.1:10443"}`:                                "not PEM",
		`{"identity":"a","url":"http://10.0.0.1:8077"}`:                                  "without TLS",
		`{"identity":"a","url":"http://localhost:8077"}`:                                 "without TLS",
		`{"identity":"a","url":"http://127.0.0.1:80","certificate":"x"}`:                 "without TLS",
		`{"identity":"a","url":"file:///etc/passwd"}`:                                    "not an address",
		`{"identity":"a","url":"https://u:p@10.0.0.1:1","certificate":"` + pem + `"}`:    "not an address",
		`{"identity":"a","url":"https://10.0.0.1:1/path?q","certificate":"` + pem + `"}`: "not an address",
		`{"url":"http://127.0.0.1:8077"}`:                                                "whose console",
		`{"identity":"a","url":"http://127.0.0.1:8077"} {}`:                              "not the JSON",
		``: "not the JSON",
		`{"identity":"` + strings.Repeat("a", 40<<10) + `"}`: "more than the",
	} {
		if _, err := leadership.ParseConsole(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// What is read is an address of a host and a port, over TLS with a name to verify, or on loopback.
func FuzzParseConsole(f *testing.F) {
	f.Add(`{"identity":"a","url":"http://127.0.0.1:8077"}`)
	f.Add(`{"identity":"a","url":"https://10.0.0.1:10443","certificate":"` + strings.ReplaceAll(certificate(f), "\n", `\n`) + `"}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := leadership.ParseConsole(text)
		switch {
		case err != nil && c != (leadership.Console{}):
			t.Errorf("%v, and %+v", err, c)
		case err != nil:
		case strings.HasPrefix(c.URL, "https://"):
			if name, err := c.ServerName(); name == "" || err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		case !strings.HasPrefix(c.URL, "http://127.") && !strings.HasPrefix(c.URL, "http://["):
			t.Errorf("%+v is read without TLS", c)
		}
	})
}

// What was not received of a leader is kept as a sync of the Lease, so that it is in the history.
func TestMissedIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first, second := run(t, client, "a", true), run(t, client, "b", true)
		second.Missed(telemetry.MissedSyncs{Leader: "a", From: time.Now(), To: time.Now().Add(2 * time.Second), Count: 12})
		second.kept.want(t, "a has led since 00:00:00; This process stands by until the Lease is given back or runs out", "12 syncs of a between 00:00:00 and 00:00:02 were not received")
		for _, c := range []*candidate{second, first} {
			if err := c.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}
