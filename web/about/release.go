package about

import (
	"maps"
	"slices"
	"strconv"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// rulesLine says which rules the loops follow beside the API server that there is.
func (s *Pages) rulesLine() views.Line {
	text, is := views.Say("those of Kubernetes "+decision.RulesRelease), s.Release()
	switch n := len(s.Earlier()); {
	case s.Opts.Recording != nil:
	case is.Version == "":
		text = text.Plain("; the API server has not told its version")
	case n > 0:
		text = text.Plain("; the API server is ").Code(is.Version).Plain(", a release that differs in " + prose.Count(n, "rule") + ": see below")
	case is.Minor > decision.LastRelease:
		text = text.Plain("; the API server is ").Code(is.Version).Plain(", a later release that these rules were not tried beside")
	default:
		text = text.Plain("; the API server is ").Code(is.Version)
	}
	return views.Line{Label: "rules", Text: text}
}

// featuresLine has the features that somebody switched; nil for none.
func (s *Pages) featuresLine() []views.Line {
	var text views.Text
	for _, name := range slices.Sorted(maps.Keys(s.Opts.Features)) {
		if len(text) > 0 {
			text = text.Plain(", ")
		}
		text = text.Code(name + "=" + strconv.FormatBool(s.Opts.Features[name]))
	}
	if len(text) == 0 {
		return nil
	}
	return []views.Line{{Label: "features", Text: text.Plain(", by ").Code("--feature-gates")}}
}

// aboutRelease is what the release of the API server does otherwise than the rules; nothing where it
// does not.
func (s *Pages) aboutRelease() views.AboutSection {
	is := s.Release()
	x := views.AboutSection{Title: "Rules in Kubernetes " + decision.ReleaseName(is.Minor), Note: "where they are not those of " + decision.RulesRelease}
	for _, r := range s.Earlier() {
		x.Lines = append(x.Lines, views.Line{Label: r.Tag, Text: s.earlierText(&r)})
	}
	return x
}

// earlierText is what a release does in the place of a rule, and what the loops do.
func (s *Pages) earlierText(r *decision.ReleaseRule) views.Text {
	text := views.Say("Before " + decision.ReleaseName(r.Since) + ": ").Join(ruleText(r.Before, nil))
	on, switched := s.Opts.Features[r.Feature]
	switch {
	case switched && on:
		return text.Plain(" Here the feature is switched on.")
	case switched:
		return text.Plain(" Here the feature is switched off.")
	case r.Followed:
		return text.Plain(" The loops do the same.")
	default:
		return text.Plain(" The loops follow the rule.")
	}
}

// releaseNote says on the page of the comparison which rules the other controller does not have.
func (s *Pages) releaseNote() []views.ShadowNote {
	is, list := s.Release(), s.Earlier()
	if len(list) == 0 {
		return nil
	}
	text := views.Say("The API server is ").Code(is.Version).Plain(", whose release differs from " + decision.RulesRelease + " in " + prose.Count(len(list), "rule") + ". ")
	follow := slices.DeleteFunc(slices.Clone(list), func(r decision.ReleaseRule) bool { return !r.Followed })
	if len(follow) > 0 {
		text = text.Plain("Decided here as in that release: ").Join(tags(follow)).Plain(". ")
	}
	text = text.Plain("Decided as in "+decision.RulesRelease+": ").Join(tags(slices.DeleteFunc(slices.Clone(list), func(r decision.ReleaseRule) bool { return r.Followed }))).
		Plain(". ").Link("About", "/about").Plain(" says what each is about. What is created is compared without the hash in its name. kube-controller-manager is taken to be of the same release, with the features that are on there by default: whoever switched one there switches it here, too, by ").Code("--feature-gates").Plain(".")
	return []views.ShadowNote{{Title: "Another release", Text: text}}
}

// tags are the tags of rules, each leading to its rule.
func tags(list []decision.ReleaseRule) (text views.Text) {
	for i, r := range list {
		if i > 0 {
			text = text.Plain(", ")
		}
		text = text.Link(r.Tag, "/rules#"+decision.RuleAnchor(r.Tag))
	}
	return text
}
