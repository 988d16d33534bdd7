package main

import (
	"cmp"
	"io"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// managerConfig is a configuration in which nothing is wrong that can be known without a
// cluster. Complete is what it comes to on one.
type managerConfig struct {
	program    app.Options // without a cluster
	kubeconfig *genericclioptions.ConfigFlags
	log        *logOptions
	signIn     *signInOptions
	secure     bool
	history    *historyOptions
	file       *configFile
	stopWithin time.Duration
	contention bool
}

// Complete finds the cluster, which need not answer yet, begins the log, and gives the process its limits.
func (c *managerConfig) Complete(log io.Writer) (*completedManager, error) {
	program := c.program
	var err error
	if program.Config, err = restConfig(c.kubeconfig); err != nil {
		return nil, err
	}
	program.Logger, program.Cluster = c.log.logger(log), clusterName(c.kubeconfig)
	program.Logger.Info("Starting", "version", program.Version, "rules", rulesOf)
	c.file.log(program.Logger)
	if c.contention {
		runtime.SetBlockProfileRate(1) // nanosecond: every wait
	}
	if program.Door, err = c.signIn.door(howToManager); err != nil {
		return nil, err
	}
	program.Unguarded = program.Door == nil
	program.Component.Memory = tuneGo(program.Logger, memlimit.FromCgroup)
	if program.History, err = c.history.settings(program.Cluster, program.Logger); err != nil {
		return nil, err
	}
	return &completedManager{program: program, stopWithin: c.stopWithin, quiet: c.secure && !c.signIn.spelledOut()}, nil
}

// clusterName is what the cluster is called, "" where nothing names it.
func clusterName(flags *genericclioptions.ConfigFlags) string {
	name, _ := chosenCluster(flags)
	return name
}

// chosenCluster is the name of the cluster that the flags lead to, and the address that the kubeconfig has of
// its console. An API server that is not the one of the kubeconfig's cluster is known by its address alone.
func chosenCluster(flags *genericclioptions.ConfigFlags) (cluster, console string) {
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return "", ""
	}
	name := cmp.Or(flagValue(flags.Context), raw.CurrentContext)
	if c := raw.Contexts[name]; c != nil {
		name = c.Cluster
	}
	name = cmp.Or(flagValue(flags.ClusterName), name)
	known := raw.Clusters[name]
	if server := flagValue(flags.APIServer); server != "" && (known == nil || serverName(server) != serverName(known.Server)) {
		return serverName(server), ""
	}
	return name, app.ConsoleIn(known)
}

// flagValue is the value of a flag, "" where a command has no such flag.
func flagValue(flag *string) string {
	if flag == nil {
		return ""
	}
	return *flag
}

// serverName is the address of an API server as the name of its cluster, without credentials. With its port
// it is not mistaken for a cluster that a kubeconfig calls as the host; a path tells clusters behind a proxy apart.
func serverName(address string) string {
	server, _, err := rest.DefaultServerUrlFor(&rest.Config{Host: address})
	if err != nil {
		return redact.Line(address) // Nothing can be asked there.
	}
	port := "443"
	if server.Scheme == "http" {
		port = "80"
	}
	return net.JoinHostPort(strings.ToLower(server.Hostname()), cmp.Or(server.Port(), port)) + strings.TrimSuffix(server.EscapedPath(), "/")
}
