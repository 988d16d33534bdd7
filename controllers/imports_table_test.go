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
		{"controllers/rollout", "arithmetic of rollouts"},
		{"controllers/sim", "verdicts folded over a model cluster"},
		{"controllers/rollingupdate", "questions, sentences and snapshots of rolling updates"},
	}
	updates  = pureOnes[6]
	wording  = allowance{"telemetry/prose", "plurals, lists and clipping"}
	cleaning = allowance{"telemetry/safetext", "what no terminal may be told"}
	masking  = allowance{"telemetry/redact", "what no record may hold"}
	relating = allowance{"controllers/family", "what the objects of the loops are to each other"}
	acting   = []allowance{
		{"k8s.io/client-go", "informers and clients"}, {"k8s.io/apimachinery", "the meta types"}, {"k8s.io/api", "the types of the objects"},
	}
	driving    = allowance{"controllers/engine", "what is true of every loop"}
	describing = allowance{"telemetry/changes", "what became of an object, and who did it"}
	sending    = allowance{"telemetry/safebytes", "what no reader may be sent"}
	traces     = allowance{"telemetry", "traces and the journal"}
	queueing   = allowance{"telemetry/queue", "the queue that knows why a key is in it"}
	packing    = allowance{"telemetry/wire", "traces as bytes"}
	agreeing   = allowance{"controllers/agreement", "what is said of a sync, held against itself"}
	templ      = allowance{"github.com/a-h/templ", "the runtime of generated templates"}
	recordings = allowance{"telemetry/tracefile", "recordings"}
	shown      = allowance{"views", "what pages are made of"}
	factual    = allowance{"web/facts", "what traces say"}
	worded     = allowance{"web/words", "how it is said"}
	addressed  = allowance{"web/address", "where it has its page"}
	styled     = allowance{"static", "the files that a page asks for"}
	answered   = allowance{"web/answer", "what is sent, and problems"}
	slotted    = allowance{"web/slots", "the right to draw"}
	sighted    = allowance{"web/sight", "what a viewer may see"}
	sourced    = allowance{"web/source", "what is known now"}
	paged      = allowance{"web/page", "how pages are made"}
	timed      = allowance{"web/timeline", "what happened over time"}
	filtered   = allowance{"web/filter", "what a list is filtered by"}
	found      = allowance{"web/subject", "what a page is about"}
	toldSyncs  = allowance{"web/syncs", "one sync in full"}
	drawnLoops = allowance{"web/flow", "the loops drawn"}
	prometheus = allowance{"github.com/prometheus/client_golang", "metrics and their handler"}
)

// rules is the import table of the architecture.
var rules = []rule{
	{pkg: "telemetry/prose", pure: true, why: "it knows English and no loop", ours: []allowance{cleaning}},
	{pkg: "telemetry/decision", pure: true, why: "the vocabulary stands below everything but English", ours: []allowance{wording}},
	{pkg: "telemetry/decision/decisiontest", pure: true, why: "a loop is declared with the vocabulary alone", ours: []allowance{vocabulary}},
	{pkg: "controllers/diagnosis", pure: true, why: "words of the cluster in, causes out", ours: []allowance{vocabulary, wording}},
	{pkg: "telemetry/safetext", pure: true, why: "it knows characters alone"},
	{pkg: "telemetry/redact", pure: true, why: "it knows texts alone, and what hides in them", ours: []allowance{cleaning, wording}},
	{pkg: "controllers/agreement", pure: true, why: "it compares words, for tests alone", ours: []allowance{vocabulary, causesOf, wording}},
	{pkg: "controllers/rollout", pure: true, why: "arithmetic needs no vocabulary but its own", ours: []allowance{wording}},
	{pkg: "controllers/replicaset", pure: true, why: "it decides by its snapshot alone", ours: []allowance{vocabulary, causesOf, wording}},
	{
		pkg: "controllers/rollingupdate", pure: true, why: "it decides by its snapshot alone",
		ours: []allowance{vocabulary, causesOf, wording, {"controllers/rollout", "how many pods may come and go"}},
		third: []allowance{
			{"k8s.io/apimachinery/pkg/util/validation", "names and labels of a request"}, {"k8s.io/apimachinery/pkg/util/intstr", "numbers and percentages of a request"},
			{"k8s.io/api/core/v1", "pull policies of a request"},
		},
	},
	{
		pkg: "controllers/deployment", pure: true, why: "it decides by its snapshot alone",
		ours: []allowance{vocabulary, causesOf, wording, {"controllers/rollout", "how many pods may come and go"}},
	},
	{pkg: "controllers/sim", pure: true, why: "a model cluster is a value", ours: append([]allowance{pureOnes[6]}, pureOnes[:5]...)},
	{
		pkg: "controllers/engine", why: "what is true of every loop knows none of them",
		ours: []allowance{traces, vocabulary, queueing, describing, masking, causesOf},
		third: []allowance{
			{"k8s.io/client-go", "informers, clients and events"}, {"k8s.io/apimachinery", "the meta types"},
			{"k8s.io/api/core/v1", "events"}, {"k8s.io/api/events/v1", "events"}, {"k8s.io/api/rbac/v1", "rules of roles"}, {"k8s.io/utils/clock", "time is an argument"},
		},
	},
	{
		pkg: "controllers/family", why: "it reads objects of caches, and neither decides nor acts",
		ours: []allowance{driving, vocabulary, causesOf, masking, describing},
		third: []allowance{
			{"k8s.io/client-go/tools/cache", "indexes"}, {"k8s.io/apimachinery", "the meta types"}, {"k8s.io/api", "the types of the objects"},
		},
	},
	{
		pkg: "controllers/deployment/effects", why: "it acts for Deployments, and decides nothing",
		ours:  []allowance{driving, relating, traces, describing, masking, vocabulary, {"controllers/deployment", "what decides"}},
		third: append(acting, allowance{"k8s.io/utils/dump", "a template is hashed as Kubernetes dumps it, or ReplicaSets would change their names"}),
	},
	{
		pkg: "controllers/replicaset/effects", why: "it acts for what keeps pods, and decides nothing",
		ours:  []allowance{driving, relating, traces, describing, masking, vocabulary, {"controllers/replicaset", "what decides"}},
		third: acting,
	},
	{
		pkg: "controllers/rollingupdate/effects", why: "it acts for rolling updates, and decides nothing",
		ours:  []allowance{driving, relating, traces, describing, masking, vocabulary, {"controllers/rollingupdate", "what decides"}},
		third: acting,
	},
	{
		pkg: "controllers", why: "it lists the loops and has no code of any",
		ours: []allowance{driving, vocabulary, traces, {"controllers/deployment/effects", "a loop"}, {"controllers/replicaset/effects", "two loops"}, {"controllers/rollingupdate/effects", "a loop"}},
	},
	{
		pkg: "controllers/internal/lab", why: "tests of any loop are made in it, so it knows none", ours: []allowance{traces, vocabulary},
		third: []allowance{{"k8s.io/client-go", "the client that is tried"}, {"k8s.io/apimachinery", "the meta types"}, {"k8s.io/api", "the types of the objects"}, {"k8s.io/utils/clock/testing", "the clock that is set"}},
	},
	{pkg: "controllers/internal/gendecisions", why: "the catalogues are all that DECISIONS.md and REASONS.md are made from",
		ours: append([]allowance{traces, {"controllers/rollingupdate", "a catalogue"}}, pureOnes[:4]...)},
	{pkg: "telemetry", why: "traces are read by programs that know no Kubernetes", ours: []allowance{vocabulary, wording}},
	{
		pkg: "telemetry/queue", why: "any controller may use it, so it knows traces' causes and no loop", ours: []allowance{traces},
		third: []allowance{{"k8s.io/client-go/util/workqueue", "the queue inside"}, {"k8s.io/utils/clock", "time is an argument"}},
	},
	{
		pkg: "telemetry/instrument", why: "other people's controllers carry it, so it knows traces, client-go and no loop", ours: []allowance{traces, vocabulary, wording, queueing, describing, masking},
		third: []allowance{{"k8s.io/client-go", "queues and handlers of events"}, {"k8s.io/apimachinery", "the meta types"}, {"k8s.io/api/policy/v1", "evictions, which may be dry runs"}},
	},
	{
		pkg: "telemetry/changes", why: "any controller may use it, so it knows objects and no loop", ours: []allowance{traces, vocabulary, masking},
		third: []allowance{
			{"k8s.io/apimachinery", "objects of any kind"}, {"k8s.io/api/core/v1", "pod templates, which many kinds have"},
			{"k8s.io/client-go/tools/cache", "what an informer says of one that is gone"},
		},
	},
	{
		pkg: "telemetry/instrument/examples/fleet", why: "a controller of somebody else, with the console on its own mux",
		ours:  []allowance{traces, vocabulary, {"telemetry/instrument", "what it is about"}, {"web", "the console"}, {"telemetry/metrics", "its /metrics"}},
		third: []allowance{{"k8s.io/client-go", "what it is written with"}, {"k8s.io/api", "its objects"}, {"k8s.io/apimachinery", "their meta types"}, {"github.com/prometheus/client_golang/prometheus", "the registry of its metrics"}},
	},
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
	{pkg: "web/facts", why: "what a trace says is worked out of it alone", ours: []allowance{traces, vocabulary, pureOnes[2], pureOnes[3], updates}},
	{pkg: "web/words", why: "it words what is recorded, and looks nothing up", ours: []allowance{traces, vocabulary, wording, shown, factual}},
	{pkg: "web/address", why: "an address is made of names alone", ours: []allowance{traces, vocabulary, shown, worded}},
	{pkg: "web/timeline", why: "what happened over time is in traces and snapshots alone", ours: []allowance{traces, vocabulary, pureOnes[3], factual}},
	{pkg: "web/filter", why: "a filter is words, and a row what it asks of one", ours: []allowance{vocabulary, wording, shown}},
	{pkg: "web/plan", why: "a plan is folded from a snapshot, whoever asks", ours: append([]allowance{wording, shown, factual, worded}, pureOnes...),
		third: []allowance{{"k8s.io/apimachinery/pkg/util/intstr", "numbers and percentages of a request"}}},
	{pkg: "web/answer", why: "an answer is bytes, whatever it says", ours: []allowance{sending, shown}},
	{
		pkg: "web/slots", why: "who draws waits in turn, whatever is drawn", ours: []allowance{shown, answered},
		third: []allowance{{"golang.org/x/sync/semaphore", "drawings wait for each other"}},
	},
	{
		pkg: "web/browsertest", why: "a browser starts alike, whatever it is shown",
		third: []allowance{{"github.com/chromedp/chromedp", "it drives Chromium"}},
	},
	{
		pkg: "web/sight", why: "what may be seen is left of the record, and nothing is made of it here", ours: []allowance{traces, vocabulary},
		third: []allowance{{"golang.org/x/sync", "rights are asked for once, and many at a time"}},
	},
	{
		pkg: "web/source", why: "what is known is asked for, and nothing is made of it here",
		ours:  []allowance{traces, vocabulary, wording, pureOnes[5], shown, factual, worded, sighted},
		third: []allowance{prometheus},
	},
	{
		pkg: "web/page", why: "pages are made alike, whatever they show",
		ours:  []allowance{traces, vocabulary, wording, sending, shown, styled, addressed, answered, sourced, slotted, filtered},
		third: []allowance{{"github.com/go-chi/chi/v5", "the router says where an address leads"}, templ},
	},
	{pkg: "web/subject", why: "a subject is found, not drawn", ours: []allowance{traces, vocabulary, wording, shown, worded, addressed, answered, sourced, paged}},
	{
		pkg: "web/scope", why: "a picture is drawn of what is known, whoever shows it",
		ours: []allowance{traces, vocabulary, wording, pureOnes[2], pureOnes[3], updates, shown, factual, worded, timed, sourced, found},
	},
	{
		pkg: "web/syncs", why: "one sync is told alike, wherever it stands",
		ours: []allowance{traces, vocabulary, wording, pureOnes[3], updates, shown, drawnLoops, factual, worded, addressed, sourced},
	},
	{
		pkg: "web/object", why: "the page of an object knows no other page",
		ours: []allowance{
			traces, vocabulary, causesOf, wording, pureOnes[2], pureOnes[3], updates, shown, factual, worded, addressed, timed, sourced, paged, found, toldSyncs,
			{"web/scope", "its picture over time"},
		},
	},
	{
		pkg: "web/story", why: "what is over is told by pages of its own",
		ours: []allowance{traces, vocabulary, wording, shown, worded, addressed, answered, sourced, paged, found, toldSyncs},
	},
	{
		pkg: "web/whatif", why: "a plan is somebody's to ask for, and another package's to make",
		ours:  []allowance{vocabulary, pureOnes[5], wording, shown, factual, worded, addressed, answered, paged, found, {"web/plan", "what would happen"}},
		third: []allowance{{"golang.org/x/sync/semaphore", "plans wait for each other"}},
	},
	{
		pkg: "web/list", why: "a list knows no page of an object",
		ours:  []allowance{traces, vocabulary, wording, shown, factual, worded, addressed, answered, timed, sighted, sourced, paged, filtered},
		third: []allowance{templ},
	},
	{
		pkg: "web/about", why: "pages about the program know no page of an object",
		ours: []allowance{traces, vocabulary, causesOf, wording, shown, drawnLoops, worded, addressed, answered, paged},
	},
	{
		pkg: "web/live", why: "the stream carries pages and knows none",
		ours: []allowance{traces, shown, answered, sourced, slotted, paged},
		third: []allowance{
			{"github.com/gorilla/websocket", "live updates"}, {"golang.org/x/time/rate", "subscriptions of a websocket"},
		},
	},
	{pkg: "deploy", why: "dashboards and rules are files, and the package their test"},
	{
		pkg: "web", why: "pages read traces: a page that could reach a loop could stop one",
		ours: []allowance{
			traces, vocabulary, recordings, wording, masking, pureOnes[2], pureOnes[5], shown, styled,
			addressed, answered, filtered, slotted, sighted, sourced, paged, found, toldSyncs,
			{"web/about", "pages about the program"}, {"web/list", "lists"}, {"web/live", "the live stream"}, {"web/object", "pages of objects"},
			{"web/plan", "what would happen"}, {"web/story", "pages of what is over"}, {"web/whatif", "pages of plans"},
		},
		third: []allowance{{"github.com/go-chi/chi/v5", "the router"}, {"golang.org/x/sync/semaphore", "places for plans"}, {"k8s.io/utils/lru", "who has asked lately"}, prometheus},
	},
	{
		pkg: "cmd/internal/mutants", why: "it reads the source of packages and imports none of them",
		third: []allowance{{"golang.org/x/tools/go/packages", "packages with their types"}, {"sigs.k8s.io/yaml", "the list of survivors"}},
	},
	{
		pkg: "cmd/internal/leadership", why: "it says who acts, and not what acting is",
		ours: []allowance{traces, masking, vocabulary, wording},
		third: []allowance{
			{"k8s.io/client-go", "the election"}, {"k8s.io/apimachinery", "the meta types"}, {"k8s.io/api", "the events of a Lease"},
			{"k8s.io/klog/v2", "the election logs through it"}, {"github.com/go-logr/logr", "the election logs through it"},
		},
	},
	{
		pkg: "cmd/internal/packaging", why: "roles are written from what is declared where the requests are made",
		ours:  []allowance{{"controllers", "the rights of the loops"}, {"cmd/internal/leadership", "the rights on the Lease"}},
		third: []allowance{{"k8s.io/api/rbac/v1", "roles"}, {"k8s.io/apimachinery", "the meta types"}, {"sigs.k8s.io/yaml", "manifests"}},
	},
	{
		pkg: "cmd/internal/secure", why: "who may read is k8s.io/apiserver's to find out, whatever is served",
		ours: []allowance{sighted, vocabulary, {"web/slots", "shares of one and of all"}},
		third: []allowance{
			{"k8s.io/apimachinery/pkg/util/net", "the address of this machine"}, {"k8s.io/apimachinery/pkg/util/validation", "names of hosts"},
			{"k8s.io/apiserver", "serving, authentication and authorization, as every component has them"}, {"k8s.io/controller-manager", "the order of these in a controller manager"},
			{"k8s.io/component-base", "flags in sections"}, {"github.com/spf13/pflag", "flags"}, {"github.com/gorilla/websocket", "which requests stay open"},
		},
	},
	{
		pkg: "cmd/internal/standby", why: "it reads the leader's stream, whatever is done with it",
		ours: []allowance{traces, recordings, masking, wording, {"cmd/internal/leadership", "where the leader's console is"}},
		third: []allowance{
			{"k8s.io/client-go", "credentials, and websockets with them"}, {"k8s.io/apimachinery/pkg/util/wait", "jitter"}, {"github.com/gorilla/websocket", "the stream"},
		},
	},
	{
		pkg: "cmd/internal/app", why: "it wires everything, so that a program can embed it",
		ours: append([]allowance{
			traces, recordings, wording, masking, describing, driving, {"controllers", "the loops"}, {"cmd/internal/leadership", "who acts"}, {"cmd/internal/secure", "who else may read"}, {"cmd/internal/signin", "who on this machine may read"}, {"cmd/internal/standby", "the leader's syncs"}, {"telemetry/metrics", "it alone chooses the exporters"},
			{"telemetry/history", "it alone chooses the exporters"}, {"telemetry/otlp", "it alone chooses the exporters"},
			{"web", "the console"}, {"views", "what the console shows of the process"}, {"static", "its files"},
		}, pureOnes...),
		third: []allowance{
			{"k8s.io/apiserver/pkg/authentication/serviceaccount", "whose a token is"},
			{"k8s.io/client-go", "the cluster to run against"}, {"k8s.io/apimachinery", "the meta types"}, {"k8s.io/controller-manager", "tokens of controllers"},
			{"k8s.io/api", "the types of the objects"}, {"k8s.io/utils/clock", "time is an argument"},
			{"k8s.io/klog/v2", "client-go's log goes where ours goes"}, {"github.com/go-logr/logr", "client-go's log goes where ours goes"},
			{"golang.org/x/sync", "parts that run and end together"}, prometheus, {"github.com/prometheus/client_model/go", "metrics that are left out"},
			{"k8s.io/apiserver/pkg/server", "flagz and statusz, as every component has them"},
			{"k8s.io/component-base", "configz and metrics of health checks, as every component has them"},
		},
	},
	{
		pkg: "cmd/internal/create", why: "what kubectl is made of reads and sends objects; the loops say what they will do with them",
		ours: []allowance{traces, vocabulary, wording, masking, driving, {"controllers", "the loops"}, pureOnes[2], pureOnes[3],
			{"controllers/rollingupdate", "what a migration leaves"}, {"controllers/diagnosis", "why pods are refused"}, {"web/plan", "the planned sequence, as what-if has it"}, {"views", "a plan as it is shown"}},
		third: []allowance{
			{"k8s.io/component-helpers", "what a pod asks for in all"}, {"k8s.io/kubectl", "the parts of kubectl"}, {"k8s.io/cli-runtime", "objects of files, and how they are printed"}, {"github.com/spf13/cobra", "flags"},
			{"k8s.io/client-go", "the cluster"}, {"k8s.io/apimachinery", "the meta types"}, {"k8s.io/api", "the types of the objects"},
		},
	},
	{
		pkg: "cmd/internal/signin", why: "who is let in is told by a token, whatever is behind the door",
		ours: []allowance{{"views", "the page of who is not let in"}, {"web/answer", "errors as programs get them"}, {"static", "the style of that page"}},
	},
	{
		pkg: "cmd/internal/installed", why: "a console in the cluster is reached by what the API server forwards",
		ours: []allowance{wording, masking}, third: append([]allowance{{"k8s.io/streaming", "what ports are forwarded over"}}, acting...),
	},
	{
		pkg: "cmd/internal/preflight", why: "who undoes changes is read from objects alone",
		third: []allowance{{"k8s.io/apimachinery", "the meta types"}, {"k8s.io/api", "the types of the objects"}},
	},
	{
		pkg: "cmd/internal/migrate", why: "it decides on what is in the cluster, and writes as a user does",
		ours: []allowance{traces, vocabulary, wording, masking, {"controllers/deployment/effects", "the hash and the name that a Deployment gives its ReplicaSet"},
			{"cmd/internal/create", "what a loop will decide on an object"}, {"controllers/rollingupdate", "what an update leaves"}, {"cmd/internal/preflight", "who would undo it"}},
		third: acting,
	},
	{
		pkg: "cmd/internal/rolling", why: "an update is asked for and looked at; the loop carries it out",
		ours: []allowance{traces, vocabulary, wording, driving, updates, {"controllers/rollingupdate/effects", "what its loop would do now"},
			{"web/plan", "the planned sequence, as what-if has it"}, {"views", "a plan as it is shown"}, {"cmd/internal/preflight", "who would undo it"}, {"cmd/internal/migrate", "whose pods are a Deployment's already"}},
		third: []allowance{
			{"k8s.io/client-go", "the cluster"}, {"k8s.io/apimachinery", "the meta types"}, {"k8s.io/api", "the types of the objects"}, {"k8s.io/cli-runtime", "objects of files"},
		},
	},
	{
		pkg: "cmd/loopscope", why: "flags become options; the loops are reached through the app",
		ours: append([]allowance{
			traces, recordings, {"cmd/internal/app", "the program itself"}, {"cmd/internal/secure", "the flags of its port for others"}, {"cmd/internal/replay", "recorded syncs decided again"},
			{"cmd/internal/create", "objects of files"}, {"cmd/internal/rolling", "rolling updates"}, {"cmd/internal/migrate", "ReplicationControllers that become Deployments"},
			{"cmd/internal/installed", "a console that runs in the cluster"}, {"cmd/internal/signin", "the token of the console"},
			{"web/flow", "the loops drawn"}, {"views", "the drawing"}, {"static", "its style"}, filtered, factual, cleaning, masking, wording,
		}, pureOnes...),
		third: []allowance{
			{"github.com/spf13/cobra", "commands"}, {"github.com/spf13/pflag", "their flags"},
			{"github.com/cli/browser", "the user's browser"},
			{"golang.org/x/term", "whether somebody can be asked"},
			{"k8s.io/cli-runtime", "the usual kubeconfig flags and formats"}, {"k8s.io/kubectl/pkg/cmd/util", "clients by these flags"},
			{"k8s.io/apimachinery/pkg/api/resource", "sizes as Kubernetes writes them"},
			{"k8s.io/apimachinery/pkg/apis/meta/v1", "durations of its configuration, and objects of which the name is printed"},
			{"k8s.io/apimachinery/pkg/runtime", "what kubectl's printers print, and how objects are sent"},
			{"k8s.io/apimachinery/pkg/util/validation", "names of objects, and errors by field"},
			{"k8s.io/client-go/tools/leaderelection", "what its flags have to keep to"},
			{"k8s.io/component-base", "flags in sections and as wide as the terminal, and client-go's verbosity"},
			{"k8s.io/apiserver/pkg/server/flagz", "flags as every component shows them"},
			{"github.com/KimMachineGun/automemlimit/memlimit", "the memory limit of the container"},
			{"k8s.io/controller-manager", "the flags of any controller manager"},
			{"k8s.io/client-go/rest", "the configuration that those flags give"},
			{"k8s.io/client-go/plugin/pkg/client/auth", "the usual logins"},
			{"k8s.io/klog/v2", "client-go's log goes where ours goes"},
			{"sigs.k8s.io/yaml", "output as YAML"}, {"go.yaml.in/yaml/v3", "a configuration file with its lines"},
		},
	},
}

// sandboxOurs is what the nested module may use of ours: it runs the app, and
// reads traces; everything that Kubernetes is made of stays on its side.
var sandboxOurs = []allowance{
	{"cmd/internal/app", "the app that it runs"}, traces, {"controllers", "the loops under test"},
	{"controllers/deployment/effects", "loops run in the test"}, {"controllers/replicaset/effects", "loops run in the test"}, {"controllers/rollingupdate/effects", "loops run in the test"}, vocabulary, describing, driving,
	{"controllers/deployment", "tests read recorded snapshots"}, {"controllers/replicaset", "tests read recorded snapshots"}, {"controllers/rollingupdate", "requests and how they end"},
	{"controllers/sim", "tests hold its plans to what happens"}, agreeing, {"web/browsertest", "tests look at its pages"},
}

// pureTestOurs is what tests of pure packages may use of ours, beside what the
// packages themselves may.
var pureTestOurs = []allowance{agreeing, wording, cleaning, {"telemetry/decision/decisiontest", "what every sentence keeps"}}

// pureTestThird is what tests of pure packages may use: no Kubernetes, so that
// they build and run in seconds.
var pureTestThird = []allowance{
	{"pgregory.net/rapid", "properties"}, {"github.com/google/go-cmp", "differences"},
	{"golang.org/x/tools/txtar", "goldens"},
}
