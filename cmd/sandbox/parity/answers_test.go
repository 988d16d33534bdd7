package parity

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// catalogues are all questions, with the directory of their goldens.
var catalogues = map[string]decision.Catalogue{
	"deployment": deployment.Catalogue, "replicaset": replicaset.Catalogue,
}

// neverGiven are answers that are declared so that a page can draw the way not
// taken, and why nobody ever sees them.
var neverGiven = map[string]string{
	"deployment RR-1.namespace no":  "asked only where creating has found the namespace ending",
	"deployment RR-3b 0":            "where no old pod is unhealthy, those that may go are those above the floor",
	"replicaset RS-6.parent yes":    "asked only where a live read has found the owner gone or ending",
	"replicaset RS-8.namespace yes": "asked only where creating has found the namespace ending",
}

// answers counts who has seen an answer: the scenarios of this run, by the
// traces of our loops, and the goldens. What a trace says is held against itself.
type answers struct {
	mu       sync.Mutex
	played   map[string]int
	last     uint64 // the sync that was read last; only follow and read use it
	missed   uint64
	goldens  map[string]int
	accounts accounts
}

// followAnswers reads our loops' traces until the test ends. A trace that was
// missed can only lower a count.
func followAnswers(t *testing.T, dashboard string) *answers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a := &answers{played: map[string]int{}, goldens: goldenAnswers(t)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := a.follow(ctx, "ws"+strings.TrimPrefix(dashboard, "http")+"/live"); err != nil && ctx.Err() == nil {
			t.Errorf("follow the traces: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return a
}

// follow connects again, behind the last trace that it has read, where the server has hung up on a
// reader that was too slow for it.
func (a *answers) follow(ctx context.Context, address string) error {
	dialer := websocket.Dialer{Subprotocols: []string{"loopscope.trace.v1+json"}, HandshakeTimeout: time.Minute}
	for {
		conn, _, err := dialer.DialContext(ctx, address+"?after="+strconv.FormatUint(a.last, 10), nil)
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		for a.read(conn) {
		}
		stop()
		_ = conn.Close()
	}
}

func (a *answers) read(conn *websocket.Conn) bool {
	var message struct {
		Trace *telemetry.Trace
		Gap   *struct{ Missed uint64 }
	}
	if err := conn.ReadJSON(&message); err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if message.Gap != nil {
		a.missed += message.Gap.Missed
		a.accounts.miss(message.Gap.Missed)
	}
	if message.Trace != nil {
		a.last = message.Trace.Seq
		a.accounts.add(message.Trace)
		for _, step := range stepsOf(message.Trace) {
			a.played[answerKey(message.Trace.Loop, step.Question, step.Answer)]++
		}
	}
	return true
}

func stepsOf(trace *telemetry.Trace) []decision.Step {
	var steps []decision.Step
	for _, round := range trace.Rounds {
		steps = append(steps, round.Verdict.Path...)
	}
	if trace.Report != nil {
		steps = append(steps, trace.Report.Path...)
	}
	return steps
}

// answerKey is "loop question answer" with the answer as it is declared. The
// ReplicationController's loop asks the ReplicaSet's questions.
func answerKey(loop, question, answer string) string {
	if loop != "deployment" {
		loop = "replicaset"
	}
	q, _ := catalogues[loop].Find(question)
	declared, _ := q.Answer(answer)
	return loop + " " + question + " " + declared.Is
}

// goldenAnswers counts the goldens in which each answer is given: paths and
// reports have a question a line.
func goldenAnswers(t *testing.T) map[string]int {
	t.Helper()
	given := map[string]int{}
	for loop, catalogue := range catalogues {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "controllers", loop, "testdata", "golden", "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatalf("found %d goldens of %s: %v", len(files), loop, err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range archive.Files {
				if part.Name == "path" || part.Name == "report" {
					countLines(given, loop, catalogue, string(part.Data))
				}
			}
		}
	}
	return given
}

func countLines(given map[string]int, loop string, catalogue decision.Catalogue, text string) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		if _, asked := catalogue.Find(words[0]); asked {
			given[answerKey(loop, words[0], words[1])]++
		}
	}
}

// table prints where each answer was seen, and fails the test for one that was
// seen nowhere and has no reason.
func (a *answers) table(t *testing.T) string {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	var text strings.Builder
	fmt.Fprintf(&text, "answers seen (%d traces were missed)\n%-36s %9s %8s\n", a.missed, "loop, question, answer", "scenarios", "goldens")
	for _, key := range declaredAnswers() {
		fmt.Fprintf(&text, "%-36s %9d %8d  %s\n", key, a.played[key], a.goldens[key], neverGiven[key])
		if seen := a.played[key]+a.goldens[key] > 0; seen == (neverGiven[key] != "") {
			t.Errorf("%s: seen = %v, reason never to be seen: %q", key, seen, neverGiven[key])
		}
	}
	return text.String()
}

func declaredAnswers() []string {
	var keys []string
	for loop, catalogue := range catalogues {
		for _, q := range catalogue.Questions {
			for _, answer := range q.Answers {
				keys = append(keys, loop+" "+q.ID+" "+answer.Is)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// TestEveryAnswerIsSeen holds without a control plane: the goldens alone have
// every answer that can be given.
func TestEveryAnswerIsSeen(t *testing.T) {
	seen := &answers{played: map[string]int{}, goldens: goldenAnswers(t)}
	t.Log(seen.table(t))
}
