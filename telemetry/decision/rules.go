package decision

import (
	"fmt"
	"regexp"
	"strings"
)

// Rule is one rule that the loops follow, as RULES.md has it.
type Rule struct {
	// Tag is what comments, tests, questions and pages call it ("RR-3").
	Tag string `json:"tag"`
	// Title says in a few words what it is about.
	Title string `json:"title"`
	// Text is the rule: one paragraph, with code between backticks.
	Text string `json:"text"`
}

// RuleGroup is rules whose tags begin with the same letters.
type RuleGroup struct {
	// Letters are those before the number of its tags ("RR").
	Letters string `json:"letters"`
	Title   string `json:"title"`
	Rules   []Rule `json:"rules"`
}

// RuleTag finds the tags of rules in a text.
var RuleTag = regexp.MustCompile(`\b[A-Z]{1,3}-\d{1,2}[a-z]?\b`)

// RuleAnchor is the anchor of a rule in RULES.md and on its page.
func RuleAnchor(tag string) string { return strings.ToLower(tag) }

// ParseRules reads RULES.md: groups under "## LETTERS: Title", in them rules under
// an anchor and "### TAG Title", each with one paragraph. The error says which
// line is wrong and what belongs there.
func ParseRules(text string) ([]RuleGroup, error) {
	var groups []RuleGroup
	seen := map[string]bool{}
	letters, anchor := "", ""
	for i, line := range strings.Split(text, "\n") {
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		if title, ok := strings.CutPrefix(line, "## "); ok {
			if letters, title, ok = strings.Cut(title, ": "); !ok {
				return nil, wrong(`the group %q needs its letters: "## RR: Rolling update"`, line)
			}
			groups = append(groups, RuleGroup{Letters: letters, Title: title})
			continue
		}
		if len(groups) == 0 {
			continue // What stands before the first group is for readers of the file.
		}
		group := &groups[len(groups)-1]
		switch head, isRule := strings.CutPrefix(line, "### "); {
		case isRule:
			tag, title, _ := strings.Cut(head, " ")
			switch {
			case RuleTag.FindString(tag) != tag || !strings.HasPrefix(tag, letters+"-"):
				return nil, wrong("%q is no tag of the group %s", tag, letters)
			case seen[tag]:
				return nil, wrong("%s is defined twice", tag)
			case title == "":
				return nil, wrong("%s has no title", tag)
			case anchor != RuleAnchor(tag):
				return nil, wrong(`%s needs <a id="%s"></a> above it, it has %q`, tag, RuleAnchor(tag), anchor)
			}
			seen[tag] = true
			group.Rules = append(group.Rules, Rule{Tag: tag, Title: title})
		case strings.HasPrefix(line, `<a id="`):
			anchor = strings.TrimSuffix(strings.TrimPrefix(line, `<a id="`), `"></a>`)
		case line == "":
		case len(group.Rules) == 0:
			return nil, wrong("%q belongs to no rule", line)
		default:
			rule := &group.Rules[len(group.Rules)-1]
			rule.Text = strings.TrimPrefix(rule.Text+" "+line, " ")
		}
	}
	for _, g := range groups {
		if len(g.Rules) == 0 {
			return nil, fmt.Errorf("the group %q has no rule", g.Title)
		}
		for _, r := range g.Rules {
			if r.Text == "" {
				return nil, fmt.Errorf("%s says nothing", r.Tag)
			}
		}
	}
	return groups, nil
}
