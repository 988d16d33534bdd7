package views

import "time"

// Object is what the pages of all objects share: what is
// now, what the loop last refused, and one of its syncs in full.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Head      Head   `json:"head"`
	Held      []Held `json:"held"`
	// Findings is what keeps its pods, the most fundamental first.
	Findings        []Finding `json:"findings,omitempty"`
	FindingsHeading string    `json:"-"`
	// Evidence is the newest warnings of these pods; nil where there is nothing to read.
	Evidence *Evidence `json:"evidence,omitempty"`
	Scope    *Scope    `json:"scope,omitempty"`
	// Sync is the one under the cursor: the newest unless the address names one.
	Sync  Sync      `json:"sync"`
	Step  Stepper   `json:"-"`
	Syncs []SyncRow `json:"syncs"`
	// SyncsNote says how much of the past the list covers.
	SyncsNote  string `json:"syncsNote,omitempty"`
	SyncsTitle string `json:"-"`
	// SyncsAll leads to the page with every kept sync; nil where all are listed.
	SyncsAll *Link `json:"syncsAll,omitempty"`
	Shows    Shows `json:"kubernetes"`
	// Plain objects have nothing that is not in their syncs: no status, no sizes.
	Plain bool `json:"-"`
	// Forecast is the pods that would go next; nil for what has no pods of its own.
	Forecast *Forecast `json:"forecast,omitempty"`
	// Came is how the sync under the cursor came about, across the loops.
	CauseChain CauseChain `json:"came"`
}

// Head is the sentence and the numbers in it.
type Head struct {
	// Sentence is the whole of it in plain words, as of the time of the answer.
	Sentence string `json:"sentence"`
	Code     string `json:"code,omitempty"`
	State    Mark   `json:"outcome"`
	Owner    string `json:"-"`
	Own      string `json:"-"`
	Verb     string `json:"-"`
	// Past is the verb for a page that is no longer live.
	Past      string     `json:"-"`
	Lead      Text       `json:"-"`
	Then      Text       `json:"-"`
	ChangesAt *time.Time `json:"turns,omitempty"`
	Numbers   []Number   `json:"numbers"`
	// Gone is set where its newest sync found it gone.
	Gone bool `json:"gone,omitempty"`
	// Processing is since when a sync has been under way that takes long: everything else is from before
	// it. nil where there is none.
	Processing *time.Time `json:"processing,omitempty"`
	// Estimate is when the rollout may complete; nil where none is under way.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Part is what is being done with the object from elsewhere; nil for nothing.
	Part Text `json:"part,omitempty"`
	// Last is the newest sync in one line.
	Last Text `json:"last,omitempty"`
	// AsOf is set while the API server cannot serve.
	AsOf *AsOf `json:"asOf,omitempty"`
}

// AsOf says as of when something is known that is older than the page.
type AsOf struct {
	At   time.Time `json:"at"`
	Text Text      `json:"text"`
}

// Estimate is a range with its basis, or why there is none.
type Estimate struct {
	Code  string     `json:"code"`
	Text  Text       `json:"text"`
	From  *time.Time `json:"from,omitempty"`
	To    *time.Time `json:"to,omitempty"`
	Pods  int64      `json:"pods,omitempty"`
	Steps int64      `json:"steps,omitempty"`
}

// Number is a key number with its bound beside it.
type Number struct {
	Label string `json:"label"`
	Value Text   `json:"value"`
	Note  Text   `json:"note,omitempty"`
	Tone  Tone   `json:"tone,omitempty"`
}

// Held is a write that was refused.
type Held struct {
	Question string    `json:"question"`
	Href     string    `json:"href,omitempty"`   // where the question is explained
	Reason   string    `json:"reason,omitempty"` // where the code is
	Code     string    `json:"code"`
	What     Text      `json:"write"`
	Equation string    `json:"equation,omitempty"`
	Unblocks Text      `json:"unblocks,omitempty"`
	When     Unblock   `json:"when"`
	Blockers []Blocker `json:"blockers,omitempty"`
	More     string    `json:"more,omitempty"`
}

// Unblock is what releases a held write, for whatever reads the twin of a page.
type Unblock struct {
	Event  string     `json:"event"`
	Of     string     `json:"of,omitempty"`
	Needed int64      `json:"needed,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// Blocker is an object that stands in the way.
type Blocker struct {
	Kind  string `json:"kind"`
	Owner string `json:"owner"`
	Own   string `json:"own"`
	Why   Text   `json:"why"`
}

// Stepper is where the cursor stands among the kept syncs.
type Stepper struct {
	Seq                     uint64
	At                      time.Time
	First, Prev, Next, Last *Link
	// Newer is the count of newer syncs behind a pinned cursor.
	Newer  int
	Pinned bool
	// Earlier says that the cursor is on a sync of an earlier run.
	Earlier   bool
	Result    Mark
	Took      string
	Permalink string
	// Gap says what is not kept before the oldest sync.
	Gap string
	// Said is the sentence of a sync that is not the newest, as it read when it ended.
	Said string
}

// Sync is one sync in full.
type Sync struct {
	Seq    uint64    `json:"seq"`
	Epoch  string    `json:"epoch"`
	Loop   string    `json:"loop"`
	At     time.Time `json:"at"`
	Result Mark      `json:"result"`
	Took   string    `json:"took"`
	Rounds []Round   `json:"rounds"`
	Report []Node    `json:"report,omitempty"`
	Why    Why       `json:"why"`
	Wrote  Wrote     `json:"wrote"`
	Next   []Look    `json:"next"`
	// NextNote is why nothing can be said of timers.
	NextNote string `json:"nextNote,omitempty"`
	Failure  Text   `json:"failure,omitempty"`
}

// Round is one pass of deciding and acting.
type Round struct {
	Number int    `json:"round"`
	Learnt Text   `json:"learnt,omitempty"`
	Path   []Node `json:"path"`
}

// NodeState is how a question stands on the path.
type NodeState string

// The states of a question.
const (
	Passed    NodeState = "pass" // answered in the ordinary way
	Taken     NodeState = "on"   // decided something
	Stopped   NodeState = "stop" // held a write back
	NotAsked  NodeState = "off"
	NotNeeded NodeState = "fold" // a branch that was not entered
)

// Node is one question of the path.
type Node struct {
	State   NodeState `json:"-"`
	StateIs string    `json:"state"`
	ID      string    `json:"id,omitempty"`
	Href    string    `json:"href,omitempty"` // where it is explained
	// Rule is the rule that the question belongs to.
	Rule     Link   `json:"rule,omitzero"`
	Question string `json:"question,omitempty"`
	Answer   string `json:"answer,omitempty"`
	Facts    []Fact `json:"facts,omitempty"`
	// Exits are the ways out that were not taken.
	Exits    []string  `json:"exits,omitempty"`
	Equation *Equation `json:"equation,omitempty"`
	// Title and Fold are set for NotNeeded.
	Title string `json:"title,omitempty"`
	Fold  []Link `json:"fold,omitempty"`
}

// Fact is a value that an answer rests on.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Equation is a subtraction to check.
type Equation struct {
	Terms  []Term `json:"terms"`
	Result Term   `json:"result"`
	Stops  bool   `json:"-"`
}

// Term is one number and where it came from.
type Term struct {
	Label  string `json:"label"`
	Value  string `json:"value"`
	Origin string `json:"origin,omitempty"`
}

// Why is every cause of a sync.
type Why struct {
	Note   string  `json:"note"`
	Causes []Cause `json:"causes"`
	More   Text    `json:"more,omitempty"`
}

// Cause is one reason for a sync.
type Cause struct {
	Kind   string    `json:"kind"`
	Object string    `json:"object,omitempty"`
	At     time.Time `json:"at"`
	RV     string    `json:"rv,omitempty"`
	Fields []string  `json:"fields,omitempty"`
	By     Text      `json:"by,omitempty"`
}

// Wrote is what a sync wrote.
type Wrote struct {
	Title  string  `json:"title"`
	Note   string  `json:"note"`
	Writes []Write `json:"writes"`
	// Last is the newest write before this sync, where this one wrote nothing.
	Last Text `json:"last,omitempty"`
	// LastSize is the newest size that was written before, where this one wrote none.
	LastSize Text `json:"lastSize,omitempty"`
}

// Write is one write and what became of it.
type Write struct {
	What      Text     `json:"write"`
	Changes   []string `json:"changes,omitempty"`
	DecidedOn string   `json:"decidedOn,omitempty"`
	Result    Mark     `json:"result"`
	RV        string   `json:"rv,omitempty"`
	Took      string   `json:"took,omitempty"`
	Detail    Text     `json:"detail,omitempty"`
	Names     []string `json:"names,omitempty"`
	Victims   []Victim `json:"victims,omitempty"`
	// Back is the syncs that its event caused.
	Back Text `json:"cameBackAs,omitempty"`
}

// Victim is a pod chosen for deletion and why it came before others.
type Victim struct {
	Rank  string `json:"rank"`
	Owner string `json:"owner"`
	Own   string `json:"own"`
	// Why is what puts it before the next one; empty where that was not computed.
	Why     Text   `json:"why,omitempty"`
	Because string `json:"because,omitempty"`
	Facts   []Fact `json:"facts"`
}

// Forecast is the order in which pods would be deleted if the size became smaller.
type Forecast struct {
	// Note says as of when, or why there is nothing to rank.
	Note string   `json:"note"`
	Pods []Victim `json:"pods"`
	More int      `json:"more,omitempty"`
}

// CauseChain is the nearest steps of the chain that led to a sync, oldest first.
type CauseChain struct {
	Steps []CauseStep `json:"steps"`
	// Earlier is how many steps more the chain has, which Href leads to.
	Earlier int    `json:"earlier,omitempty"`
	Href    string `json:"href,omitempty"`
}

// CauseStep is a sync, or an event that none of the loops made.
type CauseStep struct {
	At    time.Time `json:"at"`
	Wrote bool      `json:"wrote,omitempty"`
	This  bool      `json:"this,omitempty"`
	Text  Text      `json:"text"`
	RV    string    `json:"rv,omitempty"`
}

// Look is a moment at which the loop looks again.
type Look struct {
	At       time.Time `json:"at"`
	Why      Text      `json:"why"`
	Question string    `json:"question,omitempty"`
	// Leftover is set for a timer of an earlier sync that the newest would not set again.
	Leftover bool `json:"leftover,omitempty"`
}

// Shows is the status that Kubernetes shows.
type Shows struct {
	Note  string `json:"note,omitempty"`
	Lines []Line `json:"lines"`
}

// Line is a label and what stands beside it.
type Line struct {
	Label string `json:"label"`
	Text  Text   `json:"text"`
}

// SyncRow is a line in the list of syncs, a burst of them. A row with Quiet set
// stands for that many syncs that changed nothing.
type SyncRow struct {
	At     time.Time `json:"at"`
	Seqs   string    `json:"seqs"`
	Href   string    `json:"href"`
	Why    string    `json:"why"`
	Causes int       `json:"causes"`
	Did    Mark      `json:"did"`
	Detail string    `json:"detail,omitempty"`
	Took   string    `json:"took"`
	Cursor bool      `json:"-"`
	Quiet  int       `json:"quiet,omitempty"`
	// Plans is set where one would have written where nobody acts; Detail is what.
	Plans bool `json:"-"`
	// Syncs is how many there are, Sizes and Statuses how many wrote one.
	Syncs    int `json:"syncs"`
	Sizes    int `json:"sizes,omitempty"`
	Statuses int `json:"statuses,omitempty"`
}
