package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const (
	// processes share the specs of a run among them. Specs mostly wait.
	processes = 4
	// runLimit bounds one run of one side; then the suite interrupts its specs.
	runLimit = 10 * time.Minute
	// interruptLimit bounds the suite's end after that, which deletes namespaces.
	interruptLimit = time.Minute
)

// programs are the suite and ginkgo's own command, which deals its specs out to
// several processes and puts their reports together.
type programs struct{ suite, ginkgo string }

// buildPrograms links both into a directory of the test's own, with the flags
// of the sandbox, so that they share what is compiled of Kubernetes.
func buildPrograms(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	p := programs{suite: filepath.Join(dir, "e2e.test"), ginkgo: filepath.Join(dir, "ginkgo")}
	began := time.Now()
	build(t, "build", "-trimpath", "-ldflags=-s -w", "-o", p.ginkgo, "github.com/onsi/ginkgo/v2/ginkgo")
	build(t, "test", "-c", "-trimpath", "-ldflags=-s -w", "-o", p.suite, "k8s.io/kubernetes/test/e2e")
	t.Logf("built the suite in %s", time.Since(began).Round(time.Second))
	return p
}

func build(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v: %s", args[0], err, out)
	}
}

// run is the suite's verdicts on one plane. It fails the test if there are none.
func (p programs) run(t *testing.T, plane *testplane.Plane, s selection) verdicts {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), p.ginkgo,
		"--procs="+strconv.Itoa(processes), "--timeout="+runLimit.String(), "--grace-period="+interruptLimit.String(), "--no-color",
		"--focus="+s.focus, "--skip="+s.skip, "--output-dir="+dir, "--json-report=report.json",
		p.suite, "--", "--kubeconfig="+plane.Kubeconfig, "--provider=skeleton")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // it takes its processes along
	cmd.WaitDelay = 2 * interruptLimit
	output, failure := cmd.CombinedOutput() // a failed spec is a failure of the command, too
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatalf("the suite left no report: %v: %s", failure, output[max(0, len(output)-5000):])
	}
	result, err := read(text)
	if err != nil {
		t.Fatalf("read the suite's report: %v", err)
	}
	return result
}

// read takes the verdicts from a report of ginkgo's. A spec that was left out
// or has skipped itself has none. An error is, too, what failed around the specs.
func read(report []byte) (verdicts, error) {
	var suites []types.Report
	if err := json.NewDecoder(bytes.NewReader(report)).Decode(&suites); err != nil {
		return nil, err
	}
	all := verdicts{}
	for _, suite := range suites {
		for _, r := range suite.SpecReports {
			switch {
			case r.LeafNodeType == types.NodeTypeIt && r.State.Is(types.SpecStatePassed|types.SpecStateFailureStates):
				all[r.FullText()] = verdict{passed: !r.Failed(), took: r.RunTime, reason: r.FailureMessage(), output: r.CapturedGinkgoWriterOutput}
			case r.LeafNodeType != types.NodeTypeIt && r.Failed():
				return nil, fmt.Errorf("%s %s: %s", r.LeafNodeType, r.LeafNodeText, r.FailureMessage())
			}
		}
	}
	return all, nil
}
