package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/loopscope/loopscope/cmd/internal/app"
)

// consoleFlags say which console is asked: that of an address, or that of the cluster which
// kubectl talks to.
type consoleFlags struct {
	server     string
	kubeconfig *genericclioptions.ConfigFlags
}

// usualServer is the address of a console of which nothing is known.
const usualServer = "http://" + app.DefaultListen

func newConsoleFlags() consoleFlags {
	none := func() *string { return new(string) }
	return consoleFlags{kubeconfig: &genericclioptions.ConfigFlags{KubeConfig: none(), Context: none()}}
}

func (c *consoleFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.server, "server", "", "address of the running console (default that of the cluster of the current context, or "+usualServer+")")
	c.kubeconfig.AddFlags(flags)
}

// addNamespace adds -n, whose default is the namespace of the current context.
func (c *consoleFlags) addNamespace(flags *pflag.FlagSet, usage string) {
	c.kubeconfig.Namespace = new(string)
	flags.StringVarP(c.kubeconfig.Namespace, "namespace", "n", "", usage+" (default that of the current context)")
}

// namespace is the one that is asked for.
func (c *consoleFlags) namespace() (string, error) {
	namespace, _, err := c.kubeconfig.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("namespace: %w", err)
	}
	return namespace, nil
}

// found is the console that is asked, and the cluster that it should be of, "" where that
// does not matter.
type found struct{ server, cluster string }

func (c *consoleFlags) find() found {
	if c.server != "" {
		return found{server: c.server}
	}
	cluster := clusterName(c.kubeconfig)
	if cluster == "" {
		return found{server: usualServer}
	}
	if path, err := usualFile(cluster, ".console", os.Getenv); err == nil {
		if text, err := os.ReadFile(path); err == nil {
			return found{strings.TrimSpace(string(text)), cluster}
		}
	}
	return found{usualServer, cluster}
}

// unnamed is what a console calls a cluster of which it was told no name.
const unnamed = "cluster"

// check refuses the answer of a console of another cluster.
func (f found) check(cluster string) error {
	if f.cluster == "" || cluster == f.cluster || cluster == "" || cluster == unnamed {
		return nil
	}
	return fmt.Errorf("the console at %s is of the cluster %q, and the current context of %q: choose the context with --context, or give --server=%s to ask this one", f.server, cluster, f.cluster, f.server)
}

// announce leaves the address of this process's console where commands for the same cluster
// find it. gone takes it back.
func announce(cluster, url string, log *slog.Logger) (gone func()) {
	path, err := usualFile(cluster, ".console", os.Getenv)
	if err == nil {
		err = os.WriteFile(path, []byte(url+"\n"), 0o600)
	}
	if err != nil {
		log.Debug("Commands have to be told the address of the console", "error", err)
		return func() {}
	}
	return func() {
		if text, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(text)) != url {
			return // Another manager of the cluster has been started since.
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Debug("The address of the console was not taken back", "error", err)
		}
	}
}

// completeWithin is how long a shell may wait for names.
const completeWithin = 3 * time.Second

// completeObjects offers what may follow in KIND/NAME.
func completeObjects(kubeconfig *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	kind := app.Explained + "/"
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) > 0:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case !strings.HasPrefix(typed, kind):
			return []string{kind}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		config, err := kubeconfig.ToRESTConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		namespace, _, err := kubeconfig.ToRawKubeConfigLoader().Namespace()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names, err := app.Names(ctx, config, namespace, stamped())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for i := range names {
			names[i] = kind + names[i]
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// needsYou ends a command with an exit code of its own: nothing failed, and something that it
// told of needs a person.
type needsYou struct{}

func (needsYou) Error() string { return "something needs you" }

// exitNeedsYou is that code; 1 is that of an error.
const exitNeedsYou = 2
