package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// probe returns nil when what it looks at is ready, or what it waits for.
type probe func(ctx context.Context) error

// probeLimit bounds a single question.
const probeLimit = 5 * time.Second

// httpProbe is satisfied by 200 from url, asked with a client certificate.
func httpProbe(s *state, url, authority, certificate string) (probe, error) {
	ca, err := os.ReadFile(s.pkiFile(authority + ".crt"))
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(s.pkiFile(certificate+".crt"), s.pkiFile(certificate+".key"))
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Timeout: probeLimit, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}}
	return func(ctx context.Context) error { return ask(ctx, client, url) }, nil
}

func ask(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	return nil
}

// leasesProbe is satisfied when every node has a lease, which shows that kwok
// has taken up its work, and is ready, which shows that the node controller has.
func leasesProbe(client kubernetes.Interface, nodes int) probe {
	return func(ctx context.Context) error {
		leases, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(leases.Items) < nodes {
			return fmt.Errorf("%d of %d nodes have a lease", len(leases.Items), nodes)
		}
		return nil
	}
}

// nodesProbe is satisfied when pods can be placed on every node.
func nodesProbe(client kubernetes.Interface, want int) probe {
	return func(ctx context.Context) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for _, node := range nodes.Items {
			if schedulable(&node) {
				ready++
			}
		}
		if ready < want {
			return fmt.Errorf("%d of %d nodes are ready", ready, want)
		}
		return nil
	}
}

func schedulable(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
