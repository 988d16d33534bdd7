package controllers

import (
	_ "embed"

	"github.com/loopscope/loopscope/telemetry/decision"
)

//go:embed RULES.md
var rulesText string

// Rules are the rules of RULES.md, in its order. The slices are the caller's.
func Rules() []decision.RuleGroup {
	groups, err := decision.ParseRules(rulesText)
	if err != nil {
		panic("RULES.md: " + err.Error()) // It is part of the binary, and a test parses it.
	}
	return groups
}
