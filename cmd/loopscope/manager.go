package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/loopscope/loopscope/cmd/internal/app"
)

// stopWithin is how long running syncs may take to end after a signal.
const stopWithin = 10 * time.Second

// gcPercent lets the heap grow to three times what is in use, where Go's own
// double costs a tenth of the loops' CPU: what the record holds is marked again
// in every collection. The environment's GOGC wins.
const gcPercent = 200

type managerOptions struct {
	listen     string
	workers    int
	qps        float32
	burst      int
	profiling  bool
	history    historyOptions
	untraced   bool
	watch      bool
	kubeconfig *genericclioptions.ConfigFlags
}

func newManager(s streams) *cobra.Command {
	o := managerOptions{kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the loops and the console against a cluster",
		Long: `Runs the Deployment, ReplicaSet and ReplicationController loops against the
cluster of the current kubeconfig context, and serves the console on this
machine.

The cluster must not run these three loops elsewhere: start its
kube-controller-manager with
  --controllers=*,-deployment-controller,-replicaset-controller,-replicationcontroller-controller
Two sets of loops on one cluster fight over every ReplicaSet. With --watch they
may run elsewhere: this process then decides and writes nothing, and compares
what it would have written with what the other controller writes.`,
		Example: `  # The cluster of the current context; console on http://127.0.0.1:8077
  loopscope manager

  # Another context, another port
  loopscope manager --context dev --listen 127.0.0.1:9000

  # Beside the controllers that a cluster already runs; the Shadow page compares
  loopscope manager --watch`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	cmd.Flags().StringVar(&o.listen, "listen", app.DefaultListen, "address of the console; loopback only")
	cmd.Flags().IntVar(&o.workers, "workers", 5, "number of concurrent syncs of each loop")
	cmd.Flags().Float32Var(&o.qps, "kube-api-qps", 20, "maximum requests per second of each loop")
	cmd.Flags().IntVar(&o.burst, "kube-api-burst", 30, "maximum burst of requests of each loop")
	cmd.Flags().BoolVar(&o.profiling, "profiling", false, "serve Go's profiles at /debug/pprof/ of the console")
	cmd.Flags().BoolVar(&o.untraced, "untraced", false, "run the loops without a record, to measure what it costs; the console has nothing to show")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "decide and write nothing, and compare with the controller that writes")
	o.history.addFlags(cmd.Flags())
	o.kubeconfig.AddFlags(cmd.Flags())
	return cmd
}

func (o *managerOptions) run(ctx context.Context, s streams) error {
	if o.workers < 1 || o.qps <= 0 || o.burst < 1 {
		return errors.New("--workers, --kube-api-qps and --kube-api-burst have to be positive")
	}
	if o.watch && o.untraced {
		return errors.New("--watch compares what is recorded: omit --untraced")
	}
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	if err := app.Check(config, stamped()); err != nil {
		return err
	}
	logger := newLogger(s.err)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	history, err := o.history.settings(o.clusterName(), logger)
	if err != nil {
		return err
	}
	program, err := app.New(app.Options{
		History: history,
		Config:  config, Cluster: o.clusterName(), Listen: o.listen, Workers: o.workers,
		QPS: o.qps, Burst: o.burst, Profiling: o.profiling, Untraced: o.untraced, Watch: o.watch, Logger: logger, Version: stamped(),
	})
	if err != nil {
		return err
	}
	if err := program.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "dashboard: %s\n", program.URL())
	return until(ctx, program)
}

// until waits for a signal or for a part that ends by itself, and stops the rest.
func until(ctx context.Context, program *app.App) error {
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	stopping, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return errors.Join(err, program.Stop(stopping))
}

// clusterName is what the kubeconfig calls the cluster.
func (o *managerOptions) clusterName() string {
	raw, err := o.kubeconfig.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	name := raw.CurrentContext
	if o.kubeconfig.Context != nil && *o.kubeconfig.Context != "" {
		name = *o.kubeconfig.Context
	}
	if c := raw.Contexts[name]; c != nil {
		return c.Cluster
	}
	return name
}
