package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// kubelet is that of one node as far as ports are forwarded, of the library that a kubelet is made
// of: nodes that kwok plays run no containers, so a port of a pod leads to one of this machine.
type kubelet map[int32]string

// startKubelet adds a node with a kubelet behind it.
func startKubelet(t *testing.T, client kubernetes.Interface, node string, ports kubelet) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(ports.serve))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.CloseClientConnections)
	_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{corev1.LabelHostname: node, "type": "kwok"}},
		Spec:       corev1.NodeSpec{PodCIDR: "10.77.0.0/24", PodCIDRs: []string{"10.77.0.0/24"}},
		Status: corev1.NodeStatus{
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(server.Listener.Addr().(*net.TCPAddr).Port)}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// serve answers what the API server asks of a kubelet: /portForward/NAMESPACE/POD.
func (k kubelet) serve(w http.ResponseWriter, r *http.Request) {
	pod, found := strings.CutPrefix(r.URL.Path, "/portForward/")
	options, err := portforward.NewV4Options(r)
	if !found || err != nil {
		http.Error(w, fmt.Sprintf("%s: %v", r.URL.Path, err), http.StatusNotFound)
		return
	}
	portforward.ServePortForward(w, r, k, pod, "", options, time.Minute, 10*time.Second, portforward.SupportedProtocols)
}

// PortForward copies between a stream and the address behind a port.
func (k kubelet) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	address := k[port]
	if address == "" {
		return fmt.Errorf("nothing listens on port %d", port)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	ended := make(chan error, 2)
	for to, from := range map[io.Writer]io.Reader{conn: stream, stream: conn} {
		go func() {
			_, err := io.Copy(to, from)
			ended <- err
		}()
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return errors.Join(err, conn.Close())
}
