package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

const (
	// certificateLife bounds every certificate; a sandbox is not meant to last.
	certificateLife = 365 * 24 * time.Hour
	// renewBefore is how long reused credentials must still be valid.
	renewBefore = 30 * 24 * time.Hour
)

// Base names of the files in the pki directory: .crt and .key each.
const (
	fileClusterCA      = "cluster-ca"
	fileEtcdCA         = "etcd-ca"
	fileServing        = "serving"
	fileEtcd           = "etcd"
	fileEtcdClient     = "etcd-client"
	fileServiceAccount = "service-account"
	fileFrontProxyCA   = "front-proxy-ca"
	fileFrontProxy     = "front-proxy-client"
)

// identities are the users of the cluster, by the name of their file.
var identities = map[string]pkix.Name{
	"admin":               {CommonName: "sandbox-admin", Organization: []string{"system:masters"}},
	nameControllerManager: {CommonName: "system:kube-controller-manager"},
	nameScheduler:         {CommonName: "system:kube-scheduler"},
	nameKwok:              {CommonName: userKwok},
	userLoopscope:         {CommonName: userLoopscope},
}

// ensureCredentials makes the pki directory complete: it keeps credentials that
// are whole and long enough valid at now, and replaces all of them otherwise.
func ensureCredentials(s *state, now time.Time) error {
	if credentialsUsable(s, now) {
		return nil
	}
	cluster, err := newAuthority("loopscope-sandbox", now)
	if err != nil {
		return err
	}
	// etcd trusts an authority of its own: a certificate of a cluster user must
	// not open the database behind the API server's back.
	etcd, err := newAuthority("loopscope-sandbox-etcd", now)
	if err != nil {
		return err
	}
	// Who it signs for may say whom it speaks for: nobody else's certificate must do.
	front, err := newAuthority("loopscope-sandbox-front-proxy", now)
	if err != nil {
		return err
	}
	errs := []error{
		front.save(s, fileFrontProxyCA), front.issue(s, fileFrontProxy, pkix.Name{CommonName: fileFrontProxy}, x509.ExtKeyUsageClientAuth),
		cluster.save(s, fileClusterCA), etcd.save(s, fileEtcdCA),
		cluster.issue(s, fileServing, pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth),
		etcd.issue(s, fileEtcd, pkix.Name{CommonName: "etcd"}, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth),
		etcd.issue(s, fileEtcdClient, pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageClientAuth),
		saveServiceAccountKeys(s),
	}
	for file, name := range identities {
		errs = append(errs, cluster.issue(s, file, name, x509.ExtKeyUsageClientAuth))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("create credentials: %w", err)
	}
	return nil
}

// credentialsUsable reports whether every file is there and no certificate
// ends soon.
func credentialsUsable(s *state, now time.Time) bool {
	files := []string{fileClusterCA, fileEtcdCA, fileServing, fileEtcd, fileEtcdClient, fileFrontProxyCA, fileFrontProxy}
	for file := range identities {
		files = append(files, file)
	}
	for _, file := range files {
		certificate, err := readCertificate(s.pkiFile(file + ".crt"))
		if err != nil || now.Add(renewBefore).After(certificate.NotAfter) || now.Before(certificate.NotBefore) {
			return false
		}
		if _, err := os.Stat(s.pkiFile(file + ".key")); err != nil {
			return false
		}
	}
	_, err1 := os.Stat(s.pkiFile(fileServiceAccount + ".key"))
	_, err2 := os.Stat(s.pkiFile(fileServiceAccount + ".pub"))
	return err1 == nil && err2 == nil
}

func readCertificate(path string) (*x509.Certificate, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("read certificate: %s holds no PEM block", path)
	}
	return x509.ParseCertificate(block.Bytes)
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	der         []byte
	key         *ecdsa.PrivateKey
	now         time.Time
}

func newAuthority(name string, now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create key of authority %s: %w", name, err)
	}
	template, err := certificateTemplate(pkix.Name{CommonName: name}, now)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create authority %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read back authority %s: %w", name, err)
	}
	return &authority{certificate: certificate, der: der, key: key, now: now}, nil
}

func (a *authority) save(s *state, file string) error { return savePair(s, file, a.der, a.key) }

// issue writes a certificate for name, good for the loopback hosts.
func (a *authority) issue(s *state, file string, name pkix.Name, usages ...x509.ExtKeyUsage) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create key %s: %w", file, err)
	}
	template, err := certificateTemplate(name, a.now)
	if err != nil {
		return err
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, usages
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	template.IPAddresses = []net.IP{net.ParseIP(loopback), net.IPv6loopback}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("create certificate %s: %w", file, err)
	}
	return savePair(s, file, der, key)
}

func certificateTemplate(name pkix.Name, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("create serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: name, BasicConstraintsValid: true,
		// An hour of slack, for clocks of virtual machines jump.
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
	}, nil
}

func savePair(s *state, file string, certificate []byte, key *ecdsa.PrivateKey) error {
	if err := savePEM(s.pkiFile(file+".crt"), "CERTIFICATE", certificate); err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key %s: %w", file, err)
	}
	return savePEM(s.pkiFile(file+".key"), "PRIVATE KEY", der)
}

// saveServiceAccountKeys writes the pair that signs and checks tokens of service accounts.
func saveServiceAccountKeys(s *state) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create service account key: %w", err)
	}
	private, err1 := x509.MarshalECPrivateKey(key)
	public, err2 := x509.MarshalPKIXPublicKey(key.Public())
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("encode service account key: %w", err)
	}
	return errors.Join(
		savePEM(s.pkiFile(fileServiceAccount+".key"), "EC PRIVATE KEY", private),
		savePEM(s.pkiFile(fileServiceAccount+".pub"), "PUBLIC KEY", public))
}

func savePEM(path, kind string, der []byte) error {
	return writeSecret(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
