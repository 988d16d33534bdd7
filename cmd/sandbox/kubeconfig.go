package main

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopscope/loopscope/cmd/internal/app"
)

// clusterName is the cluster's and the context's name in every kubeconfig.
const clusterName = "sandbox"

// writeKubeconfigs writes one kubeconfig for each identity. The administrator's
// is the one that is printed.
// console is the address of the dashboard, which loopscope's commands find there; "" without one.
func writeKubeconfigs(s *state, p ports, console string) error {
	for user := range identities {
		path := s.kubeconfigOf(user)
		if user == "admin" {
			path = s.kubeconfig()
		}
		if err := writeKubeconfig(s, user, path, "https://"+address(p.APIServer), console); err != nil {
			return fmt.Errorf("write kubeconfig of %s: %w", user, err)
		}
	}
	return nil
}

// writeKubeconfig embeds the credentials, so that the file can be copied.
func writeKubeconfig(s *state, user, path, server, console string) error {
	ca, err1 := os.ReadFile(s.pkiFile(fileClusterCA + ".crt"))
	certificate, err2 := os.ReadFile(s.pkiFile(user + ".crt"))
	key, err3 := os.ReadFile(s.pkiFile(user + ".key"))
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[clusterName] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	if console != "" {
		config.Clusters[clusterName].Extensions = map[string]runtime.Object{app.ConsoleExtension: &runtime.Unknown{Raw: fmt.Appendf(nil, "%q", console)}}
	}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
	config.Contexts[clusterName] = &clientcmdapi.Context{Cluster: clusterName, AuthInfo: user}
	config.CurrentContext = clusterName
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return writeSecret(path, data)
}

// restConfig reads the kubeconfig at path.
func restConfig(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	return config, nil
}
