package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/cel"
	"sigs.k8s.io/kwok/pkg/utils/client"
)

// stagesYAML says how nodes and pods live; see README.md for the rules in prose.
//
//go:embed stages.yaml
var stagesYAML []byte

// stageFunctions stand before every expression of the stages, stageTemplates
// before every template of pods: a stage has no other way to share anything.
var (
	//go:embed stages.jq
	stageFunctions string
	//go:embed stages.tpl
	stageTemplates string
)

// kwokIdentity holds the node leases. It is the same in every start, so that a
// restarted kwok goes on at once instead of waiting for its own lease to expire.
const kwokIdentity = "sandbox"

// Heartbeats: a lease is renewed every leaseSeconds/4. The node controller's
// grace period (see children.go) must be longer than leaseSeconds.
const leaseSeconds = 80

// runKwok plays the kubelet of every node until SIGTERM or SIGINT.
func runKwok(args []string) int {
	flags := pflag.NewFlagSet(nameKwok, pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig of the API server")
	if err := flags.Parse(args); err != nil {
		fmt.Fprintf(os.Stderr, "kwok: parse arguments: %v\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx = kwoklog.NewContext(ctx, kwoklog.NewLogger(os.Stderr, kwoklog.LevelWarn))
	if err := playNodes(ctx, *kubeconfig); err != nil {
		fmt.Fprintf(os.Stderr, "kwok: %v\n", err)
		return 1
	}
	<-ctx.Done()
	return 0
}

func playNodes(ctx context.Context, kubeconfig string) error {
	stages, err := parseStages(stagesYAML)
	if err != nil {
		return fmt.Errorf("read stages: %w", err)
	}
	config, err := kwokConfig(kubeconfig)
	if err != nil {
		return err
	}
	config.LocalStages = stages
	if err := knowTypes(); err != nil {
		return fmt.Errorf("read types: %w", err)
	}
	controller, err := controllers.NewController(config)
	if err != nil {
		return fmt.Errorf("build controller: %w", err)
	}
	if err := controller.Start(ctx); err != nil {
		return fmt.Errorf("start controller: %w", err)
	}
	return nil
}

// knowTypes has the library behind kwok's expressions look at the types that they may have, once: it writes
// down what it finds out for the whole process, unguarded, and kwok's workers would do so at once.
func knowTypes() error {
	for _, object := range []any{&corev1.Pod{}, &corev1.Node{}} {
		if _, err := cel.NewEnvironment(cel.EnvironmentConfig{
			Types: cel.DefaultTypes, Conversions: cel.DefaultConversions, Funcs: cel.DefaultFuncs, Methods: cel.FuncsToMethods(cel.DefaultFuncs),
			Vars: map[string]any{"self": object},
		}); err != nil {
			return err
		}
	}
	return nil
}

// kwokConfig builds the clients and limits of kwok's controller.
func kwokConfig(kubeconfig string) (controllers.Config, error) {
	clients, err := client.NewClientset("", kubeconfig)
	if err != nil {
		return controllers.Config{}, fmt.Errorf("read kubeconfig: %w", err)
	}
	config, err := clients.ToRESTConfig()
	if err != nil {
		return controllers.Config{}, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &persistentTransport{next: next, clock: clock.RealClock{}}
	})
	raw, err1 := rest.RESTClientFor(config)
	typed, err2 := kubernetes.NewForConfig(config)
	stages, err3 := versioned.NewForConfig(config)
	dynamic, err4 := clients.ToDynamicClient()
	mapper, err5 := clients.ToRESTMapper()
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return controllers.Config{}, fmt.Errorf("build clients: %w", err)
	}
	return controllers.Config{
		Clock: clock.RealClock{}, ID: kwokIdentity, ManageAllNodes: true,
		RESTClient: raw, TypedClient: newKwokClient(typed), TypedKwokClient: stages, DynamicClient: dynamic, RESTMapper: mapper,
		ImpersonatingDynamicClient: clients.ToImpersonatingDynamicClient(),
		ImpersonatingTypedClient:   clients.ToImpersonatingTypedClient(),
		CIDR:                       "10.254.0.0/16",
		NodeIP:                     "10.254.255.254",
		NodeLeaseDurationSeconds:   leaseSeconds,
		NodeLeaseParallelism:       4, NodePlayStageParallelism: 4,
		PodPlayStageParallelism: 16, PodsOnNodeSyncParallelism: 4,
	}, nil
}

// parseStages reads a stream of Stage documents and groups them by what they act on.
func parseStages(stream []byte) (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	grouped := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for i, document := range bytes.Split(stream, []byte("\n---\n")) {
		stage, err := kwokconfig.UnmarshalWithType[*internalversion.Stage](document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		share(&stage.Spec)
		grouped[stage.Spec.ResourceRef] = append(grouped[stage.Spec.ResourceRef], stage)
	}
	return grouped, nil
}

// share puts the shared functions and templates before a stage's own.
func share(spec *internalversion.StageSpec) {
	for _, e := range spec.Selector.MatchExpressions {
		e.JQ.Key = stageFunctions + e.JQ.Key
	}
	if spec.Delay != nil && spec.Delay.DurationFrom != nil {
		spec.Delay.DurationFrom.JQ.Expression = stageFunctions + spec.Delay.DurationFrom.JQ.Expression
	}
	if spec.ResourceRef.Kind != "Pod" {
		return // the templates call what kwok has for pods alone
	}
	for _, step := range spec.Steps {
		if step.Patch != nil {
			step.Patch.Template = stageTemplates + step.Patch.Template
		}
		if step.Apply != nil {
			step.Apply.Template = stageTemplates + step.Apply.Template
		}
	}
}
