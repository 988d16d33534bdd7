// Command gendecisions writes DECISIONS.md and REASONS.md from the catalogues of
// the loops. It may not know a question or a code: it only puts together what is
// declared.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

//go:generate go run . ../..

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendecisions DIRECTORY")
		os.Exit(2)
	}
	for name, text := range files() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "write %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// files are the generated texts by the name of their file.
func files() map[string]string {
	loops := []decision.Catalogue{deployment.Catalogue, replicaset.Catalogue, rollingupdate.Catalogue}
	return map[string]string{"DECISIONS.md": decision.Markdown(loops...), "REASONS.md": decision.ReasonsMarkdown(loops, reasons()...)}
}

// reasons are the codes of everything.
func reasons() []decision.Reasons {
	all := slices.Concat(deployment.Reasons, replicaset.Reasons, rollingupdate.Reasons)
	return append(append(all, telemetry.WorkerReasons...), diagnosis.Codes, decision.UnblockReasons, decision.StateReasons, decision.ToneReasons)
}
