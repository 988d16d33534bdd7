package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/cmd/sandbox/internal/supervise"
)

// loopControllers are the three loops that Loopscope is about.
var loopControllers = []string{"deployment-controller", "replicaset-controller", "replicationcontroller-controller"}

// otherControllers is everything kube-controller-manager runs by default but the loops.
var otherControllers = "*,-" + strings.Join(loopControllers, ",-")

// blueprint derives the children's arguments from where the state lies.
type blueprint struct {
	state    *state
	ports    ports
	programs programs
	audit    bool
	qps      int // of upstream's loops, each; 0 is upstream's own
}

func (b blueprint) spec(name string, args ...string) supervise.Spec {
	return supervise.Spec{Name: name, Program: b.programs.path(name), Args: args, Log: b.state.log(name)}
}

func (b blueprint) etcd() supervise.Spec {
	return b.spec(nameEtcd,
		"--data-dir="+b.state.path("etcd"),
		"--client="+address(b.ports.EtcdClient), "--peer="+address(b.ports.EtcdPeer),
		"--ca="+b.state.pkiFile(fileEtcdCA+".crt"),
		"--cert="+b.state.pkiFile(fileEtcd+".crt"), "--key="+b.state.pkiFile(fileEtcd+".key"),
		// Only data that nobody will read again may skip the disk.
		"--no-fsync="+strconv.FormatBool(b.state.Temporary))
}

func (b blueprint) apiServer() supervise.Spec {
	pki := b.state.pkiFile
	args := []string{
		"--bind-address=" + loopback, "--secure-port=" + strconv.Itoa(b.ports.APIServer),
		"--etcd-servers=https://" + address(b.ports.EtcdClient),
		"--etcd-cafile=" + pki(fileEtcdCA+".crt"),
		"--etcd-certfile=" + pki(fileEtcdClient+".crt"), "--etcd-keyfile=" + pki(fileEtcdClient+".key"),
		"--tls-cert-file=" + pki(fileServing+".crt"), "--tls-private-key-file=" + pki(fileServing+".key"),
		"--client-ca-file=" + pki(fileClusterCA+".crt"),
		"--requestheader-client-ca-file=" + pki(fileFrontProxyCA+".crt"), "--requestheader-allowed-names=" + fileFrontProxy,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + pki(fileServiceAccount+".pub"),
		"--service-account-signing-key-file=" + pki(fileServiceAccount+".key"),
		"--service-cluster-ip-range=10.0.0.0/16",
		"--authorization-mode=RBAC", "--anonymous-auth=false", "--allow-privileged=true",
		// A Service cannot have a loopback endpoint; nothing in the sandbox dials it.
		"--endpoint-reconciler-type=none",
		"--request-timeout=60s", "--profiling=false",
	}
	if b.audit {
		args = append(args, "--audit-policy-file="+b.state.auditPolicy(),
			"--audit-log-path="+b.state.auditLog(), "--audit-log-format=json", "--audit-log-mode=blocking",
			// One file, never rotated: whoever counts in it must see every line.
			"--audit-log-maxsize=0")
	}
	return b.spec(nameAPIServer, args...)
}

func (b blueprint) scheduler() supervise.Spec {
	kubeconfig := b.state.kubeconfigOf(nameScheduler)
	return b.spec(nameScheduler, append(b.serving(b.ports.Scheduler, kubeconfig),
		"--kube-api-qps=500", "--kube-api-burst=1000")...)
}

func (b blueprint) controllerManager() supervise.Spec {
	return b.spec(nameControllerManager, append(b.managing(b.ports.ControllerManager, otherControllers),
		// The start, some forty service accounts long, is most of what the rate limit would slow.
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--root-ca-file="+b.state.pkiFile(fileClusterCA+".crt"),
		"--service-account-private-key-file="+b.state.pkiFile(fileServiceAccount+".key"),
		fmt.Sprintf("--node-monitor-grace-period=%ds", leaseSeconds*5/4))...)
}

// loops runs upstream's three loops by themselves, with upstream's own limits
// unless others were asked for.
func (b blueprint) loops() supervise.Spec {
	args := b.managing(b.ports.Loops, strings.Join(loopControllers, ","))
	if b.qps > 0 {
		args = append(args, fmt.Sprintf("--kube-api-qps=%d", b.qps), fmt.Sprintf("--kube-api-burst=%d", 2*b.qps))
	}
	return b.spec(nameLoops, args...)
}

func (b blueprint) managing(port int, controllers string) []string {
	return append(b.serving(port, b.state.kubeconfigOf(nameControllerManager)),
		"--controllers="+controllers, "--use-service-account-credentials=true")
}

// serving are the flags that the scheduler and the controller managers share.
// There is one of each, so leader election would only delay every restart.
func (b blueprint) serving(port int, kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		// Certificates alone: looking up more would mean an aggregation authority that nothing else needs.
		"--client-ca-file=" + b.state.pkiFile(fileClusterCA+".crt"), "--authentication-skip-lookup=true",
		"--bind-address=" + loopback, "--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + b.state.pkiFile(fileServing+".crt"), "--tls-private-key-file=" + b.state.pkiFile(fileServing+".key"),
		"--leader-elect=false", "--profiling=false",
	}
}

func (b blueprint) kwok() supervise.Spec {
	return b.spec(nameKwok, "--kubeconfig="+b.state.kubeconfigOf(nameKwok))
}
