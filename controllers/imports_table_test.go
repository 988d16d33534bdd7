package controllers_test

// allowance is a prefix of import paths that a package may use, and why. A
// prefix ends at a slash: "k8s.io/api" does not cover "k8s.io/apimachinery".
type allowance struct{ path, why string }

// rule is what one package may import. Ours are paths within the module,
// matched exactly; third are prefixes of other modules' paths. Whatever is not
// allowed is forbidden, and so is a package without a rule.
type rule struct {
	pkg   string
	why   string
	ours  []allowance
	third []allowance
	// pure bans the standard library's doors to the world, and the clock.
	pure bool
	// later marks a package that the design names and that is not written yet.
	later bool
}

// pureBans are the parts of the standard library that would make a decision
// depend on anything but its snapshot.
var pureBans = []allowance{
	{"net", "a decision does no I/O"},
	{"os", "a decision reads no file, no environment and no process state"},
	{"io/fs", "a decision reads no file"},
	{"syscall", "a decision does no I/O"},
	{"context", "what cannot block needs no cancelling"},
	{"log", "a decision is recorded, not logged (log/slog included)"},
	{"math/rand", "the same snapshot gives the same verdict"},
	{"crypto/rand", "the same snapshot gives the same verdict"},
	{"runtime", "a decision does not depend on the machine"},
	{"unsafe", "a value is recorded as what it is"},
	{"sync", "a decision shares nothing, so that it has nothing to lock"},
	{"flag", "a switch stands in the snapshot"},
	{"testing", "test code stays out of the program"},
}

// clockBans are the functions of package time that read the clock or wait.
var clockBans = map[string]string{
	"Now": "time is an argument", "Since": "it reads the clock", "Until": "it reads the clock",
	"After": "it waits", "AfterFunc": "it waits", "Sleep": "it waits", "Tick": "it waits",
	"NewTimer": "it waits", "NewTicker": "it waits",
}

var (
	vocabulary = allowance{"telemetry/decision", "the vocabulary in which loops think"}
	causesOf   = allowance{"controllers/diagnosis", "what keeps pods from being available"}
	pureOnes   = []allowance{
		vocabulary, causesOf,
		{"controllers/deployment", "questions, sentences and snapshots of Deployments"},
		{"controllers/replicaset", "questions, sentences and snapshots of ReplicaSets"},
		{"controllers/rollingupdate", "arithmetic of rollouts"},
		{"controllers/sim", "verdicts folded over a model cluster"},
	}
	wording    = allowance{"telemetry/prose", "plurals, lists and clipping"}
	cleaning   = allowance{"telemetry/safetext", "what no terminal may be told"}
	masking    = allowance{"controllers/redact", "what no record may hold"}
	sending    = allowance{"telemetry/safebytes", "what no reader may be sent"}
	traces     = allowance{"telemetry", "traces and the journal"}
	packing    = allowance{"telemetry/wire", "traces as bytes"}
	agreeing   = allowance{"controllers/agreement", "what is said of a sync, held against itself"}
	templ      = allowance{"github.com/a-h/templ", "the runtime of generated templates"}
	recordings = allowance{"telemetry/tracefile", "recordings"}
	prometheus = allowance{"github.com/prometheus/client_golang", "metrics and their handler"}
)

// rules is the import table of the architecture.
var rules = []rule{
	{pkg: "telemetry/prose", pure: true, why: "it knows English and no loop", ours: []allowance{cleaning}},
	{pkg: "telemetry/decision", pure: true, why: "the vocabulary stands below everything but English", ours: []allowance{wording}},
	{pkg: "controllers/diagnosis", pure: true, why: "words of the cluster in, causes out", ours: []allowance{vocabulary, wording}},
	{pkg: "telemetry/safetext", pure: true, why: "it knows characters alone"},
	{pkg: "controllers/redact", pure: true, why: "it knows texts alone, and what hides in them", ours: []allowance{cleaning}},
	{pkg: "controllers/agreement", pure: true, why: "it compares words, for tests alone", ours: []allowance{vocabulary, causesOf, wording}},
	{pkg: "controllers/rollingupdate", pure: true, why: "arithmetic needs no vocabulary but its own", ours: []allowance{wording}},
	{pkg: "controllers/replicaset", pure: true, why: "it decides by its snapshot alone", ours: []allowance{vocabulary, causesOf, wording}},
	{
		pkg: "controllers/deployment", pure: true, why: "it decides by its snapshot alone",
		ours: []allowance{vocabulary, causesOf, wording, {"controllers/rollingupdate", "how many pods may come and go"}},
	},
	{pkg: "controllers/sim", pure: true, why: "a model cluster is a value", ours: pureOnes[:5]},
	{
		pkg: "controllers", why: "the parent acts: it alone talks to the API server",
		ours: append([]allowance{traces, cleaning, masking, wording}, pureOnes[:5]...),
		third: []allowance{
			{"k8s.io/client-go", "informers, queue, clients and events"},
			{"k8s.io/apimachinery", "the meta types"},
			{"k8s.io/api", "the types of the objects"},
			{"k8s.io/utils/clock", "time is an argument"},
			{"k8s.io/utils/dump", "a template is hashed as Kubernetes dumps it, or ReplicaSets would change their names"},
		},
	},
	{pkg: "controllers/internal/gendecisions", why: "the catalogues are all that DECISIONS.md and REASONS.md are made from", ours: append([]allowance{traces}, pureOnes[:4]...)},
	{pkg: "telemetry", why: "traces are read by programs that know no Kubernetes", ours: []allowance{vocabulary, wording}},
	{
		pkg: "telemetry/metrics", why: "the metrics library is one exporter among others", ours: []allowance{traces, vocabulary},
		third: []allowance{
			prometheus,
			{"k8s.io/client-go/util/workqueue", "its MetricsProvider interface is implemented here"},
			{"k8s.io/client-go/util/flowcontrol", "the client's rate limiter is measured here"},
			{"k8s.io/client-go/tools/metrics", "its request metric interfaces are implemented here"},
		},
	},
	{
		pkg: "telemetry/history", why: "a reader of the journal that keeps it",
		ours:  []allowance{traces, packing},
		third: []allowance{{"modernc.org/sqlite", "the store"}, {"github.com/klauspost/compress/zstd", "what is kept is compressed"}},
	},
	{pkg: "telemetry/wire", why: "it walks over types and knows none of them"},
	{pkg: "telemetry/tracefile", why: "a recording is traces and nothing else", ours: []allowance{traces, vocabulary, wording, cleaning, sending}},
	{pkg: "telemetry/safebytes", why: "it knows bytes and characters alone", ours: []allowance{cleaning}},
	{
		pkg: "cmd/internal/replay", why: "a sync that is decided again needs its trace alone",
		ours: append([]allowance{traces, wording}, pureOnes[:4]...),
	},
	{
		pkg: "telemetry/otlp", why: "a reader of the journal that exports it", ours: []allowance{traces, vocabulary},
		third: []allowance{{"go.opentelemetry.io/otel", "the protocol and its SDK"}, {"golang.org/x/net/http/httpguts", "what a header may be"}},
	},
	{pkg: "views", why: "a view draws what its model says and knows nothing else", ours: []allowance{wording}, third: []allowance{templ}},
	{pkg: "static", why: "files know nothing"},
	{pkg: "web/flow", why: "a drawing is made of a graph, wherever it is shown", ours: []allowance{vocabulary, wording, {"views", "the drawing as its template takes it"}}},
	{pkg: "deploy", why: "dashboards and rules are files, and the package their test"},
	{
		pkg: "web", why: "pages read traces: a page that could reach a loop could stop one",
		ours: append([]allowance{traces, recordings, wording, sending, {"views", "what it renders"}, {"static", "what it serves"}, {"web/flow", "the loops drawn"}}, pureOnes...),
		third: []allowance{
			{"github.com/go-chi/chi/v5", "the router"}, {"github.com/gorilla/websocket", "live updates"},
			{"golang.org/x/sync/semaphore", "drawings wait for each other"}, {"golang.org/x/time/rate", "subscriptions of a websocket"},
			prometheus, templ,
		},
	},
	{
		pkg: "cmd/internal/mutants", why: "it reads the source of packages and imports none of them",
		third: []allowance{{"golang.org/x/tools/go/packages", "packages with their types"}, {"sigs.k8s.io/yaml", "the list of survivors"}},
	},
	{
		pkg: "cmd/internal/app", why: "it wires everything, so that a program can embed it",
		ours: append([]allowance{
			traces, recordings, wording, masking, {"controllers", "the loops"}, {"telemetry/metrics", "it alone chooses the exporters"},
			{"telemetry/history", "it alone chooses the exporters"}, {"telemetry/otlp", "it alone chooses the exporters"},
			{"web", "the console"}, {"views", "what the console shows of the process"}, {"static", "its files"},
		}, pureOnes...),
		third: []allowance{
			{"k8s.io/client-go", "the cluster to run against"}, {"k8s.io/apimachinery", "the meta types"},
			{"k8s.io/api", "the types of the objects"}, {"k8s.io/utils/clock", "time is an argument"},
			{"k8s.io/klog/v2", "client-go's log goes where ours goes"}, {"github.com/go-logr/logr", "client-go's log goes where ours goes"},
			{"golang.org/x/sync", "parts that run and end together"}, prometheus,
		},
	},
	{
		pkg: "cmd/loopscope", why: "flags become options; the loops are reached through the app",
		ours: append([]allowance{
			traces, recordings, {"cmd/internal/app", "the program itself"}, {"cmd/internal/replay", "recorded syncs decided again"},
			{"web/flow", "the loops drawn"}, {"views", "the drawing"}, {"static", "its style"}, cleaning, masking, wording,
		}, pureOnes...),
		third: []allowance{
			{"github.com/spf13/cobra", "commands"}, {"github.com/spf13/pflag", "their flags"},
			{"k8s.io/cli-runtime", "the usual kubeconfig flags"},
			{"k8s.io/apimachinery/pkg/api/resource", "sizes as Kubernetes writes them"},
			{"k8s.io/client-go/rest", "the configuration that those flags give"},
			{"k8s.io/client-go/plugin/pkg/client/auth", "the usual logins"},
			{"k8s.io/klog/v2", "client-go's log goes where ours goes"},
			{"sigs.k8s.io/yaml", "output as YAML"},
		},
	},
}

// sandboxOurs is what the nested module may use of ours: it runs the app, and
// reads traces; everything that Kubernetes is made of stays on its side.
var sandboxOurs = []allowance{
	{"cmd/internal/app", "the app that it runs"}, traces, {"controllers", "the loops under test"}, vocabulary,
	{"controllers/deployment", "tests read recorded snapshots"}, {"controllers/replicaset", "tests read recorded snapshots"},
	{"controllers/sim", "tests hold its plans to what happens"}, agreeing,
}

// pureTestOurs is what tests of pure packages may use of ours, beside what the
// packages themselves may.
var pureTestOurs = []allowance{agreeing, wording, cleaning}

// pureTestThird is what tests of pure packages may use: no Kubernetes, so that
// they build and run in seconds.
var pureTestThird = []allowance{
	{"pgregory.net/rapid", "properties"}, {"github.com/google/go-cmp", "differences"},
	{"golang.org/x/tools/txtar", "goldens"},
}
