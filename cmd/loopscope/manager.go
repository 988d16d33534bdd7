package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cliflag "k8s.io/component-base/cli/flag"
	componentconfig "k8s.io/component-base/config"
	cmconfig "k8s.io/controller-manager/config"
	cmoptions "k8s.io/controller-manager/options"

	"github.com/loopscope/loopscope/cmd/internal/app"
)

// stopWithin is how long what runs may take to end after a signal, unless a flag says so.
const stopWithin = 10 * time.Second

// managerOptions are the flags of the manager as they were typed.
type managerOptions struct {
	generic     *cmoptions.GenericControllerManagerConfigurationOptions
	syncs       map[string]*int // by controller
	listen      string
	profiling   bool
	history     historyOptions
	log         logOptions
	file        configFile
	stopWithin  time.Duration
	untraced    bool
	reckless    bool
	endWhenLost bool
	watch       bool
	accounts    bool
	kubeconfig  *genericclioptions.ConfigFlags
}

func newManager(s streams, width int) *cobra.Command {
	o := managerOptions{
		generic: cmoptions.NewGenericControllerManagerConfigurationOptions(&cmconfig.GenericControllerManagerConfiguration{
			Controllers: []string{"*"}, MinResyncPeriod: metav1.Duration{Duration: app.DefaultMinResync},
			ClientConnection: componentconfig.ClientConnectionConfiguration{QPS: 20, Burst: 30},
			LeaderElection:   leaderElection(),
		}),
		syncs: map[string]*int{}, kubeconfig: genericclioptions.NewConfigFlags(true),
	}
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
what it would have written with what the other controller writes. The flag
--controllers is the same here, so that each loop can run in one of the two.`,
		Example: `  # The cluster of the current context; console on http://127.0.0.1:8077
  loopscope manager

  # Another context, another port
  loopscope manager --context dev --listen 127.0.0.1:9000

  # The Deployment loop alone; the others run in kube-controller-manager
  loopscope manager --controllers=deployment-controller

  # Beside the controllers that a cluster already runs; the Shadow page compares
  loopscope manager --watch`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	sections := o.sections()
	o.file.sections = sections
	for _, name := range sections.Order {
		cmd.Flags().AddFlagSet(sections.FlagSets[name])
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(s.out, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", cmd.Long, cmd.UseLine(), cmd.Example)
		cliflag.PrintSections(s.out, sections, width)
	})
	completeControllers(cmd)
	cmd.Version = stamped()
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // It fails for a flag that there is not.
	return cmd
}

// sections are the flags by what they are about.
func (o *managerOptions) sections() (sections cliflag.NamedFlagSets) {
	var theirs cliflag.NamedFlagSets // A part of them means something here.
	o.generic.AddFlags(&theirs, controllerNames(), nil, nil)
	take := func(section, name, usage string) {
		flag := theirs.FlagSet("generic").Lookup(name)
		flag.Usage = usage
		sections.FlagSet(section).AddFlag(flag)
	}
	take("controllers", "controllers", "the controllers that run: '*' for all, 'NAME' for this one, '-NAME' without this one; the first item that names a controller decides. Names: "+strings.Join(controllerNames(), ", "))
	take("controllers", "controller-start-interval", "time that each controller waits before it starts, and up to twice that")
	take("controllers", "min-resync-period", "time in which every object is synced once more, and up to twice that")
	for _, c := range app.Controllers() {
		o.syncs[c.Name] = sections.FlagSet("controllers").Int(c.SyncsFlag, c.Syncs, "number of "+c.Kind+"s that are synced at once")
	}
	sections.FlagSet("controllers").BoolVar(&o.watch, "watch", false, "decide and write nothing, and compare with the controller that writes")
	for _, name := range slices.Sorted(maps.Keys(electionUsage)) {
		take("leader election", name, electionUsage[name])
	}
	sections.FlagSet("leader election").BoolVar(&o.endWhenLost, "leader-elect-end-when-lost", false, "end with exit code 1 when the Lease is lost, as kube-controller-manager does, instead of standing by again")
	sections.FlagSet("leader election").BoolVar(&o.reckless, "dangerously-act-beside-a-leader", false, "with --leader-elect=false: act even while another manager leads; the two fight over every ReplicaSet")
	sections.FlagSet("console").StringVar(&o.listen, "listen", app.DefaultListen, "address of the console; loopback only")
	sections.FlagSet("console").BoolVar(&o.profiling, "profiling", false, "serve Go's profiles at /debug/pprof/ of the console")
	o.history.addFlags(sections.FlagSet("record"))
	sections.FlagSet("record").BoolVar(&o.untraced, "untraced", false, "run the loops without a record, to measure what it costs; the console has nothing to show")
	sections.FlagSet("requests").BoolVar(&o.accounts, "use-service-account-credentials", false, "have each controller write as the ServiceAccount of its name in kube-system, so that each needs its own rights alone; takes the rights to get and create these ServiceAccounts and their tokens")
	take("requests", "kube-api-qps", "maximum requests per second of each controller")
	take("requests", "kube-api-burst", "maximum burst of requests of each controller")
	sections.FlagSet("controllers").DurationVar(&o.stopWithin, "controller-shutdown-timeout", stopWithin, "time that running syncs may take to end after a signal, 0 for as long as it takes; a second signal ends the program at once")
	o.log.addFlags(sections.FlagSet("log"))
	o.file.addFlags(sections.FlagSet("configuration"))
	o.kubeconfig.AddFlags(sections.FlagSet("cluster"))
	sections.FlagSet("global").BoolP("help", "h", false, "print this help")
	sections.FlagSet("global").Bool("version", false, "print the version")
	return sections
}

// controllerNames are the names that --controllers takes.
func controllerNames() (names []string) {
	for _, c := range app.Controllers() {
		names = append(names, c.Name)
	}
	return names
}

// aliases are the other names that --controllers takes.
func aliases() map[string]string {
	other := map[string]string{}
	for _, c := range app.Controllers() {
		other[c.Alias] = c.Name
	}
	return other
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

// settings are what the flags come to, or everything that is wrong with them.
func (o *managerOptions) settings() (app.Options, error) {
	errs := o.generic.Validate(controllerNames(), nil, aliases())
	var generic cmconfig.GenericControllerManagerConfiguration
	errs = append(errs, o.generic.ApplyTo(&generic, controllerNames(), nil, aliases()))
	syncs := map[string]int{}
	for _, c := range app.Controllers() {
		if syncs[c.Name] = *o.syncs[c.Name]; syncs[c.Name] < 1 {
			errs = append(errs, fmt.Errorf("--%s has to be positive: switch a controller off with --controllers=*,-%s", c.SyncsFlag, c.Name))
		}
	}
	if generic.ClientConnection.QPS <= 0 || generic.ClientConnection.Burst < 1 {
		errs = append(errs, errors.New("--kube-api-qps and --kube-api-burst have to be positive"))
	}
	if generic.MinResyncPeriod.Duration < time.Minute {
		errs = append(errs, errors.New("--min-resync-period has to be a minute or more: every object is synced once in it"))
	}
	if generic.ControllerStartInterval.Duration < 0 {
		errs = append(errs, errors.New("--controller-start-interval has to be 0s or more"))
	}
	election := generic.LeaderElection
	errs = append(errs, electionErrors(election)...)
	if o.reckless && election.LeaderElect {
		errs = append(errs, errors.New("--dangerously-act-beside-a-leader is for managers that are not elected: give --leader-elect=false as well"))
	}
	if o.stopWithin < 0 {
		errs = append(errs, errors.New("--controller-shutdown-timeout has to be 0s or more"))
	}
	errs = append(errs, o.log.check())
	if o.watch && o.untraced {
		errs = append(errs, errors.New("--watch compares what is recorded: omit --untraced"))
	}
	if o.watch && o.accounts {
		errs = append(errs, errors.New("--watch writes nothing, and needs no tokens to: omit --use-service-account-credentials"))
	}
	return app.Options{
		OwnAccounts: o.accounts,
		Controllers: generic.Controllers, Syncs: syncs, MinResync: generic.MinResyncPeriod.Duration, StartInterval: generic.ControllerStartInterval.Duration,
		Listen: o.listen, QPS: generic.ClientConnection.QPS, Burst: int(generic.ClientConnection.Burst),
		Profiling: o.profiling, Untraced: o.untraced, Watch: o.watch, Version: stamped(), Election: o.election(election),
	}, errors.Join(errs...)
}

func (o *managerOptions) run(ctx context.Context, s streams) error {
	if err := o.file.read(); err != nil {
		return err
	}
	options, err := o.settings()
	switch {
	case err != nil:
		return err
	case o.file.writeTo != "":
		return o.file.write(s.out)
	}
	if options.Config, err = restConfig(o.kubeconfig); err != nil {
		return err
	}
	if err := app.Check(options.Config, stamped()); err != nil {
		return err
	}
	options.Logger, options.Cluster = o.log.logger(s.err), clusterName(o.kubeconfig)
	options.Logger.Info("Starting", "version", stamped(), "rules", rulesOf)
	o.file.log(options.Logger)
	options.Component = app.Component{Flags: o.file.flags(), SetVerbosity: o.log.setVerbosity, Memory: tuneGo(options.Logger, memlimit.FromCgroup)}
	if options.Component.Configuration, err = o.file.object(); err != nil {
		return err
	}
	if options.History, err = o.history.settings(options.Cluster, options.Logger); err != nil {
		return err
	}
	program, err := app.New(options)
	if err != nil {
		return err
	}
	if err := program.Start(ctx); err != nil {
		return err
	}
	defer announce(options.Cluster, program.URL(), options.Logger)()
	fmt.Fprintf(s.out, "dashboard: %s\n", program.URL())
	return until(ctx, program, o.stopWithin)
}

// until waits for a signal or for a part that ends by itself, and stops the rest within that
// time, 0 for as long as it takes.
func until(ctx context.Context, program *app.App, within time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	stopping := context.Background()
	if within > 0 {
		var cancel context.CancelFunc
		stopping, cancel = context.WithTimeout(stopping, within)
		defer cancel()
	}
	return errors.Join(err, program.Stop(stopping))
}

// clusterName is what the kubeconfig calls the cluster, "" where it names none.
func clusterName(flags *genericclioptions.ConfigFlags) string {
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	name := raw.CurrentContext
	if flags.Context != nil && *flags.Context != "" {
		name = *flags.Context
	}
	if c := raw.Contexts[name]; c != nil {
		return c.Cluster
	}
	return name
}
