package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

func newManager(s streams, width int) *cobra.Command {
	o := newManagerOptions()
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the loops and the console against a cluster",
		Long: `Runs the Deployment, ReplicaSet and ReplicationController loops, and the one of
rolling updates of ReplicationControllers, against the cluster of the current
kubeconfig context, and serves the console on this machine; with --secure-port
also to others, over TLS, as far as the API server says that they may.

The cluster must not run the first three elsewhere: start its
kube-controller-manager with
  --controllers=*,-deployment-controller,-replicaset-controller,-replicationcontroller-controller
Two sets of loops on one cluster fight over every ReplicaSet. With --watch they
may run elsewhere: this process then decides and writes nothing, and compares
what it would have written with what the other controller writes. The flag
--controllers is the same here, so that each loop can run in one of the two.
kube-controller-manager has no rolling updates: they are left out here with
  --controllers=*,-rollingupdate-controller`,
		Example: `  # The cluster of the current context; console on http://127.0.0.1:8077
  loopscope manager

  # Another context, another port
  loopscope manager --context dev --listen 127.0.0.1:9000

  # The Deployment loop alone; the others run in kube-controller-manager
  loopscope manager --controllers=deployment-controller

  # Beside the controllers that a cluster already runs; the Shadow page compares
  loopscope manager --watch`,
		Args: flagsAlone,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	sections := o.sections()
	o.file.sections = sections
	for _, name := range sections.Order {
		cmd.Flags().AddFlagSet(sections.FlagSets[name])
	}
	helpInSections(cmd, s.out, sections, width)
	completeControllers(cmd)
	completeChoice(cmd, "console-auth", authToken, authNone)
	completeChoice(cmd, "logging-format", "text", "json")
	completeChoice(cmd, "kube-api-content-type", contentTypes...)
	cmd.Version = stamped()
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // It fails for a flag that there is not.
	return cmd
}

// completeControllers offers what may follow in the list of --controllers.
func completeControllers(cmd *cobra.Command) {
	// It fails for a flag that there is not.
	_ = cmd.RegisterFlagCompletionFunc("controllers", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		offers := []string{before + "*"}
		for _, name := range controllerNames() {
			offers = append(offers, before+name, before+"-"+name)
		}
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// run reads as what becomes of flags: a configuration in which nothing is wrong, what that
// comes to on a cluster, and that at work.
func (o *managerOptions) run(ctx context.Context, s streams) error {
	config, err := o.Config()
	switch {
	case err != nil:
		return err
	case o.file.writeTo != "":
		return o.file.write(s.out)
	}
	completed, err := config.Complete(s.err)
	if err != nil {
		return err
	}
	return completed.Run(ctx, s.out)
}
