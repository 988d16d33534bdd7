package decision

import "testing"

func TestRulesSince(t *testing.T) {
	list := []ReleaseRule{{Since: 36, Tag: "A-1"}, {Since: 35, Tag: "A-2"}, {Since: 32, Tag: "A-3"}}
	for minor, want := range map[int]int{30: 3, 32: 2, 34: 2, 35: 1, 36: 0, 37: 0} {
		if got := RulesSince(list, minor); len(got) != want {
			t.Errorf("%s lacks %d rules, want %d", ReleaseName(minor), len(got), want)
		}
	}
}
