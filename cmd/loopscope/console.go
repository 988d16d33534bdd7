package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
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

func (c *consoleFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.server, "server", "", "address of the running console (default that of the cluster of the current context, or "+usualServer+")")
	c.kubeconfig.AddFlags(cmd.Flags())
}

// addNamespace adds -n, whose default is the namespace of the current context.
func (c *consoleFlags) addNamespace(cmd *cobra.Command, usage string) {
	c.kubeconfig.Namespace = new(string)
	cmd.Flags().StringVarP(c.kubeconfig.Namespace, "namespace", "n", "", usage+" (default that of the current context)")
	completeNamespace(cmd, c.kubeconfig)
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

// history is the file in which a running console keeps its syncs, "" where it keeps none.
func (f found) history(ctx context.Context) (string, error) {
	var twin struct {
		Page struct {
			History string `json:"history"`
		} `json:"page"`
	}
	err := askConsole(ctx, f, "/about.json", nil, &twin)
	return twin.Page.History, err
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

// needsYou ends a command with an exit code of its own: nothing failed, and something that it
// told of needs a person.
type needsYou struct{}

func (needsYou) Error() string { return "something needs you" }

// exitNeedsYou is that code; 1 is that of an error.
const exitNeedsYou = 2
