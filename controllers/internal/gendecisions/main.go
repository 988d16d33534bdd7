// Command gendecisions writes DECISIONS.md from the catalogues of the loops. It
// may not know a question: it only puts together what the loops declare.
package main

import (
	"fmt"
	"os"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

//go:generate go run . ../../DECISIONS.md

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendecisions FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(text()), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "write decisions: %v\n", err)
		os.Exit(1)
	}
}

func text() string { return decision.Markdown(deployment.Catalogue, replicaset.Catalogue) }
