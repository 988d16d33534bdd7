package conformance

import (
	"strings"
	"testing"
)

// TestJudge plants what a round must be failed for.
func TestJudge(t *testing.T) {
	both, two := []side{ours, upstream}, selection{specs: 2, enough: 1}
	pass, fail := verdict{passed: true}, verdict{reason: "no pod"}
	for _, c := range []struct {
		name           string
		mine, upstream verdicts
		sides          []side
		want           string // in the only complaint; none if empty
	}{
		{"all pass", verdicts{"a": pass, "b": pass}, verdicts{"a": pass, "b": pass}, both, ""},
		{"both fail the same", verdicts{"a": pass, "b": fail}, verdicts{"a": pass, "b": fail}, both, ""},
		{"upstream alone fails", verdicts{"a": pass, "b": pass}, verdicts{"a": pass, "b": fail}, both, ""},
		{"ours alone fails", verdicts{"a": pass, "b": fail}, verdicts{"a": pass, "b": pass}, both, "b: passes with upstream's loops"},
		{"too few ran with ours", verdicts{"a": pass}, verdicts{"a": pass, "b": fail}, both, "ours: 1 specs ran, want 2"},
		{"too few ran with upstream's", verdicts{"a": pass, "b": fail}, verdicts{"a": pass}, both, "upstream: 1 specs ran"},
		{"too few pass", verdicts{"a": fail, "b": fail}, verdicts{"a": fail, "b": fail}, both, "ours: 0 specs passed, want at least 1"},
		{"other specs", verdicts{"a": pass, "c": pass}, verdicts{"a": pass, "b": pass}, both, "b: passes with upstream's loops"},
		{"ours by itself", verdicts{"a": pass, "b": fail}, nil, both[:1], ""},
		{"upstream by itself", nil, verdicts{"a": fail, "b": fail}, both[1:], ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			wrong := round{ours: c.mine, upstream: c.upstream}.judge(two, c.sides)
			if c.want == "" && len(wrong) > 0 || c.want != "" && (len(wrong) != 1 || !strings.Contains(wrong[0], c.want)) {
				t.Errorf("complaints %q, want %q", wrong, c.want)
			}
		})
	}
}

// TestRead sees that a spec counts as run only when it has, and that what fails
// around the specs is told.
func TestRead(t *testing.T) {
	const it = `{"LeafNodeType": "It", "ContainerHierarchyTexts": ["[sig-apps] Deployment"], `
	got, err := read([]byte(`[{"SpecReports": [
		` + it + `"LeafNodeText": "rolls", "State": "passed", "RunTime": 2000000000},
		` + it + `"LeafNodeText": "scales", "State": "timedout", "Failure": {"Message": "no pod"}},
		` + it + `"LeafNodeText": "balances", "State": "skipped"},
		` + it + `"LeafNodeText": "waits", "State": "pending"},
		{"LeafNodeType": "SynchronizedBeforeSuite", "State": "passed"}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := "[sig-apps] Deployment rolls   passed 2 s\n[sig-apps] Deployment scales  FAILED 0 s\n"
	if table := (round{ours: got}).table([]side{ours}); len(got) != 2 || !strings.Contains(table, want) || !strings.Contains(table, "1 of 2") {
		t.Errorf("%d verdicts, want 2, and in the table\n%s:\n%s", len(got), want, table)
	}
	_, err = read([]byte(`[{"SpecReports": [{"LeafNodeType": "BeforeSuite", "State": "failed", "Failure": {"Message": "no node"}}]}]`))
	if err == nil || !strings.Contains(err.Error(), "no node") {
		t.Errorf("error %v, want the failed set-up", err)
	}
}
