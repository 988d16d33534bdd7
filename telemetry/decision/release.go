package decision

import "strconv"

// FirstRelease and LastRelease are the minor releases of Kubernetes 1 between which the loops were
// tried. The rules are those of the last one.
const (
	FirstRelease = 30
	LastRelease  = 36
)

// RulesRelease is the release whose rules these are.
var RulesRelease = ReleaseName(LastRelease)

// ReleaseRule is a rule, or a part of one, that Kubernetes has had since a minor release.
type ReleaseRule struct {
	// Since is that minor release, 35.
	Since int
	// Tag is the rule's, "ST-5".
	Tag string
	// Before is what the releases before it do, as a sentence. What stands between backticks is code.
	Before string
	// Followed is whether the loops do the same where the API server is of such a release. Where they
	// do not, they follow the rule.
	Followed bool
	// Feature is the one that the rule goes with; "" for none.
	Feature string
}

// ReleaseName is a minor release as Kubernetes writes it.
func ReleaseName(minor int) string { return "v1." + strconv.Itoa(minor) }

// RulesSince are those of a list that are later than a minor release.
func RulesSince(list []ReleaseRule, minor int) (later []ReleaseRule) {
	for _, r := range list {
		if r.Since > minor {
			later = append(later, r)
		}
	}
	return later
}
