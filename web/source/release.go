package source

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Release is that of the API server, not known in a recording.
func (s *Source) Release() telemetry.Release { return s.Opts.Server().Release }

// Earlier are the rules that the release of the API server does not have.
func (s *Source) Earlier() []decision.ReleaseRule {
	is := s.Release()
	if is.Version == "" {
		return nil
	}
	return decision.RulesSince(s.Opts.ReleaseRules, is.Minor)
}
