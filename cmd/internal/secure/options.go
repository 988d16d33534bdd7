package secure

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/server/options"
	cliflag "k8s.io/component-base/cli/flag"
)

// pairName begins the names of the generated certificate and key in --cert-dir.
const pairName = "loopscope-manager"

// Options say where to serve and who may read. NewOptions has the defaults.
type Options struct {
	Serving        *options.SecureServingOptions
	Authentication *options.DelegatingAuthenticationOptions
	Authorization  *options.DelegatingAuthorizationOptions
	// Hosts are names beside those of the certificates, without a port: those of proxies that pass on
	// the name that they were asked by.
	Hosts []string
}

// NewOptions returns the defaults, with which nothing is served.
func NewOptions() *Options {
	o := &Options{Serving: options.NewSecureServingOptions(), Authentication: options.NewDelegatingAuthenticationOptions(), Authorization: options.NewDelegatingAuthorizationOptions()}
	o.Serving.BindPort = 0
	o.Serving.ServerCert.CertDirectory, o.Serving.ServerCert.PairName = "", pairName
	o.Authentication.RemoteKubeConfigFileOptional = true
	o.Authorization.RemoteKubeConfigFileOptional = true
	return o
}

// usage says what the flags are for, in the words of the other flags.
var usage = map[string]string{
	"secure-port":                      "port that serves the console, metrics and health checks over TLS, to whom the API server knows and says that they may; 0 for none",
	"bind-address":                     "IP address of --secure-port; 0.0.0.0 and :: are all there are",
	"console-hosts":                    "names by which a proxy or an Ingress shows --secure-port to browsers, where its certificate does not have them; without a port",
	"cert-dir":                         "directory of the generated certificate and its private key; without it they stay in memory. --tls-cert-file comes first",
	"tls-cert-file":                    "file with the certificate and those that it is signed by; read again when it changes",
	"tls-private-key-file":             "file with the private key of --tls-cert-file; read again when it changes",
	"tls-sni-cert-key":                 "certificate and private key for other names: FILE,FILE or FILE,FILE:NAME,NAME; may be given more than once",
	"tls-cipher-suites":                "cipher suites, by the names of Go's crypto/tls; without it, those of Go",
	"tls-curve-preferences":            "key exchanges, by the numbers of CurveID in Go's crypto/tls; without it, those of Go",
	"tls-min-version":                  "least version of TLS: VersionTLS12, the default, or VersionTLS13",
	"http2-max-streams-per-connection": "requests at once on a connection of HTTP/2; 0 for 100",
	"disable-http2-serving":            "serve HTTP/1.1 alone",
	"permit-address-sharing":           "bind with SO_REUSEADDR",
	"permit-port-sharing":              "bind with SO_REUSEPORT: several processes may have the port",

	"authentication-kubeconfig":              "kubeconfig file of the API server that knows who somebody is, with the rights of system:auth-delegator; without it that of the pod, and elsewhere everybody is anonymous",
	"authentication-skip-lookup":             "do not look for certificate authorities in ConfigMap kube-system/extension-apiserver-authentication",
	"authentication-token-webhook-cache-ttl": "time for which it is remembered whose token one is",
	"authentication-tolerate-lookup-failure": "start without that ConfigMap where it cannot be read: then no certificate of a client counts",
	"client-ca-file":                         "file with the authorities that sign certificates of clients, instead of that ConfigMap's",
	"requestheader-allowed-names":            "common names of the proxies that may say for whom they ask; without it every one that is signed",
	"requestheader-client-ca-file":           "file with the authorities that sign the certificates of such proxies, instead of that ConfigMap's",
	"requestheader-extra-headers-prefix":     "what the headers with more about a user begin with",
	"requestheader-group-headers":            "headers with the groups of a user",
	"requestheader-uid-headers":              "headers with the UID of a user",
	"requestheader-username-headers":         "headers with the name of a user",

	"authorization-kubeconfig":                     "kubeconfig file of the API server that knows what somebody may, with the rights of system:auth-delegator; without it that of the pod, and elsewhere nobody may anything",
	"authorization-always-allow-paths":             "paths that everybody may read; one that ends in * stands for all that begin so",
	"authorization-webhook-cache-authorized-ttl":   "time for which it is remembered what somebody may",
	"authorization-webhook-cache-unauthorized-ttl": "time for which it is remembered what somebody may not",
}

// AddFlags adds the flags in the sections that kube-controller-manager has for them.
func (o *Options) AddFlags(sections *cliflag.NamedFlagSets) {
	serving, who, may := sections.FlagSet("secure serving"), sections.FlagSet("authentication"), sections.FlagSet("authorization")
	o.Serving.AddFlags(serving)
	serving.StringSliceVar(&o.Hosts, "console-hosts", nil, "")
	o.Authentication.AddFlags(who)
	o.Authorization.AddFlags(may)
	for _, flags := range []*pflag.FlagSet{serving, who, may} {
		flags.VisitAll(func(flag *pflag.Flag) { flag.Usage = usage[flag.Name] })
	}
	sni := serving.Lookup("tls-sni-cert-key")
	sni.Value = pairs{sni.Value, &o.Serving.SNICertKeys}
}

// pairs are the files of --tls-sni-cert-key as a list, as which a configuration file has them.
type pairs struct {
	pflag.Value
	list *[]cliflag.NamedCertKey
}

// Append adds a pair.
func (p pairs) Append(text string) error {
	var pair cliflag.NamedCertKey
	if err := pair.Set(text); err != nil {
		return err
	}
	*p.list = append(*p.list, pair)
	return nil
}

// Replace puts these in the place of all that there were.
func (p pairs) Replace(texts []string) error {
	*p.list = nil
	for _, text := range texts {
		if err := p.Append(text); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice returns them as they would be written.
func (p pairs) GetSlice() []string {
	texts := make([]string, 0, len(*p.list))
	for i := range *p.list {
		texts = append(texts, (*p.list)[i].String())
	}
	return texts
}

// On reports whether there is anything to serve.
func (o *Options) On() bool {
	return o != nil && (o.Serving.BindPort != 0 || o.Serving.Listener != nil)
}

// Validate returns everything that is wrong and can be known without a cluster and without a file.
func (o *Options) Validate() (errs []error) {
	if port := o.Serving.BindPort; port < 0 || port > math.MaxUint16 {
		errs = append(errs, fmt.Errorf("--secure-port=%d: give a port from 1 to %d, or 0 for none", port, math.MaxUint16))
	} else {
		errs = append(errs, o.Serving.Validate()...)
	}
	errs = append(errs, o.Authentication.Validate()...)
	errs = append(errs, o.Authorization.Validate()...)
	if pair := o.Serving.ServerCert.CertKey; (pair.CertFile == "") != (pair.KeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file belong together: give both, or neither for a certificate that signs itself"))
	}
	for _, host := range o.Hosts {
		if wrong := validation.IsDNS1123Subdomain(strings.ToLower(host)); len(wrong) > 0 {
			errs = append(errs, fmt.Errorf("--console-hosts=%q: give names such as loopscope.example.com, without scheme, port and path", host))
		}
	}
	return append(errs, o.tlsErrors()...)
}

// tlsErrors are the values that name nothing in crypto/tls.
func (o *Options) tlsErrors() []error {
	_, suites := cliflag.TLSCipherSuites(o.Serving.CipherSuites)
	_, curves := cliflag.TLSCurvePreferences(o.Serving.CurvePreferences)
	least, version := cliflag.TLSVersion(o.Serving.MinTLSVersion)
	var errs []error
	for flag, err := range map[string]error{"tls-cipher-suites": suites, "tls-curve-preferences": curves, "tls-min-version": version} {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	if version == nil && least != 0 && least < tls.VersionTLS12 {
		errs = append(errs, fmt.Errorf("--tls-min-version=%s: give VersionTLS12, the default, or VersionTLS13: what came before is not secure", o.Serving.MinTLSVersion))
	}
	return errs
}

// generate makes a certificate where none is given: in --cert-dir, or in memory.
func (o *Options) generate() error {
	if err := o.Serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		if dir := o.Serving.ServerCert.CertDirectory; dir != "" {
			return fmt.Errorf("certificate in %s: %w; omit --cert-dir for one in memory", filepath.Clean(dir), err)
		}
		return fmt.Errorf("certificate: %w", err)
	}
	return nil
}
