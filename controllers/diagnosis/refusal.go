package diagnosis

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Refusal is what the API server answered when pods were to be created.
type Refusal struct {
	Namespace string
	// Message is the API server's, and Count how many pods could not be created.
	Message string
	Count   int64
	Since   time.Time
	// Template is how another template reaches them.
	Template Template
	// Leaving are the owner's pods that go, which a quota counts until they are gone, and Alike those of them that
	// request at least as much as the refused ones do.
	Leaving, Alike Leaving
}

// refusals each try to take the message apart; the first that recognizes it is used.
var refusals = []func(*refusal) bool{
	(*refusal).namespace, (*refusal).webhookDenied, (*refusal).webhookDown, (*refusal).policy,
	(*refusal).quotaFull, (*refusal).quotaAsks, (*refusal).podSecurity,
	(*refusal).serviceAccount, (*refusal).priorityClass, (*refusal).limitRange, (*refusal).forbidden, (*refusal).invalid,
}

// refusal is a message and the finding that is made of it.
type refusal struct {
	Refusal
	text string // the message without the pod's name in front
	can  string // what it could not: "be created"
	decision.Finding
}

// byName are the refusals that name who refuses.
var byName = []func(*refusal) bool{(*refusal).webhookDenied, (*refusal).webhookDown, (*refusal).policy, (*refusal).quotaFull, (*refusal).quotaAsks,
	(*refusal).mayNot}

// ByName tells who refused any object, where the API server's message has a name for that: the words before and
// after what was refused, as a thing that could not "be created", or a write that could not "proceed". The name
// stays whole, however little room there is.
func ByName(message, can string) (before, after decision.Words, ok bool) {
	f := &refusal{text: message, can: can}
	for _, knows := range byName {
		if knows(f) {
			return f.Before, f.After, true
		}
	}
	return nil, nil, false
}

// RefusedBy tells of a refused write, by whom where the message has a name for that: "quota rsq refuses ReplicaSet
// web-2 (count/replicasets.apps: 3 of 3 used)".
func RefusedBy(what decision.Words, message, can string) decision.Words {
	before, after, named := ByName(message, can)
	if !named {
		return what.Say(" was refused (").Quote(message).Say(")")
	}
	return slices.Concat(before, what, after)
}

// RefusedWrite is RefusedBy of an object that was to be created, or of another write of it.
func RefusedWrite(target decision.Ref, creates bool, message string) decision.Words {
	what, can := words("the write of "+target.Kind+" "), "proceed"
	if creates {
		what, can = words(target.Kind+" "), "be created"
	}
	return RefusedBy(what.Name(target.Name), message, can)
}

// MayNot is who lacks which permission, where that is why a write was refused: "alice has no permission to create
// replicasets here".
func MayNot(message string) (who decision.Words, ok bool) {
	m := lacks.FindStringSubmatch(message)
	if m == nil || strings.Contains(message, " denied ") { // Then a webhook or a policy says it.
		return nil, false
	}
	return decision.Words{}.Name(m[1]).Say(" has no permission to " + m[2] + " " + m[3] + " here"), true
}

// lacks is what the API server says of a permission that is missing: who, the verb and the resource.
var lacks = regexp.MustCompile(`User "([^"]+)" cannot ([a-z]+) resource "([a-z0-9./-]+)" in API group "`)

// UnlessGranted says before then that a permission has to be granted, where that is what a refusal asks for.
func UnlessGranted(message string, then decision.Words) decision.Words {
	if _, lacking := MayNot(message); !lacking {
		return then
	}
	return append(words("Needs action: unblocks when it is granted that permission. "), then...)
}

// OfRefusal tells from the API server's message who refuses pods, and what would
// end it.
func OfRefusal(r Refusal) decision.Finding {
	f := &refusal{Refusal: r, text: withoutPod(r.Message), can: "be created"}
	f.Finding = decision.Finding{Count: r.Count, Since: r.Since, Message: r.Message, NeedsAction: true}
	for _, knows := range refusals {
		if knows(f) {
			return f.Finding
		}
	}
	f.is(Refused, words("the API server refuses "), quote(prose.ClipMiddle(f.text, longest)), f.when(or, clause("it allows them"), theTemplate("changes")), "")
	return f.Finding
}

// withoutPod leaves out `pods "web-1" is forbidden: `, which says what everybody knows.
func withoutPod(message string) string {
	text := strings.TrimSpace(message)
	for _, kind := range []string{`pods "`, `Pod "`, `pods `} {
		if rest, ok := strings.CutPrefix(text, kind); ok {
			if _, why, found := strings.Cut(rest, "is forbidden: "); found {
				return strings.TrimSpace(why)
			}
		}
	}
	return text
}

// when says in which ways it ends. What is refused does not exist, so that nobody has to delete it.
func (f *refusal) when(or string, ways ...way) decision.Words {
	return f.Template.when(0, or, ways...)
}

// is fills in the finding.
func (f *refusal) is(code string, before, after, unblocks decision.Words, show string) bool {
	f.Code, f.Before, f.After, f.Unblocks, f.Show = code, before, after, unblocks, show
	return true
}

func (f *refusal) namespace() bool {
	if !strings.Contains(f.text, "because it is being terminated") {
		return false
	}
	f.NeedsAction = false
	return f.is(Namespace, nil, words(" cannot be created: the namespace is being deleted"), words("when the namespace is gone and recreated"), "")
}

// webhookDenied is `admission webhook "NAME" denied the request: WHY`.
func (f *refusal) webhookDenied() bool {
	name, ok := between(f.text, `admission webhook "`, `" denied the request`)
	if !ok {
		return false
	}
	_, why, _ := strings.Cut(f.text, `" denied the request`)
	if why = strings.Trim(why, ": "); why == "without explanation" || why == "" {
		why = "without a reason"
	}
	return f.is(Webhook, words("webhook ").Name(name).Say(" denies "), quote(prose.ClipMiddle(why, longest)),
		f.when(or, clause("the webhook allows them"), theTemplate("changes")), kubectl("", "get validatingwebhookconfigurations,mutatingwebhookconfigurations"))
}

// webhookDown is `failed calling webhook "NAME": ... : WHY`.
func (f *refusal) webhookDown() bool {
	name, ok := between(f.text, `failed calling webhook "`, `"`)
	if !ok {
		return false
	}
	_, why, _ := strings.Cut(f.text, `failed calling webhook "`+name+`": `)
	why = prose.LastClause(why)
	says, ends := " cannot be called, and has to be before ", "when that call succeeds or the webhook's failurePolicy changes"
	if containsAny(strings.ToLower(why), silences) {
		says, ends = " does not answer, and has to before ", "when the webhook answers or its failurePolicy changes"
	}
	return f.is(Webhook, words("webhook ").Name(name).Say(says), after(" can "+f.can, prose.ClipMiddle(why, 80)),
		words(ends), kubectl("", "get validatingwebhookconfigurations,mutatingwebhookconfigurations"))
}

// silences are parts of messages of webhooks that gave no answer at all.
var silences = []string{"connection refused", "connection reset", "no endpoints available", "no such host", "no route to host", "timeout", "timed out", "deadline exceeded", "eof"}

// policy is `ValidatingAdmissionPolicy 'NAME' with binding 'B' denied request: WHY`.
func (f *refusal) policy() bool {
	name, ok := between(f.text, "ValidatingAdmissionPolicy '", "'")
	if !ok {
		return false
	}
	_, why, _ := strings.Cut(f.text, " denied request: ")
	return f.is(Policy, words("policy ").Name(name).Say(" denies "), quote(prose.ClipMiddle(why, longest)),
		f.when(or, way{words("the template"), "changes"}, clause("the policy changes")), kubectl("", "describe validatingadmissionpolicy "+name))
}

// quotaFull is `exceeded quota: NAME, requested: a=1,b=2, used: ..., limited: ...`.
func (f *refusal) quotaFull() bool {
	name, ok := between(f.text, "exceeded quota: ", ", requested: ")
	if !ok {
		return false
	}
	requested, _ := between(f.text, ", requested: ", ", used: ")
	used, _ := between(f.text, ", used: ", ", limited: ")
	_, limited, _ := strings.Cut(f.text, ", limited: ")
	unblocks := f.quotaUnblocks(requested, used, limited)
	if f.leaveRoom(requested, used, limited) {
		f.NeedsAction, unblocks = false, whenGone(f.Leaving.Now).Say(" or the quota leaves room")
	}
	return f.is(Quota, words("quota ").Name(name).Say(" refuses "), words(" (").Told(usage(requested, used, limited)).Say(")"),
		unblocks, kubectl(f.Namespace, "describe quota "+name))
}

// leaveRoom reports whether a quota has room for the refused pods when those that leave are gone.
func (f *refusal) leaveRoom(requested, used, limited string) bool {
	asks, have := amounts(requested), amounts(used)
	for resource, limit := range amounts(limited) {
		one, isOne := quantity(asks[resource])
		now, isNow := quantity(have[resource])
		most, isMost := quantity(limit)
		leaving := f.Alike
		if ofPods(resource) {
			leaving = f.Leaving
		}
		fits := func(pods, gone int64) bool { return now+float64(pods-gone)*one <= most }
		if !isOne || !isNow || !isMost || one > most || !leaving.room(f.Refusal.Count, fits) {
			return false
		}
	}
	return f.Leaving.Now > 0
}

// ofPods reports whether every pod is one of that resource.
func ofPods(resource string) bool { return resource == "pods" || resource == "count/pods" }

// quotaUnblocks is what ends it. Where more is requested than the quota has, or while nothing is used, an empty
// quota would not have room either.
func (f *refusal) quotaUnblocks(requested, used, limited string) decision.Words {
	asks, have := amounts(requested), amounts(used)
	unblocks := words("when the quota leaves room")
	for resource, most := range amounts(limited) {
		switch {
		case have[resource] != "0" && !Exceeds(asks[resource], most):
		case ofPods(resource): // No template requests less than one.
			return words("when the quota is raised")
		default:
			unblocks = f.when(or, clause("the quota is raised"), theTemplate("requests less"))
		}
	}
	return unblocks
}

// scales are the suffixes of quantities.
var scales = map[string]float64{"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60}

// Exceeds compares two quantities; false where one of them is none.
func Exceeds(amount, most string) bool {
	a, aOK := quantity(amount)
	b, bOK := quantity(most)
	return aOK && bOK && a > b
}

// quantity is close enough for a sentence. (The library's type would bring Kubernetes into a package that only
// knows its words.)
func quantity(text string) (value float64, ok bool) {
	number := strings.TrimRight(text, "numkMGTPEi")
	scale, known := scales[text[len(number):]]
	value, err := strconv.ParseFloat(number, 64)
	return value * scale, known && err == nil
}

// usage is "pods: 3 of 3 used" or "requests.cpu: 1800m of 2 used, 500m requested", for
// each resource that the quota names.
func usage(requested, used, limited string) string {
	asks, have := amounts(requested), amounts(used)
	var said []string
	for _, limit := range strings.Split(limited, ",") {
		resource, most, ok := strings.Cut(strings.TrimSpace(limit), "=")
		if !ok {
			continue
		}
		text := resource + ": " + have[resource] + " of " + most + " used"
		if asks[resource] != "1" && asks[resource] != "" {
			text += ", " + asks[resource] + " requested"
		}
		said = append(said, text)
	}
	return prose.ClipMiddle(strings.Join(said, "; "), longest)
}

func amounts(list string) map[string]string {
	m := map[string]string{}
	for _, item := range strings.Split(list, ",") {
		if resource, amount, ok := strings.Cut(strings.TrimSpace(item), "="); ok {
			m[resource] = amount
		}
	}
	return m
}

// quotaAsks is `failed quota: NAME: must specify limits.cpu for: app; ...`.
func (f *refusal) quotaAsks() bool {
	name, ok := between(f.text, "failed quota: ", ": must specify ")
	if !ok {
		return false
	}
	_, what, _ := strings.Cut(f.text, ": must specify ")
	return f.is(Quota, words("quota ").Name(name).Say(" refuses "), words(" (").Told("must specify "+prose.ClipMiddle(what, longest)).Say(")"),
		f.when(or, theTemplate("specifies them"), clause("a LimitRange sets defaults")), kubectl(f.Namespace, "describe quota "+name))
}

// inBrackets is what Pod Security adds to each field: how to set it.
var inBrackets = regexp.MustCompile(` \([^()]*(\([^()]*\)[^()]*)*\)`)

// unset leaves out of each field what it should be.
var unset = strings.NewReplacer(" != true", "", " != false", "")

// podSecurity is `violates PodSecurity "restricted:latest": a != b (container ...), ...`.
func (f *refusal) podSecurity() bool {
	level, ok := between(f.text, `violates PodSecurity "`, `"`)
	if !ok {
		return false
	}
	_, fields, _ := strings.Cut(f.text, `": `)
	return f.is(PodSecurity, words("Pod Security ").Quote(level).Say(" refuses "), quote(prose.ClipMiddle(unset.Replace(inBrackets.ReplaceAllString(fields, "")), longest)),
		f.when(commaOr, theTemplate("sets what is named"), clause("the level of the namespace changes")), kubectl("", "describe namespace "+f.Namespace))
}

// serviceAccount is `error looking up service account NS/NAME: serviceaccount "NAME" not found`.
func (f *refusal) serviceAccount() bool {
	name, ok := between(f.text, "error looking up service account ", ": ")
	if !ok {
		return false
	}
	_, name, _ = strings.Cut(name, "/")
	if !strings.Contains(f.text, "not found") {
		return f.is(ServiceAccount, nil, words(" cannot be created: ServiceAccount ").Name(name).Say(" cannot be read (").Quote(prose.ClipMiddle(prose.LastClause(f.text), 80)).Say(")"),
			words("when it can be read"), kubectl(f.Namespace, "get serviceaccount "+name))
	}
	return f.is(ServiceAccount, nil, words(" cannot be created: ServiceAccount ").Name(name).Say(" does not exist"),
		f.when(or, clause("that ServiceAccount exists"), theTemplate("changes")), kubectl(f.Namespace, "get serviceaccount "+name))
}

// priorityClass is `no PriorityClass with name NAME was found`.
func (f *refusal) priorityClass() bool {
	name, ok := between(f.text, "no PriorityClass with name ", " was found")
	if !ok {
		return false
	}
	return f.is(PriorityClass, nil, words(" cannot be created: PriorityClass ").Name(name).Say(" does not exist"),
		f.when(or, clause("that PriorityClass exists"), theTemplate("changes")), kubectl("", "get priorityclass "+name))
}

// limitWords begin what a LimitRange says.
var limitWords = regexp.MustCompile(`^\[?(maximum|minimum) \S+ usage per |^\[?\S+ max limit to request ratio per `)

func (f *refusal) limitRange() bool {
	if !limitWords.MatchString(f.text) {
		return false
	}
	return f.is(LimitRange, words("a LimitRange refuses "), quote(prose.ClipMiddle(strings.Trim(f.text, "[]"), longest)),
		f.when(or, way{words("the template"), "changes"}, clause("the LimitRange changes")), kubectl(f.Namespace, "describe limitrange"))
}

// forbidden is `User "X" cannot create resource "pods" in API group "" in the namespace "Y"`.
func (f *refusal) forbidden() bool {
	user, ok := between(f.text, `User "`, `" cannot create resource "pods"`)
	if !ok {
		return false
	}
	return f.is(Forbidden, nil, words(" cannot be created: ").Name(user).Say(" has no permission to create pods here"),
		words("when it is granted that permission"), kubectl(f.Namespace, "auth can-i create pods --as "+user))
}

// mayNot is a permission that any write lacks.
func (f *refusal) mayNot() bool {
	who, ok := MayNot(f.text)
	return ok && f.is(Forbidden, nil, append(words(" cannot "+f.can+": "), who...), words("when it is granted that permission"), "")
}

// invalid is `Pod "NAME" is invalid: spec.containers[0].image: Required value`.
func (f *refusal) invalid() bool {
	_, why, ok := strings.Cut(f.text, `" is invalid: `)
	if !ok {
		return false
	}
	return f.is(Invalid, words("the API server finds "), after(" invalid", prose.ClipMiddle(why, longest)), f.when(or, theTemplate("changes")), "")
}

func kubectl(namespace, command string) string {
	if namespace == "" {
		return "kubectl " + command
	}
	return "kubectl -n " + namespace + " " + command
}

func words(text string) decision.Words { return decision.Words{}.Say(text) }

// quote is words of others behind ours.
func quote(text string) decision.Words { return after("", text) }

func after(ours, theirs string) decision.Words {
	if theirs == "" {
		return words(ours)
	}
	return words(ours + " (").Quote(theirs).Say(")")
}
