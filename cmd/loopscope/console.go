package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/internal/signin"
	"github.com/loopscope/loopscope/telemetry/redact"
	"github.com/loopscope/loopscope/telemetry/safetext"
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
	cmd.Flags().StringVar(&c.server, "server", "", "address of the running console, with its token where it asks for one (default that of the cluster of the current context, or "+usualServer+")")
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

// found is the console that is asked, with its token, and the cluster that it should be of, "" where
// that does not matter.
type found struct {
	server, token, cluster string
	// announced is set where nobody has given the address: its console may have ended since it left it,
	// and another program have the port.
	announced bool
	// observes is the only namespace that it looks at, "" for all of them or where it has not said so.
	observes string
}

// find is the console to ask about a namespace, "" for all of them.
func (c *consoleFlags) find(ctx context.Context, namespace string) found {
	f, list := c.candidates()
	if len(list) > 0 {
		return newest(ctx, list, f.cluster, namespace)
	}
	f.observes, _ = f.observed(ctx) // Why it does not answer is told when it is asked.
	return f
}

// candidates are the consoles that were announced, or else the one to try.
func (c *consoleFlags) candidates() (f found, list []string) {
	if c.server != "" {
		return foundAt(c.server, ""), nil
	}
	cluster, console := chosenCluster(c.kubeconfig)
	if cluster == "" {
		return found{server: usualServer}, nil
	}
	host := ""
	if config, err := c.kubeconfig.ToRawKubeConfigLoader().ClientConfig(); err == nil {
		host = config.Host
	}
	if path, err := (place{cluster, host}).file(os.Getenv); err == nil {
		list = announced(path)
	}
	return found{server: cmp.Or(console, usualServer), cluster: cluster}, list
}

// observed asks the console for the only namespace that it looks at. It is an error where it is not there, or
// does not know its token, or is of another cluster.
func (f found) observed(ctx context.Context) (string, error) {
	var twin struct {
		Page struct {
			Namespace string `json:"namespace"`
		} `json:"page"`
	}
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	err := askConsole(ctx, f, "/about.json", nil, &twin)
	return twin.Page.Namespace, err
}

// knows reports whether the console looks at a namespace, "" for all of them.
func (f found) knows(namespace string) bool { return f.observes == "" || f.observes == namespace }

// narrow says that the console looks at one namespace, of which not all that is asked for is.
func (f found) narrow() string {
	return fmt.Sprintf("The console at %s observes only the namespace %s, and does not know how others are now. `loopscope open` starts one for all that you may list.", f.server, safetext.Line(f.observes))
}

// foundAt reads an address that may have a token.
func foundAt(address, cluster string) found {
	server, token := signin.Split(address)
	return found{server: server, token: token, cluster: cluster}
}

// address is that by which a browser gets in.
func (f found) address() string {
	if f.token == "" {
		return f.server
	}
	return signin.New(f.token, "").Address(f.server)
}

// ask sends a request with the token. A console that was announced gets it once it has proved that it
// has the token already.
func (f found) ask(r *http.Request) (*http.Response, error) {
	if f.token == "" {
		return http.DefaultClient.Do(r)
	}
	r.Header.Set("Authorization", "Bearer "+f.token)
	if !f.announced {
		return http.DefaultClient.Do(r)
	}
	known, err := signin.Known(r.Context(), f.server, f.token)
	if err != nil {
		return nil, err
	}
	r.Close = true
	return (&http.Client{Transport: known}).Do(r)
}

// unasked is why a console could not be asked. otherwise says what else may be done.
func (f found) unasked(err error, otherwise string) error {
	if errors.Is(err, signin.ErrImpostor) {
		return fmt.Errorf("another program answers at %s, where a console of the cluster %q was: it does not know the token of that console, and was not sent it\nStart a console with `loopscope open`, or %s", f.server, f.cluster, otherwise)
	}
	return fmt.Errorf("ask the console: %s\nIs Loopscope running there? Start a console with `loopscope open`, or %s", redact.Line(err.Error()), otherwise)
}

// place is a cluster as its console is looked for: clusters of the same name have other API servers.
type place struct{ cluster, host string }

// file is where the addresses of its consoles stand, which its owner alone can read.
func (p place) file(env func(string) string) (string, error) {
	sum := sha256.Sum256([]byte(p.host))
	return usualFile(p.cluster, "-"+hex.EncodeToString(sum[:4])+".console", env)
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

// history is the file in which a running console keeps its syncs, "" where it keeps none. Its run is not
// told where that cannot write it now.
func (f found) history(ctx context.Context) (source, error) {
	var twin struct {
		Epoch string `json:"epoch"`
		Page  struct {
			History string `json:"history"`
			Failing bool   `json:"historyFailing"`
		} `json:"page"`
	}
	err := askConsole(ctx, f, "/about.json", nil, &twin)
	if twin.Page.Failing {
		twin.Epoch = ""
	}
	return source{file: twin.Page.History, run: twin.Epoch}, err
}

// needsYou ends a command with an exit code of its own: nothing failed, and something that it
// told of needs a person.
type needsYou struct{}

func (needsYou) Error() string { return "something needs you" }

// exitNeedsYou is that code; 1 is that of an error.
const exitNeedsYou = 2
