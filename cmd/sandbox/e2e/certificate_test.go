package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// clientPair is a certificate of a client on the disk, and its key.
type clientPair struct {
	certificate, key string
	authority        *x509.Certificate
	signer           any
}

// newClientPair has its pair signed by the authority of a plane.
func newClientPair(t *testing.T, plane *testplane.Plane) *clientPair {
	t.Helper()
	file := filepath.Join(filepath.Dir(plane.Kubeconfig), "pki", "cluster-ca")
	pair, err := tls.LoadX509KeyPair(file+".crt", file+".key")
	if err != nil {
		t.Fatal(err)
	}
	authority, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &clientPair{filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key"), authority, pair.PrivateKey}
}

// renew puts another certificate there, good for so long.
func (p *clientPair) renew(t *testing.T, life time.Duration) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "loopscope"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, p.authority, key.Public(), p.signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{p.key: {Type: "PRIVATE KEY", Bytes: private}, p.certificate: {Type: "CERTIFICATE", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificateIsReadAnew: a certificate that runs out is told on pages, in the log and by /readyz as
// what it is, and nothing is written meanwhile. One that takes its place is used at once.
func TestCertificateIsReadAnew(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none"})
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "certificate")
	pair, config := newClientPair(t, plane), plane.Config(t)
	const life = 30 * time.Second
	pair.renew(t, life)
	ends := time.Now().Add(life)
	m := startManager(t, writeKubeconfig(t, &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData},
		&clientcmdapi.AuthInfo{ClientCertificate: pair.certificate, ClientKey: pair.key}), "--history=off")
	create(t, client, namespace, oneByOne("web", 2, 0))
	waitSettled(t, client, namespace, "web")
	testplane.Until(t, time.Until(ends)+time.Minute, "notice of the certificate", func() error {
		page, err := m.page("/deployments", "text/html")
		if text := tags.ReplaceAllString(page, ""); err == nil && (!strings.Contains(text, "The API server does not accept this process") || !strings.Contains(text, "is read again within a minute")) {
			err = fmt.Errorf("the page is %s", text)
		}
		return err
	})
	for path, want := range map[string]string{"/readyz": "[-]api-server failed: it has not accepted this process's credentials since ", "/livez": "ok"} {
		if page, err := m.page(path, "text/plain"); err != nil || !strings.Contains(page, want) {
			t.Errorf("%s: %v, no %q in %s", path, err, want, page)
		}
	}
	if !strings.Contains(m.said(), "The API server does not accept this process's credentials") {
		t.Errorf("its log does not say so: %s", m.said())
	}
	setImage(t, client, namespace, "web", "shop:v2")
	pair.renew(t, time.Hour)
	renewed := time.Now()
	testplane.Until(t, time.Minute, "use of the new certificate", func() error {
		status, text := fetch(t, m.Dashboard+"/readyz")
		if status != http.StatusOK {
			return errors.New(text)
		}
		return nil
	})
	t.Logf("the new certificate is used after %s", time.Since(renewed).Round(100*time.Millisecond))
	waitSettled(t, client, namespace, "web")
	if !strings.Contains(m.said(), "The API server serves this process again") {
		t.Errorf("its log does not say that it goes on: %s", m.said())
	}
}
