package leadership

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// ConsoleAnnotation is where a Lease says how its holder's console is reached. It is written with
// the holder and in the same request, so that the two always belong together.
const ConsoleAnnotation = "loopscope.io/console"

// maxConsole bounds the annotation, in bytes: a chain of certificates fits.
const maxConsole = 32 << 10

// Console is where a process serves its console to the other managers. The zero value is nowhere.
type Console struct {
	// Identity is who serves there, as the Lease calls the process.
	Identity string `json:"identity"`
	// URL has scheme, host and port alone: https, or http on loopback.
	URL string `json:"url,omitempty"`
	// Certificate is what is trusted there, as PEM; "" with http.
	Certificate string `json:"certificate,omitempty"`
}

// ParseConsole reads the annotation, which anybody can have written who may write the Lease.
func ParseConsole(text string) (Console, error) {
	var c Console
	if len(text) > maxConsole {
		return c, fmt.Errorf("it has %d bytes, more than the %d that are read", len(text), maxConsole)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(&c); err != nil || d.More() {
		return Console{}, errors.New("it is not the JSON of a console's address")
	}
	if err := c.check(); err != nil {
		return Console{}, err
	}
	return c, nil
}

func (c Console) check() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Port() == "" || c.URL != u.Scheme+"://"+u.Host:
		return fmt.Errorf("%q is not an address with a host and a port alone", redact.Line(c.URL))
	case c.Identity == "":
		return errors.New("it does not say whose console that is")
	}
	switch ip := net.ParseIP(u.Hostname()); {
	case u.Scheme == "http" && c.Certificate == "" && ip != nil && ip.IsLoopback():
		return nil
	case u.Scheme != "https":
		return errors.New("only a console on loopback is read without TLS")
	}
	_, err = c.ServerName()
	return err
}

// ServerName is a name that the certificate has: the address need not be one of them.
func (c Console) ServerName() (string, error) {
	block, _ := pem.Decode([]byte(c.Certificate))
	if block == nil {
		return "", errors.New("its certificate is not PEM")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "", fmt.Errorf("its certificate cannot be read: %w", err)
	case len(leaf.DNSNames) > 0:
		return leaf.DNSNames[0], nil
	case len(leaf.IPAddresses) > 0:
		return leaf.IPAddresses[0].String(), nil
	}
	return "", errors.New("its certificate has neither a DNS name nor an IP address")
}

// signpost has the Lease say where the console of its holder is, and reads that.
type signpost struct {
	coordinationv1client.CoordinationV1Interface
	election *Election
}

func (s signpost) Leases(namespace string) coordinationv1client.LeaseInterface {
	return signedLeases{s.CoordinationV1Interface.Leases(namespace), s.election}
}

type signedLeases struct {
	coordinationv1client.LeaseInterface
	election *Election
}

func (l signedLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	lease, err := l.LeaseInterface.Get(ctx, name, o)
	if err == nil {
		l.election.find(lease)
	}
	return lease, err
}

func (l signedLeases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.LeaseInterface.Create(ctx, l.election.sign(lease), o)
}

func (l signedLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.LeaseInterface.Update(ctx, l.election.sign(lease), o)
}

// sign is the Lease with the console of its holder, or with none where that is nobody.
func (e *Election) sign(lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	delete(lease.Annotations, ConsoleAnnotation)
	if e.opts.Console == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != e.opts.Identity {
		return lease
	}
	c := e.opts.Console()
	c.Identity = e.opts.Identity
	text, err := json.Marshal(c)
	if err == nil {
		err = c.check()
	}
	if err != nil || len(text) > maxConsole {
		return lease // Nobody can follow then, and their consoles say so.
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[ConsoleAnnotation] = string(text)
	return lease
}

// find notes where the holder's console is, as the Lease says.
func (e *Election) find(lease *coordinationv1.Lease) {
	c, err := ParseConsole(lease.Annotations[ConsoleAnnotation])
	e.mu.Lock()
	defer e.mu.Unlock()
	e.where = Console{}
	if err == nil {
		e.where = c
	}
}
