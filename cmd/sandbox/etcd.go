package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdStartLimit bounds how long etcd may take to elect itself.
const etcdStartLimit = 30 * time.Second

// etcdQuota bounds the database: ten thousand Deployments with all that belongs
// to them, written over and over between two compactions, are above the default.
const etcdQuota = 8 << 30

// runEtcd serves a one-member etcd until SIGTERM or SIGINT.
func runEtcd(args []string) int {
	config, err := etcdConfig(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
		return 2
	}
	if err := serveEtcd(config); err != nil {
		fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
		return 1
	}
	return 0
}

func serveEtcd(config *embed.Config) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(etcdStartLimit):
		return fmt.Errorf("not ready within %s", etcdStartLimit)
	case <-stop:
		return nil
	}
	select {
	case <-stop:
		return nil
	case err := <-server.Err():
		return fmt.Errorf("serve: %w", err)
	}
}

// etcdConfig turns the child's arguments into etcd's configuration.
func etcdConfig(args []string) (*embed.Config, error) {
	flags := pflag.NewFlagSet(nameEtcd, pflag.ContinueOnError)
	dir := flags.String("data-dir", "", "data directory")
	client := flags.String("client", "", "host:port for clients")
	peer := flags.String("peer", "", "host:port for peers")
	ca := flags.String("ca", "", "authority that clients and peers must be signed by")
	cert := flags.String("cert", "", "certificate")
	key := flags.String("key", "", "private key")
	unsafe := flags.Bool("no-fsync", false, "do not wait for the disk; data may be lost when the machine dies")
	if err := flags.Parse(args); err != nil {
		return nil, fmt.Errorf("parse arguments: %w", err)
	}
	config := embed.NewConfig()
	config.Name, config.Dir, config.UnsafeNoFsync = "sandbox", *dir, *unsafe
	config.LogLevel, config.LogOutputs = "warn", []string{"stderr"}
	config.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration // unset, every request is slow
	config.EnableGRPCGateway = false
	config.QuotaBackendBytes = etcdQuota
	// There is nobody to lose an election to, so a short timeout only shortens the start.
	config.TickMs, config.ElectionMs = 50, 250
	clientURL, peerURL := url.URL{Scheme: "https", Host: *client}, url.URL{Scheme: "https", Host: *peer}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{clientURL}, []url.URL{clientURL}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peerURL}, []url.URL{peerURL}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	tls := transport.TLSInfo{CertFile: *cert, KeyFile: *key, TrustedCAFile: *ca, ClientCertAuth: true}
	config.ClientTLSInfo, config.PeerTLSInfo = tls, tls
	return config, nil
}
