package main

import (
	"strings"
	"testing"
)

// TestRequestFlags: what kube-controller-manager would take in silence is an error that says what to do.
func TestRequestFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"--kube-api-content-type=application/xml":                  "--kube-api-content-type=application/xml: give application/vnd.kubernetes.protobuf or application/json",
		"--disabled-metrics=a b":                                   `--disabled-metrics: "a b" is no name of a metric`,
		"--master=https://a --server=https://b":                    "--master and --server name two API servers",
		"--feature-gates=NoSuchFeature=true":                       "unrecognized feature gate: NoSuchFeature",
		"--feature-gates=AllAlpha":                                 "missing bool value for AllAlpha",
		"--secure-port=-1":                                         "--secure-port=-1: give a port from 1 to 65535, or 0 for none",
		"--tls-cert-file=a --tls-min-version=VersionTLS10":         "belong together",
		"--tls-min-version=VersionTLS10 --tls-cipher-suites=ROT13": "Cipher suite ROT13 not supported",
	} {
		var args []string
		for _, flag := range strings.Split(flags, " --") {
			args = append(args, "--"+strings.TrimPrefix(flag, "--"))
		}
		if _, err := runManager(append(args, "--write-config-to=-")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: no %q in %v", flags, want, err)
		}
	}
	written, err := runManager("--feature-gates=AllAlpha=true", "--disabled-metrics=go_info", "--vmodule=a=1,b*=2", "--tls-sni-cert-key=a,b:c,d", "--tls-curve-preferences=29,23", "--bind-address=::1", "--kube-api-content-type=application/json", "--write-config-to=-")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"featureGates: AllAlpha=true\n", "disabledMetrics: [go_info]\n", "vmodule: a=1,b*=2\n", "tlsSniCertKey: ['a,b:c,d']\n", "bindAddress: ::1\n", "kubeApiContentType: application/json\n"} {
		if !strings.Contains(written, want) {
			t.Errorf("no %q in\n%s", want, written)
		}
	}
	if again, err := withConfig(t, written); err != nil || again != written {
		t.Errorf("it is read as\n%s, %v", again, err)
	}
}
