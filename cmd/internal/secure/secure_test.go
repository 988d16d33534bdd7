package secure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	certutil "k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"
)

// parsed are the options that flags come to, on a free port of loopback.
func parsed(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	o := NewOptions()
	var sections cliflag.NamedFlagSets
	o.AddFlags(&sections)
	all := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, name := range sections.Order {
		all.AddFlagSet(sections.FlagSets[name])
	}
	return o, all.Parse(args)
}

// listening is a bound port, served until the test is over.
func listening(t *testing.T, h http.Handler, args ...string) *Port {
	t.Helper()
	o, err := parsed(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	if o.Serving.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if errs := o.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	p, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Serve(h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

// get asks a port, and returns the status, the body and the certificate that it showed.
func get(t *testing.T, p *Port, path string) (status int, body string, shown *x509.Certificate) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // It signs itself.
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get("https://" + p.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.TLS.PeerCertificates[0]
}

// TestWithoutAnAPIServer: nobody is asked, so that only what everybody may read is read, by the path
// that was allowed.
func TestWithoutAnAPIServer(t *testing.T) {
	p := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path+" "+r.URL.RawPath)
	}), "--authorization-always-allow-paths=/healthz,/open/*")
	for path, want := range map[string]string{"/healthz": "/healthz ", "/%68ealthz": "/healthz ", "/open/a%2Fb": "/open/a/b ", "/metrics": "", "/healthz/": "", "/livez": "", "/": ""} {
		status, body, _ := get(t, p, path)
		if (status == http.StatusOK) != (want != "") || want != "" && body != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if want == "" && (status != http.StatusForbidden || !strings.Contains(body, `User \"system:anonymous\" cannot get path`)) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestCertificates: one is made where none is given, and files are read again when they change.
func TestCertificates(t *testing.T) {
	nothing := http.NotFoundHandler()
	p := listening(t, nothing)
	if _, _, shown := get(t, p, "/healthz"); shown.VerifyHostname("localhost") != nil || shown.VerifyHostname("127.0.0.1") != nil {
		t.Errorf("it is for %v, %v", shown.DNSNames, shown.IPAddresses)
	}
	dir := filepath.Join(t.TempDir(), "made")
	listening(t, nothing, "--cert-dir="+dir)
	for _, file := range []string{"loopscope-manager.crt", "loopscope-manager.key"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	cert, key := filepath.Join(dir, "loopscope-manager.crt"), filepath.Join(dir, "loopscope-manager.key")
	p = listening(t, nothing, "--tls-cert-file="+cert, "--tls-private-key-file="+key)
	write(t, "renewed.example", cert, key)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, _, shown := get(t, p, "/healthz")
		if shown.VerifyHostname("renewed.example") == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it still shows the one for %v", shown.DNSNames)
		}
	}
	if !p.Named("renewed.example") || p.Named("localhost") {
		t.Error("its names are not those of the new certificate")
	}
}

// write writes a certificate and its key.
func write(t *testing.T, name, cert, key string) {
	t.Helper()
	c, k, err := certutil.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(key, k, 0o600), os.WriteFile(cert, c, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestNames: a port is asked by the names of its certificates, and by any address.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "crt"), filepath.Join(dir, "key")
	write(t, "*.shop.example", cert, key)
	p := listening(t, http.NotFoundHandler(), "--tls-sni-cert-key="+cert+","+key, "--console-hosts=Scope.example,b.example")
	for name, want := range map[string]bool{"scope.example": true, "b.example": true, "a.scope.example": false, "localhost": true, "LocalHost": true, "10.0.0.1": true, "::1": true, "a.shop.example": true, "shop.example": false, "a.b.shop.example": false, "evil.example": false, "": false, "127.0.0.1.evil.example": false} {
		if p.Named(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// TestErrors: what is wrong is said before anything is bound, and what cannot be had when it is.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--secure-port=65536"}, "--secure-port=65536: give a port from 1 to 65535, or 0 for none"},
		{[]string{"--tls-cert-file=a"}, "--tls-cert-file and --tls-private-key-file belong together"},
		{[]string{"--tls-private-key-file=a"}, "belong together"},
		{[]string{"--tls-min-version=VersionTLS11"}, "--tls-min-version=VersionTLS11: give VersionTLS12"},
		{[]string{"--tls-min-version=1.2"}, "--tls-min-version: unknown tls version"},
		{[]string{"--tls-cipher-suites=ROT13"}, "--tls-cipher-suites: Cipher suite ROT13 not supported"},
		{[]string{"--tls-curve-preferences=1"}, "--tls-curve-preferences: "},
		{[]string{"--console-hosts=https://a.example"}, `--console-hosts="https://a.example": give names such as`},
		{[]string{"--console-hosts=a.example:443"}, "without scheme, port and path"},
		{[]string{"--console-hosts=a.example,"}, `--console-hosts=""`},
		{[]string{"--console-hosts=*.example"}, `--console-hosts="*.example"`},
		{[]string{"--requestheader-username-headers= "}, `empty value in "requestheader-username-headers"`},
	} {
		o, err := parsed(t, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(o.Validate()...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: no %q in %v", c.args, c.want, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--cert-dir=" + file}, "omit --cert-dir for one in memory"},
		{[]string{"--tls-cert-file=/does/not/exist", "--tls-private-key-file=/does/not/exist"}, "open /does/not/exist"},
		{[]string{"--tls-sni-cert-key=/does/not/exist,/does/not/too"}, "failed to load SNI cert and key"},
		{[]string{"--client-ca-file=/does/not/exist"}, "/does/not/exist"},
		{[]string{"--authentication-kubeconfig=/does/not/exist"}, "--authentication-kubeconfig says whom to ask"},
		{[]string{"--authorization-kubeconfig=/does/not/exist"}, "--authorization-kubeconfig says whom to ask"},
	} {
		o, err := parsed(t, append(c.args, "--secure-port=1", "--bind-address=127.0.0.1")...)
		if err != nil {
			t.Fatal(err)
		}
		if o.Serving.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if p, err := Listen(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: no %q in %v, %v", c.args, c.want, p, err)
		}
		if again, err := net.Listen("tcp", o.Serving.Listener.Addr().String()); err != nil {
			t.Errorf("%v: the port is not given back: %v", c.args, err)
		} else {
			_ = again.Close()
		}
	}
}

// TestPairs: the flag for other names is a list for a configuration file.
func TestPairs(t *testing.T) {
	o := NewOptions()
	var sections cliflag.NamedFlagSets
	o.AddFlags(&sections)
	flag := sections.FlagSet("secure serving").Lookup("tls-sni-cert-key")
	for _, text := range []string{"a.crt,a.key", "b.crt,b.key:b.example,*.b.example"} {
		if err := flag.Value.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	list := flag.Value.(pflag.SliceValue)
	if got := strings.Join(list.GetSlice(), " "); got != "a.crt,a.key b.crt,b.key:b.example,*.b.example" {
		t.Errorf("it has %s", got)
	}
	if err := list.Replace([]string{"c.crt,c.key"}); err != nil || len(o.Serving.SNICertKeys) != 1 || o.Serving.SNICertKeys[0].KeyFile != "c.key" {
		t.Errorf("it has %v, %v", o.Serving.SNICertKeys, err)
	}
	if err := list.Replace([]string{"c.crt"}); err == nil {
		t.Error("a certificate without a key is taken")
	}
}

// TestUsage: every flag says what it is for.
func TestUsage(t *testing.T) {
	var sections cliflag.NamedFlagSets
	NewOptions().AddFlags(&sections)
	n := 0
	for _, name := range sections.Order {
		sections.FlagSets[name].VisitAll(func(flag *pflag.Flag) {
			if n++; flag.Usage == "" {
				t.Errorf("--%s does not say what it is for", flag.Name)
			}
		})
	}
	if n != len(usage) {
		t.Errorf("there are %d flags and usages of %d", n, len(usage))
	}
}

// Other managers reach the port by the address that is bound, or by that of this machine, and know
// its certificate.
func TestReached(t *testing.T) {
	p := listening(t, http.NotFoundHandler(), "--bind-address=127.0.0.1", "--authentication-skip-lookup")
	if want := "https://" + p.Addr().String(); p.URL() != want {
		t.Errorf("it is at %s, want %s", p.URL(), want)
	}
	block, rest := pem.Decode([]byte(p.Certificate()))
	if block == nil || len(rest) > 0 {
		t.Fatalf("its certificate is %s", p.Certificate())
	}
	if c, err := x509.ParseCertificate(block.Bytes); err != nil || c.VerifyHostname("localhost") != nil {
		t.Errorf("%v, %+v", err, c)
	}
	var all Port
	if err := all.reached(net.IPv4zero); err != nil || net.ParseIP(all.host) == nil || net.ParseIP(all.host).IsUnspecified() {
		t.Errorf("%v, %s", err, all.host)
	}
}
