package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/component-base/cli/flag"

	"github.com/loopscope/loopscope/cmd/internal/secure"
)

// knowing is an API server that takes a token for the name of its user. Who is called forged is nobody; bob
// may see namespace shop, eve may nothing, and everybody else who is known may everything.
func knowing(t testing.TB) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		var err error
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
			var review authenticationv1.TokenReview
			err = json.NewDecoder(r.Body).Decode(&review)
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: !strings.Contains(review.Spec.Token, "forged"), User: authenticationv1.UserInfo{Username: review.Spec.Token}}
			answer = review
		case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
			var review authorizationv1.SubjectAccessReview
			err = json.NewDecoder(r.Body).Decode(&review)
			of := review.Spec.ResourceAttributes
			review.Status.Allowed = review.Spec.User != "system:anonymous" && review.Spec.User != "eve" && (review.Spec.User != "bob" || of == nil || of.Namespace == "shop")
			answer = review
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err = errors.Join(err, json.NewEncoder(w).Encode(answer)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// securely are the options of a free port of loopback that asks that API server.
func securely(t testing.TB) *secure.Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x}}], clusters: [{name: x, cluster: {server: %q}}]}", knowing(t).URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := secure.NewOptions()
	var sections flag.NamedFlagSets
	o.AddFlags(&sections)
	all := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, name := range sections.Order {
		all.AddFlagSet(sections.FlagSets[name])
	}
	if err := all.Parse([]string{"--authentication-kubeconfig=" + file, "--authorization-kubeconfig=" + file, "--authentication-skip-lookup", "--bind-address=127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	var err error
	if o.Serving.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return o
}

// port is one of the two that a manager serves, as a client reaches it.
type port struct {
	name, address string
	tls           *tls.Config // nil for the plain one
}

var insecure = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // It signs itself.

// ports are those of a program that serves both.
func ports(a *App) []port {
	return []port{{"plain", a.Addr().String(), nil}, {"tls", a.secure.Addr().String(), insecure}}
}

// patience is how long a client waits for anything, longer than the server does.
const patience = 2 * time.Minute

func (p port) dial(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
	if err == nil {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		_ = conn.SetDeadline(time.Now().Add(patience))
	}
	if err != nil || p.tls == nil {
		return conn, err
	}
	return tls.Client(conn, p.tls), nil
}

// asks is the beginning of a request, whose headers are not over.
func (p port) asks(line string) string {
	return line + " HTTP/1.1\r\nHost: " + p.address + "\r\nAuthorization: Bearer ann\r\n"
}
