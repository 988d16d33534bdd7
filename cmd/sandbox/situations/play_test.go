package situations_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopscope/loopscope/cmd/sandbox/parity"
	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const (
	// playLimit bounds a situation on a busy machine.
	playLimit = 4 * time.Minute
	// stableFor is how long a sentence stands before it is the situation's. A
	// loop that has something to add does so within a fraction of it.
	stableFor = 1500 * time.Millisecond
	// askedWithin is how long it takes to ask all places, on a busy machine: a sentence
	// that the clock changes before is not waited out by all of them.
	askedWithin = 10 * time.Second
	// tellLimit bounds the wait for that.
	tellLimit = time.Minute
)

// play makes a situation and compares what is said of it, before its progress
// deadline and, where one runs, after.
func (g *ground) play(t *testing.T, s situation) {
	ctx, cancel := context.WithTimeout(t.Context(), playLimit)
	defer cancel()
	steps, holds := s.steps(t, g.hook)
	stage, err := g.scripts.Enter(ctx, s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer g.putBack(t, stage, s)
	for _, step := range steps {
		if err := stage.Do(ctx, step); err != nil {
			t.Fatal(err)
		}
	}
	holding := func() error { return unmet(ctx, stage, holds) }
	told := []telling{g.told(t, s, "before", holding)}
	if deadline := deadlineOf(t, ctx, stage, s); deadline > 0 {
		g.pass(t, ctx, stage, deadline)
		told = append(told, g.told(t, s, "after", holding))
	}
	compare(t, s.name, told)
}

// putBack undoes what would disturb others, though the test has failed.
func (g *ground) putBack(t *testing.T, stage *parity.Stage, s situation) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, line := range s.finally {
		scenario, err := parity.Parse(s.name, s.resolve(line, g.hook))
		if err == nil {
			err = stage.Do(ctx, scenario.Steps[0])
		}
		if err != nil {
			t.Errorf("put back: %v", err)
		}
	}
}

func unmet(ctx context.Context, stage *parity.Stage, holds []parity.Step) error {
	for _, step := range holds {
		what, err := stage.Unmet(ctx, step)
		if err != nil {
			return err
		}
		if what != "" {
			return fmt.Errorf("%s: %s", step.Line, what)
		}
	}
	return nil
}

// deadlineOf is the shortest progress deadline that the API server takes for a
// Deployment whose deadline runs; 0 where none does.
func deadlineOf(t *testing.T, ctx context.Context, stage *parity.Stage, s situation) int64 {
	t.Helper()
	if s.lasting || s.object != "d/web" {
		return 0
	}
	d, err := stage.Object(ctx, s.object)
	if err != nil {
		t.Fatal(err)
	}
	switch status, reason := progressing(d); {
	case status == "False", reason == "NewReplicaSetAvailable", reason == "DeploymentPaused", reason == "":
		return 0
	}
	minReady, _, _ := unstructured.NestedInt64(d.Object, "spec", "minReadySeconds")
	return minReady + 1
}

func progressing(d *unstructured.Unstructured) (status, reason string) {
	list, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
	for _, each := range list {
		if c, ok := each.(map[string]any); ok && c["type"] == "Progressing" {
			status, _ = c["status"].(string)
			reason, _ = c["reason"].(string)
		}
	}
	return status, reason
}

// pass lets the deadline be over at once, instead of waiting for a long one.
func (g *ground) pass(t *testing.T, ctx context.Context, stage *parity.Stage, deadline int64) {
	t.Helper()
	scenario, err := parity.Parse("deadline", fmt.Sprintf("patch d/web deadline=%d\nwait d/web Progressing=False/ProgressDeadlineExceeded", deadline))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range scenario.Steps {
		if err := stage.Do(ctx, step); err != nil {
			t.Fatalf("its deadline never is over: %v", err)
		}
	}
}

// told waits until every place says the same for a while, and the situation
// holds all that time. Places that never agree are told apart.
func (g *ground) told(t *testing.T, s situation, when string, holding func() error) telling {
	t.Helper()
	subject := subjectOf(s)
	var last string
	var since time.Time
	testplane.Until(t, tellLimit, "a sentence of "+s.name+" that stands "+when+" the deadline", func() error {
		if err := holding(); err != nil {
			since = time.Time{}
			return err
		}
		now, err := g.twin(t, subject)
		if err != nil {
			return err
		}
		if text := plain(now.text, s.name); text != last || since.IsZero() {
			was := last
			last, since = text, time.Now()
			return fmt.Errorf("it says %q after %q", text, was)
		}
		if time.Since(since) < stableFor {
			return fmt.Errorf("it has said %q for %s", last, time.Since(since))
		}
		if left := time.Until(now.changesAt); !now.changesAt.IsZero() && left < askedWithin {
			return fmt.Errorf("it says %q, for %s more", last, left)
		}
		return nil
	})
	return g.everywhere(t, subject, when, last, holding)
}

// subject is whom the places are asked about.
type subject struct{ loop, namespace, name string }

func subjectOf(s situation) subject {
	kind, name, _ := strings.Cut(s.object, "/")
	loop := map[string]string{"d": "deployments", "rs": "replicasets", "rc": "replicationcontrollers"}[kind]
	return subject{loop, s.name, name}
}

func (x subject) path() string { return "/" + x.loop + "/" + x.namespace + "/" + x.name }
