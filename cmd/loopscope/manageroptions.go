package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cliflag "k8s.io/component-base/cli/flag"
	componentconfig "k8s.io/component-base/config"
	"k8s.io/component-base/featuregate"
	cmconfig "k8s.io/controller-manager/config"
	cmoptions "k8s.io/controller-manager/options"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/internal/secure"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// managerOptions are the flags of the manager as they were typed. Config is what they come to.
type managerOptions struct {
	generic     *cmoptions.GenericControllerManagerConfigurationOptions
	syncs       map[string]*int // by controller
	listen      string
	signIn      signInOptions
	secure      *secure.Options
	profiling   bool
	contention  bool
	history     historyOptions
	log         logOptions
	file        configFile
	stopWithin  time.Duration
	untraced    bool
	reckless    bool
	endWhenLost bool
	watch       bool
	accounts    bool
	disabled    []string // metrics
	features    featuregate.MutableVersionedFeatureGate
	master      string
	kubeconfig  *genericclioptions.ConfigFlags
}

func newManagerOptions() *managerOptions {
	o := &managerOptions{
		generic: cmoptions.NewGenericControllerManagerConfigurationOptions(&cmconfig.GenericControllerManagerConfiguration{
			Controllers: []string{"*"}, MinResyncPeriod: metav1.Duration{Duration: app.DefaultMinResync},
			ClientConnection: componentconfig.ClientConnectionConfiguration{QPS: 20, Burst: 30, ContentType: runtime.ContentTypeProtobuf},
			LeaderElection:   leaderElection(),
		}),
		signIn:   signInOptions{auth: authToken},
		features: featuregate.NewFeatureGate(), secure: secure.NewOptions(), syncs: map[string]*int{}, kubeconfig: genericclioptions.NewConfigFlags(true),
	}
	for _, f := range app.Features() {
		spec := featuregate.FeatureSpec{Default: f.On, PreRelease: featuregate.Alpha}
		if f.On {
			spec.PreRelease = featuregate.Beta
		}
		if err := o.features.Add(map[featuregate.Feature]featuregate.FeatureSpec{featuregate.Feature(f.Name): spec}); err != nil {
			panic(err) // Two loops need one feature, and do not agree on what it is by default.
		}
	}
	return o
}

// sections are the flags by what they are about.
func (o *managerOptions) sections() (sections cliflag.NamedFlagSets) {
	var theirs cliflag.NamedFlagSets // A part of them means something here.
	o.generic.AddFlags(&theirs, controllerNames(), offByDefault(), aliases())
	take := func(section, name, usage string) {
		flag := theirs.FlagSet("generic").Lookup(name)
		flag.Usage = usage
		sections.FlagSet(section).AddFlag(flag)
	}
	take("controllers", "controllers", "the controllers that run: '*' for all, 'NAME' for this one, '-NAME' without this one; the first item that names a controller decides. Names: "+strings.Join(controllersOffered(), ", "))
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
	o.signIn.addFlags(sections.FlagSet("console"))
	sections.FlagSet("console").BoolVar(&o.profiling, "profiling", false, "serve Go's profiles at /debug/pprof/ of the console")
	sections.FlagSet("console").BoolVar(&o.contention, "contention-profiling", false, "with --profiling: note what waits for locks, at /debug/pprof/block; costs CPU")
	o.secure.AddFlags(&sections)
	o.history.addFlags(sections.FlagSet("record"))
	sections.FlagSet("record").BoolVar(&o.untraced, "untraced", false, "run the loops without a record, to measure what it costs; the console has nothing to show")
	sections.FlagSet("requests").BoolVar(&o.accounts, "use-service-account-credentials", false, "have each controller write as the ServiceAccount of its name in kube-system, so that each needs its own rights alone; takes the rights to get and create these ServiceAccounts and their tokens")
	take("requests", "kube-api-qps", "maximum requests per second of each controller")
	take("requests", "kube-api-burst", "maximum burst of requests of each controller")
	take("requests", "kube-api-content-type", "how objects are sent: "+strings.Join(contentTypes, " or "))
	sections.FlagSet("controllers").DurationVar(&o.stopWithin, "controller-shutdown-timeout", stopWithin, "time that running syncs may take to end after a signal, 0 for as long as it takes; a second signal ends the program at once")
	sections.FlagSet("metrics").StringSliceVar(&o.disabled, "disabled-metrics", nil, "metrics that /metrics leaves out, by their whole names")
	o.features.AddFlag(sections.FlagSet("features"))
	sections.FlagSet("features").Lookup("feature-gates").Usage = "features to switch on or off, as NAME=true,NAME=false; " + featuresOffered()
	o.log.addFlags(sections.FlagSet("log"))
	o.file.addFlags(sections.FlagSet("configuration"))
	o.kubeconfig.AddFlags(sections.FlagSet("cluster"))
	sections.FlagSet("cluster").Lookup("namespace").Usage = "the only namespace whose objects are observed (default all)"
	sections.FlagSet("cluster").StringVar(&o.master, "master", "", "another name for --server, as kube-controller-manager has it")
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

// controllersOffered are these names, each with what it takes beside "*" to run it.
func controllersOffered() (names []string) {
	for _, c := range app.Controllers() {
		var takes []string
		if c.OffByDefault {
			takes = append(takes, "off by default")
		}
		for _, gate := range c.Gates {
			takes = append(takes, "needs the feature "+gate)
		}
		if name := c.Name; len(takes) == 0 {
			names = append(names, name)
		} else {
			names = append(names, name+" ("+strings.Join(takes, ", ")+")")
		}
	}
	return names
}

// offByDefault are the names that "*" leaves out.
func offByDefault() (names []string) {
	for _, c := range app.Controllers() {
		if c.OffByDefault {
			names = append(names, c.Name)
		}
	}
	return names
}

// featuresOffered says which features there are to switch.
func featuresOffered() string {
	var list []string
	for _, f := range app.Features() {
		state := "alpha, off by default"
		if f.On {
			state = "beta, on by default"
		}
		if f.Since > 0 {
			state += " from " + decision.ReleaseName(f.Since) + " of the API server on"
		}
		list = append(list, f.Name+" ("+state+")")
	}
	return "there are AllAlpha, AllBeta, " + strings.Join(list, ", ")
}

// switched are the features as the flags have them, without those that follow the cluster.
func (o *managerOptions) switched() map[string]bool {
	on := map[string]bool{}
	for _, f := range app.Features() {
		is := o.features.Enabled(featuregate.Feature(f.Name))
		if f.Follows && is && !o.features.ExplicitlySet(featuregate.Feature(f.Name)) {
			continue
		}
		on[f.Name] = is
	}
	return on
}

// aliases are the other names that --controllers takes.
func aliases() map[string]string {
	other := map[string]string{}
	for _, c := range app.Controllers() {
		other[c.Alias] = c.Name
	}
	return other
}

// Config is what flags and file come to, or everything that is wrong with them. It needs no cluster.
func (o *managerOptions) Config() (*managerConfig, error) {
	if err := o.file.read(); err != nil {
		return nil, err
	}
	errs := o.generic.Validate(controllerNames(), offByDefault(), aliases())
	if slices.ContainsFunc(errs, func(err error) bool { return strings.HasSuffix(err.Error(), "known controllers") }) { // They name what is not known, and not what is.
		errs = append(errs, fmt.Errorf("--controllers takes %s, each also with a leading minus, and *", prose.And(controllerNames())))
	}
	var generic cmconfig.GenericControllerManagerConfiguration
	errs = append(errs, o.generic.ApplyTo(&generic, controllerNames(), offByDefault(), aliases()))
	syncs := map[string]int{}
	for name, n := range o.syncs {
		syncs[name] = *n
	}
	errs = append(errs, o.wrong(generic)...)
	object, err := o.file.object()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return &managerConfig{
		program: app.Options{
			OwnAccounts: o.accounts, Namespace: *o.kubeconfig.Namespace,
			Controllers: generic.Controllers, Features: o.switched(), Syncs: syncs, MinResync: generic.MinResyncPeriod.Duration, StartInterval: generic.ControllerStartInterval.Duration,
			Listen: o.listen, Secure: o.secure, QPS: generic.ClientConnection.QPS, Burst: int(generic.ClientConnection.Burst), ContentType: generic.ClientConnection.ContentType, DisabledMetrics: o.disabled,
			Profiling: o.profiling, Untraced: o.untraced, Watch: o.watch, Version: stamped(), Election: o.election(generic.LeaderElection),
			Component: app.Component{Flags: o.file.flags(), Configuration: object, SetVerbosity: o.log.setVerbosity},
		},
		kubeconfig: o.kubeconfig, log: &o.log, signIn: &o.signIn, secure: o.secure.On(), history: &o.history, file: &o.file, stopWithin: o.stopWithin, contention: o.contention,
	}, nil
}

// wrong is everything that is wrong with the flags that are not only kube-controller-manager's.
func (o *managerOptions) wrong(c cmconfig.GenericControllerManagerConfiguration) (errs []error) {
	for _, of := range app.Controllers() {
		if *o.syncs[of.Name] < 1 {
			errs = append(errs, fmt.Errorf("--%s has to be positive: switch a controller off with --controllers=*,-%s", of.SyncsFlag, of.Name))
		}
	}
	if c.ClientConnection.QPS <= 0 || c.ClientConnection.Burst < 1 {
		errs = append(errs, errors.New("--kube-api-qps and --kube-api-burst have to be positive"))
	}
	if c.MinResyncPeriod.Duration < time.Minute {
		errs = append(errs, errors.New("--min-resync-period has to be a minute or more: every object is synced once in it"))
	}
	if c.ControllerStartInterval.Duration < 0 {
		errs = append(errs, errors.New("--controller-start-interval has to be 0s or more"))
	}
	errs = append(errs, electionErrors(c.LeaderElection)...)
	if o.reckless && c.LeaderElection.LeaderElect {
		errs = append(errs, errors.New("--dangerously-act-beside-a-leader is for managers that are not elected: give --leader-elect=false as well"))
	}
	if namespace := *o.kubeconfig.Namespace; namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		errs = append(errs, fmt.Errorf("--namespace=%s is not the name of a namespace", redact.Line(namespace)))
	}
	if o.stopWithin < 0 {
		errs = append(errs, errors.New("--controller-shutdown-timeout has to be 0s or more"))
	}
	errs = append(errs, o.secure.Validate()...)
	errs = append(errs, o.requestErrors(c.ClientConnection.ContentType)...)
	_, err := o.history.limit()
	errs = append(errs, err, o.log.check(), app.CheckListen(o.listen), o.signIn.check())
	if o.contention && !o.profiling {
		errs = append(errs, errors.New("--contention-profiling is read through the profiles: give --profiling as well"))
	}
	if o.watch && o.untraced {
		errs = append(errs, errors.New("--watch compares what is recorded: omit --untraced"))
	}
	if o.watch && o.accounts {
		errs = append(errs, errors.New("--watch writes nothing, and needs no tokens to: omit --use-service-account-credentials"))
	}
	return errs
}

// contentTypes are those that the API server takes of every client.
var contentTypes = []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON}

// metricName is how the name of a metric looks.
var metricName = regexp.MustCompile("^[a-zA-Z_:][a-zA-Z0-9_:]*$")

// requestErrors is what is wrong with where requests go, how, and with what is counted of them.
// --master is --server afterwards.
func (o *managerOptions) requestErrors(contentType string) (errs []error) {
	if !slices.Contains(contentTypes, contentType) {
		errs = append(errs, fmt.Errorf("--kube-api-content-type=%s: give %s", contentType, strings.Join(contentTypes, " or ")))
	}
	for _, name := range o.disabled {
		if !metricName.MatchString(name) {
			errs = append(errs, fmt.Errorf("--disabled-metrics: %q is no name of a metric: give one as /metrics has it after # TYPE", name))
		}
	}
	switch server := o.kubeconfig.APIServer; {
	case o.master == "":
	case *server != "" && *server != o.master:
		errs = append(errs, errors.New("--master and --server name two API servers: give one of them"))
	default:
		*server = o.master
	}
	return errs
}
