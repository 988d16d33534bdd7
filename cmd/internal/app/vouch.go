package app

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
)

// account is the ServiceAccount that a token is of.
type account struct{ namespace, name string }

func (a account) String() string { return a.namespace + "/" + a.name }

// accountOf reads it out of a token, which only the API server can check.
func accountOf(token string) (a account, ok bool) {
	parts := strings.Split(strings.TrimSpace(token), ".")
	if len(parts) != 3 {
		return a, false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return a, false
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if json.Unmarshal(text, &claims) != nil {
		return a, false
	}
	a.namespace, a.name, err = serviceaccount.SplitUsername(claims.Subject)
	return a, err == nil
}

// ownAccountOf is the ServiceAccount of which this process has a token.
func ownAccountOf(config *rest.Config) (account, bool) {
	token := config.BearerToken
	if config.BearerTokenFile != "" {
		if read, err := os.ReadFile(config.BearerTokenFile); err == nil {
			token = string(read)
		}
	}
	return accountOf(token)
}

// vouch is nil where a console may be sent the token of this process: one at the address of a pod with
// the same ServiceAccount, which has such a token anyway. Otherwise whoever may write the Lease could have
// the token sent anywhere.
func vouch(ctx context.Context, client kubernetes.Interface, config *rest.Config, c leadership.Console) error {
	own, ok := ownAccountOf(config)
	if !ok {
		return errors.New("this process shows its credentials to nobody but the API server: they are neither a client certificate nor the token of a ServiceAccount")
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return err
	}
	ip := net.ParseIP(u.Hostname())
	if ip == nil {
		return fmt.Errorf("%s is not the address of a pod, so it is not sent the token of this process", u.Hostname())
	}
	list, err := client.CoreV1().Pods(own.namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.SelectorFromSet(fields.Set{"status.podIP": ip.String(), "spec.serviceAccountName": own.name}).String()})
	if err != nil {
		return fmt.Errorf("it cannot be found out whether a pod of the ServiceAccount %s has the address %s: %w", own, ip, err)
	}
	for i := range list.Items {
		if hasToItself(&list.Items[i], own, ip) {
			return nil
		}
	}
	return fmt.Errorf("no running pod of the ServiceAccount %s has the address %s to itself, so it is not sent the token of this process", own, ip)
}

// hasToItself reports whether a pod runs with an account, and has an address that no other has.
func hasToItself(pod *corev1.Pod, a account, ip net.IP) bool {
	return pod.Namespace == a.namespace && pod.Spec.ServiceAccountName == a.name && ip.Equal(net.ParseIP(pod.Status.PodIP)) &&
		!pod.Spec.HostNetwork && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
}
