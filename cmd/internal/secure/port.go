package secure

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/controller-manager/app"

	"github.com/loopscope/loopscope/web/slots"
)

// Port is an address that is bound. It is served once.
type Port struct {
	serving        *server.SecureServingInfo
	authentication server.AuthenticationInfo
	authorization  server.AuthorizationInfo
	host           string        // by which other machines reach it
	hosts          []string      // Options.Hosts
	recheck        time.Duration // how often a websocket is looked at again

	refused  atomic.Uint64 // connections beyond the bounds
	stopping sync.Once
	stop     chan struct{}
	stopped  <-chan struct{} // nil before Serve
}

const (
	// recheckEvery is how often who reads a websocket is asked for again. What was said of a token
	// is kept for 10 s here and as long by the API server, and so is what somebody may do: a token
	// that was revoked reads for no longer than 45 s.
	recheckEvery = 15 * time.Second
	// shutdownWithin is how long requests may take to end, websockets aside.
	shutdownWithin = 5 * time.Second
)

// Listen binds the address, reads or makes the certificate, and finds out how to authenticate and
// authorize, for which it may ask the API server. The options are changed by it, and are not to be
// used again.
func Listen(o *Options) (*Port, error) {
	p := &Port{hosts: o.Hosts, recheck: recheckEvery, stop: make(chan struct{})}
	if err := p.prepare(o); err != nil {
		if bound := o.Serving.Listener; bound != nil {
			err = errors.Join(err, bound.Close())
		}
		return nil, fmt.Errorf("secure port: %w", err)
	}
	return p, nil
}

func (p *Port) prepare(o *Options) error {
	if err := o.generate(); err != nil {
		return err
	}
	if err := o.Serving.ApplyTo(&p.serving); err != nil {
		return err
	}
	if err := p.reached(o.Serving.BindAddress); err != nil {
		return err
	}
	return p.delegate(o)
}

func (p *Port) delegate(o *Options) error {
	if err := o.Authentication.ApplyTo(&p.authentication, p.serving, nil); err != nil {
		return fmt.Errorf("%w. --authentication-kubeconfig says whom to ask; that user has to read ConfigMap kube-system/extension-apiserver-authentication, "+
			"and --authentication-tolerate-lookup-failure or --authentication-skip-lookup do without", err)
	}
	if err := o.Authorization.ApplyTo(&p.authorization); err != nil {
		return fmt.Errorf("%w. --authorization-kubeconfig says whom to ask", err)
	}
	return nil
}

// Serve serves h until Stop, and returns at once. What h is asked was authenticated and authorized,
// by the path that it is asked for.
func (p *Port) Serve(h http.Handler) error {
	h = app.BuildHandlerChain(unbounded(p.watched(routed(h))), &p.authorization, &p.authentication)
	p.serving.Listener = limited{p.serving.Listener, slots.NewShares(mostConnections, connectionsOfOne), &p.refused}
	stopped, _, err := p.serving.Serve(bounded(brief(asked(h)), readWithin, writeWithin), shutdownWithin, p.stop)
	if err != nil {
		return fmt.Errorf("secure port: %w", err)
	}
	p.stopped = stopped
	return nil
}

// Stop ends it and waits until no request is answered any more, as long as ctx lasts. Websockets
// are the handler's to end.
func (p *Port) Stop(ctx context.Context) error {
	p.stopping.Do(func() { close(p.stop) })
	if p.stopped == nil {
		return p.serving.Listener.Close()
	}
	select {
	case <-p.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Refused counts the connections that were closed because there were too many, of all or of one address.
func (p *Port) Refused() uint64 { return p.refused.Load() }

// Addr is the address that is bound.
func (p *Port) Addr() net.Addr { return p.serving.Listener.Addr() }

// reached notes the address for others: the one that is bound or, where that is all of them, the
// one by which this machine reaches others.
func (p *Port) reached(bound net.IP) (err error) {
	if bound == nil || bound.IsUnspecified() {
		if bound, err = utilnet.ResolveBindAddress(bound); err != nil {
			return fmt.Errorf("address of this machine: %w; give one with --bind-address", err)
		}
	}
	p.host = bound.String()
	return nil
}

// URL is where other machines reach it.
func (p *Port) URL() string {
	_, port, err := net.SplitHostPort(p.Addr().String())
	if err != nil { // It is no TCP address: nobody reaches it.
		return ""
	}
	return "https://" + net.JoinHostPort(p.host, port)
}

// Certificate is the one that is served now, as PEM, without those that signed it. Files may have
// changed since the start.
func (p *Port) Certificate() string {
	for _, chain := range p.chains() {
		if block, _ := pem.Decode(chain); block != nil {
			return string(pem.EncodeToMemory(block))
		}
	}
	return ""
}

// Named reports whether a name, without a port, is one that this port is asked by: one of its
// certificates' or of Options.Hosts, or any address. A page of another site can have its own name
// lead here, and no address for a name.
func (p *Port) Named(host string) bool {
	if net.ParseIP(host) != nil || slices.ContainsFunc(p.hosts, func(own string) bool { return strings.EqualFold(own, host) }) {
		return true
	}
	for _, chain := range p.chains() {
		block, _ := pem.Decode(chain)
		if block == nil {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && c.VerifyHostname(host) == nil {
			return true
		}
	}
	return false
}

// chains are the certificates as of now: files may have changed.
func (p *Port) chains() (chains [][]byte) {
	if p.serving.Cert != nil {
		chain, _ := p.serving.Cert.CurrentCertKeyContent()
		chains = append(chains, chain)
	}
	for _, c := range p.serving.SNICerts {
		chain, _ := c.CurrentCertKeyContent()
		chains = append(chains, chain)
	}
	return chains
}
