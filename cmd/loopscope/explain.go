package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry"
)

type explainOptions struct {
	output     string
	kubeconfig *genericclioptions.ConfigFlags
}

func newExplain(s streams) *cobra.Command {
	o := explainOptions{kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "explain deployment/NAME",
		Short: "Say why a Deployment is as it is, and what its loop would do next",
		Long: `Reads one Deployment with its ReplicaSets and pods, decides once, and prints the
sentence, the decision path, what would be written and what is held back.
It writes nothing, and needs no running loopscope.`,
		Example: `  # Why is this rollout stuck?
  loopscope explain deployment/web -n shop

  # The same for a script
  loopscope explain deployment/web -n shop -o json | jq -r .text`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "print the whole trace as json or yaml")
	o.kubeconfig.AddFlags(cmd.Flags())
	return cmd
}

func (o *explainOptions) run(ctx context.Context, s streams, args []string) error {
	if o.output != "" && o.output != "json" && o.output != "yaml" {
		return fmt.Errorf("output format %q is not known; choose json or yaml, or leave -o away", o.output)
	}
	name, err := deploymentName(args)
	if err != nil {
		return err
	}
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	namespace, _, err := o.kubeconfig.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	t, err := app.Explain(ctx, config, namespace, name, stamped())
	if err != nil {
		return err
	}
	return o.print(s, t)
}

// deploymentName takes deployment/NAME, deploy/NAME, or the two as two words.
func deploymentName(args []string) (string, error) {
	kind, name, found := strings.Cut(strings.Join(args, "/"), "/")
	if !found || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q does not name a Deployment; write deployment/NAME", strings.Join(args, " "))
	}
	switch strings.ToLower(kind) {
	case "deployment", "deployments", "deploy", "deployment.apps", "deployments.apps":
		return name, nil
	}
	return "", fmt.Errorf("explain knows Deployments, not %q; write deployment/NAME", kind)
}

// explained is the trace with its sentence as plain text beside it.
type explained struct {
	Text string `json:"text"`
	*telemetry.Trace
}

func (o *explainOptions) print(s streams, t *telemetry.Trace) error {
	now := time.Now()
	out := explained{t.Sentence.At(now), t}
	switch o.output {
	case "json":
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(out)
	case "yaml":
		raw, err := yaml.Marshal(out)
		if err != nil {
			return fmt.Errorf("print trace: %w", err)
		}
		_, err = s.out.Write(raw)
		return err
	default:
		return explainText(s.out, t, now)
	}
}
