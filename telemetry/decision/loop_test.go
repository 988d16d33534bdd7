package decision

import (
	"slices"
	"strings"
	"testing"
)

var someLoops = Loops{{Name: "deployment", Kind: "Deployment", Aliases: []string{"deploy"}}, {Name: "replicaset", Kind: "ReplicaSet", Owner: "deployment"}, {Name: "job", Kind: "Job"}}

// What is asked of loops is found by their names; of one that nobody declared there is its name.
func TestLoops(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		has        bool
		owned      []string
	}{
		{"deployment", "Deployment", true, []string{"replicaset"}}, {"replicaset", "ReplicaSet", true, nil}, {"job", "Job", true, nil},
		{"widget", "widget", false, nil}, {"", "", false, nil},
	} {
		of := someLoops.Of(c.name)
		if of.Name != c.name || of.Kind != c.kind || someLoops.Kind(c.name) != c.kind || someLoops.Has(c.name) != c.has || !slices.Equal(someLoops.Owned(c.name), c.owned) {
			t.Errorf("%q: %+v, has %v, owned %q", c.name, *of, someLoops.Has(c.name), someLoops.Owned(c.name))
		}
	}
	if of := someLoops.Of("replicaset"); !of.HasList() || !of.ListsUnowned() || someLoops.Unowned("replicaset") != " without a Deployment" || someLoops.Unowned("deployment") != "" || someLoops.Of("job").HasList() {
		t.Error("the loop that is owned alone has a list, of those objects that are not")
	}
	if names := someLoops.Names(); !slices.Equal(names, []string{"deployment", "replicaset", "job"}) {
		t.Errorf("names %q", names)
	}
	if someLoops.Of("job") != &someLoops[2] {
		t.Error("a declared loop is copied")
	}
	for kind, want := range map[string]string{"Deploy": "deployment", "deployments": "deployment", "JOB": "job", "rs": "", "": "", "s": ""} {
		if got := someLoops.Named(kind); got != want {
			t.Errorf("%q is of loop %q, want %q", kind, got, want)
		}
	}
	if PathOf("job") != "/jobs" {
		t.Errorf("jobs are at %s", PathOf("job"))
	}
}

// TestIsLoopName: what stands in an address and a label is no word of another program's.
func TestIsLoopName(t *testing.T) {
	for name, want := range map[string]bool{
		"deployment": true, "a": true, "cron-job2": true, strings.Repeat("a", 63): true,
		"": false, strings.Repeat("a", 64): false, "2job": false, "-job": false, "Job": false, "a/b": false, "a b": false, "job\n": false, "jöb": false,
	} {
		if IsLoopName(name) != want {
			t.Errorf("%q is a name: %v", name, !want)
		}
	}
}

// TestHeadlineCompare: a bound that is broken is not shown as one that holds.
func TestHeadlineCompare(t *testing.T) {
	for _, c := range []struct {
		sign         string
		value, bound int64
		want         string
		broken       bool
	}{
		{"≤", 3, 4, "≤", false}, {"≤", 4, 4, "≤", false}, {"≤", 6, 4, ">", true},
		{"≥", 4, 3, "≥", false}, {"≥", 3, 3, "≥", false}, {"≥", 2, 3, "<", true}, {"", 6, 4, "", false},
	} {
		h := Headline{Sign: c.sign}
		if sign, broken := h.Compare(Count("", c.value).Value, Count("", c.bound).Value); sign != c.want || broken != c.broken {
			t.Errorf("%d %s %d is shown with %q, broken: %v", c.value, c.sign, c.bound, sign, broken)
		}
	}
	h := Headline{Sign: "≤"}
	if sign, broken := h.Compare(Text("", "b").Value, Text("", "a").Value); sign != "≤" || broken {
		t.Errorf("of texts it is %q, broken: %v", sign, broken)
	}
}
