package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"strings"

	"github.com/cli/browser"
	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/internal/installed"
)

// openName is the name of the command, which `kubectl loopscope` alone stands for.
const openName = "open"

// openOptions are the flags of the command: those of a manager that watches, and its own.
type openOptions struct {
	manager *managerOptions
	stay    bool
	// local is set where no console of the cluster is looked for, and in is the namespace of it, which
	// somebody has named if named is set.
	local, named bool
	in           string
	// browse opens an address in the user's browser.
	browse func(url string) error
}

func newOpen(s streams, width int) *cobra.Command {
	o := openOptions{manager: newManagerOptions(), browse: browse}
	cmd := &cobra.Command{
		Use:   openName,
		Short: "Open the console of the current context's cluster in the browser",
		Long: `Opens the console of a manager that runs for this cluster on this machine. If there is
none, it is the one that is installed in the cluster, to which a port is forwarded: you
see there what your own rights let you see. If there is none either, one is started
that decides as the loops of the cluster do and writes nothing: the pages say why each
object is as it is, and the Shadow page where the loops of the cluster decided
otherwise. It reads with your own rights. Both end with Ctrl-C.

With rights in one namespace alone, only that one is observed: the one of -n, or of
the current context.`,
		Example: `  # Why is my cluster as it is?
  loopscope open

  # The same with kubectl, for another context
  kubectl loopscope --context prod

  # One namespace, on a machine without a browser
  loopscope open -n shop --no-browser`,
		Args: flagsAlone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.named = cmd.Flags().Changed("console-namespace")
			return o.run(cmd.Context(), s)
		},
	}
	all := o.manager.sections()
	o.manager.file.sections = all
	for _, name := range []string{"history", "history-max-age", "history-max-bytes"} {
		cmd.Flags().AddFlag(all.FlagSets["record"].Lookup(name))
	}
	cmd.Flags().StringVar(&o.manager.listen, "listen", "", "address of a console that is started; loopback only (default "+app.DefaultListen+", or any free port where that is taken)")
	cmd.Flags().StringVar(&o.in, "console-namespace", installed.Namespace, "namespace of the console that is installed in the cluster; whoever may create pods there is sent your credentials")
	cmd.Flags().BoolVar(&o.local, "local", false, "start a console on this machine even if one is installed in the cluster")
	cmd.Flags().BoolVar(&o.stay, "no-browser", false, "print the address, and open nothing")
	o.manager.log.addFlags(cmd.Flags())
	addClusterFlags(cmd, s.out, o.manager.kubeconfig, width)
	cmd.Flag("namespace").Usage = "the only namespace whose objects are observed (default all that you may list)"
	completeNamespace(cmd, o.manager.kubeconfig)
	return cmd
}

func (o *openOptions) run(ctx context.Context, s streams) error {
	if url := o.running(ctx); url != "" {
		fmt.Fprintf(s.out, "dashboard: %s\n", url)
		o.show(url, s)
		return nil
	}
	cluster, err := restConfig(o.manager.kubeconfig)
	if err != nil {
		return err
	}
	if err := app.Check(ctx, cluster, stamped()); err != nil { // A manager waits for its cluster; somebody who wants to look is told at once.
		return err
	}
	if served, err := o.forwarded(ctx, s); served || err != nil {
		return err
	}
	o.manager.watch = true
	listener, err := o.listen()
	if err != nil {
		return err
	}
	config, err := o.manager.Config()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	completed, err := config.Complete(s.err)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	completed.program.Listener = listener
	completed.shown = func(url string) { o.show(url, s) }
	if err := o.scope(ctx, completed, s.err); err != nil {
		return errors.Join(err, listener.Close())
	}
	return completed.Run(ctx, s.out)
}

// running is the console of this cluster that answers, "" for none. One that observes another
// namespace than is asked for is not it.
func (o *openOptions) running(ctx context.Context) string {
	if o.manager.listen != "" {
		return ""
	}
	console := consoleFlags{kubeconfig: o.manager.kubeconfig}
	want := *o.manager.kubeconfig.Namespace
	at := console.find(ctx, want)
	if askConsole(ctx, at, "/about.json", nil, new(struct{})) != nil {
		return ""
	}
	switch {
	case at.knows(want):
		return at.address()
	case want != "" || o.mayListEverywhere(ctx):
		return ""
	}
	return at.address() // The one namespace in which the user may list anything.
}

func (o *openOptions) mayListEverywhere(ctx context.Context) bool {
	config, err := restConfig(o.manager.kubeconfig)
	if err != nil {
		return false
	}
	may, err := app.MayListEverywhere(ctx, config, stamped())
	return err == nil && may
}

// listen takes the usual port, or where somebody has it any that is free.
func (o *openOptions) listen() (net.Listener, error) {
	address := o.manager.listen
	if address == "" {
		address, o.manager.listen = app.DefaultListen, app.DefaultListen
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return listener, nil
		}
		address = "127.0.0.1:0"
	} else if err := app.CheckListen(address); err != nil {
		return nil, err
	}
	return net.Listen("tcp", address)
}

// scope leaves out what the user may not list.
func (o *openOptions) scope(ctx context.Context, m *completedManager, log io.Writer) error {
	if m.program.Namespace != "" {
		return nil
	}
	may, err := app.MayListEverywhere(ctx, m.program.Config, stamped())
	if err != nil || may {
		return err
	}
	m.program.Namespace, _, err = o.manager.kubeconfig.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	fmt.Fprintf(log, "You may not list all objects in all namespaces: only the namespace %s is observed. Choose another one with -n\n", m.program.Namespace)
	return nil
}

// show opens the browser. Where there is none the address is enough.
func (o *openOptions) show(url string, s streams) {
	if o.stay {
		return
	}
	if err := o.browse(url); err != nil {
		fmt.Fprintf(s.err, "No browser could be opened (%v): open the address yourself\n", err)
	}
}

// redirect leads a browser to an address. The address itself would stand in the list of processes, where
// everybody on this machine can read the token in it; the file is this user's alone.
const redirect = `<!doctype html><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=%s"><title>Loopscope</title>`

// browse opens the user's browser, whose own words are of no use here.
func browse(url string) error {
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return browser.OpenReader(strings.NewReader(fmt.Sprintf(redirect, html.EscapeString(url))))
}
