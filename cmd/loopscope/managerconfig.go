package main

import (
	"io"
	"runtime"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/loopscope/loopscope/cmd/internal/app"
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

// clusterName is what the kubeconfig calls the cluster, "" where it names none.
func clusterName(flags *genericclioptions.ConfigFlags) string {
	name, _ := contextCluster(flags)
	return name
}

// contextCluster is what the kubeconfig calls the cluster of the context, and the address that it has of its console.
func contextCluster(flags *genericclioptions.ConfigFlags) (cluster, console string) {
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return "", ""
	}
	name := raw.CurrentContext
	if flags.Context != nil && *flags.Context != "" {
		name = *flags.Context
	}
	if c := raw.Contexts[name]; c != nil {
		return c.Cluster, app.ConsoleIn(raw.Clusters[c.Cluster])
	}
	return name, ""
}
