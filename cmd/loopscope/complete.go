package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/web/filter"
)

// completeWithin is how long a shell may wait for names. Tests wait less.
var completeWithin = 3 * time.Second

const (
	noFiles = cobra.ShellCompDirectiveNoFileComp
	// goesOn is for what has to be continued: a kind before its name.
	goesOn = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
)

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // The flag is not there, or completes already.
	}
}

// completeChoice completes a flag that has a few values.
func completeChoice(cmd *cobra.Command, flag string, values ...string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(values, noFiles))
}

// completeKubeconfig completes the flags whose values stand in the kubeconfig.
func completeKubeconfig(cmd *cobra.Command) {
	for _, flag := range []string{"context", "cluster", "user"} {
		if cmd.Flag("kubeconfig") == nil || cmd.Flag(flag) == nil {
			continue
		}
		completeFlag(cmd, flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			names, err := namesIn(cmd, flag)
			return offer(names, err, noFiles)
		})
	}
}

// namesIn are the names that the kubeconfig of a command has for the value of a flag.
func namesIn(cmd *cobra.Command, flag string) ([]string, error) {
	path := cmd.Flag("kubeconfig").Value.String()
	flags := genericclioptions.ConfigFlags{KubeConfig: &path}
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	switch {
	case err != nil:
		return nil, err
	case flag == "context":
		return slices.Sorted(maps.Keys(raw.Contexts)), nil
	case flag == "cluster":
		return slices.Sorted(maps.Keys(raw.Clusters)), nil
	default:
		return slices.Sorted(maps.Keys(raw.AuthInfos)), nil
	}
}

func offer(names []string, err error, how cobra.ShellCompDirective) ([]string, cobra.ShellCompDirective) {
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, how
}

// asked is what a cluster answers to a shell that waits.
func asked(ctx context.Context, kubeconfig *genericclioptions.ConfigFlags, ask func(context.Context, *rest.Config) ([]string, error)) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	config, err := kubeconfig.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return ask(ctx, config)
}

func namespaces(ctx context.Context, config *rest.Config) ([]string, error) {
	return app.Namespaces(ctx, config, stamped())
}

// completeNamespace completes --namespace with those of the cluster.
func completeNamespace(cmd *cobra.Command, kubeconfig *genericclioptions.ConfigFlags) {
	completeFlag(cmd, "namespace", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		names, err := asked(cmd.Context(), kubeconfig, namespaces)
		return offer(names, err, noFiles)
	})
}

// completeObjects offers the kinds of these loops, and what may follow in KIND/NAME or KIND NAME.
func completeObjects(kubeconfig *genericclioptions.ConfigFlags, loops func() []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		kind, _, named := strings.Cut(typed, "/")
		before := kind + "/"
		if len(args) == 1 && !strings.Contains(args[0], "/") {
			kind, before, named = args[0], "", true
		}
		loop := app.Loops().Named(kind)
		switch {
		case len(args) > 1 || len(args) == 1 && before != "" || named && loop == "":
			return nil, noFiles
		case !named:
			return kinds(loops(), typed), goesOn
		}
		names, err := asked(cmd.Context(), kubeconfig, func(ctx context.Context, config *rest.Config) ([]string, error) {
			namespace, _, err := kubeconfig.ToRawKubeConfigLoader().Namespace()
			if err != nil {
				return nil, err
			}
			return app.Names(ctx, config, loop, namespace, stamped())
		})
		for i := range names {
			names[i] = before + names[i]
		}
		return offer(names, err, noFiles)
	}
}

// kinds are those of loops, and the short forms that go on with what is typed.
func kinds(loops []string, typed string) (offers []string) {
	for _, loop := range loops {
		offers = append(offers, loop+"/")
		for _, alias := range app.Loops().Of(loop).Aliases {
			if typed != "" && strings.HasPrefix(alias, typed) && !strings.HasPrefix(loop, typed) {
				offers = append(offers, alias+"/")
			}
		}
	}
	return offers
}

// completeTerms offers what a filter may go on with.
func (o *topOptions) completeTerms(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ":")+1]
	switch key := strings.TrimPrefix(before, "-"); key {
	case "":
		return filter.Complete(typed), goesOn
	case "ns:":
		names, err := asked(cmd.Context(), o.console.kubeconfig, namespaces)
		return offer(after(before, names), err, noFiles)
	case "at:":
		var questions []string
		for _, q := range app.Loops().Of(o.loop).Catalogue.Questions {
			questions = append(questions, cobra.CompletionWithDesc(q.ID, q.Text))
		}
		return after(before, questions), noFiles
	default:
		return filter.Complete(typed), noFiles
	}
}

func after(before string, words []string) []string {
	for i := range words {
		words[i] = before + words[i]
	}
	return words
}

// completeRecordings offers files that may be recordings, up to so many.
func completeRecordings(most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, noFiles
		}
		return []string{"jsonl", "gz"}, cobra.ShellCompDirectiveFilterFileExt
	}
}
