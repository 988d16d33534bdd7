package testplane

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// comparisonOf reads what /shadow.json has.
func comparisonOf(t *testing.T, kinds string) *Comparison {
	t.Helper()
	c := &Comparison{}
	if err := json.Unmarshal([]byte(`{"headline":"Some differ.","compares":true,"kinds":[`+kinds+`],"numbers":[{"label":"left out","value":"0"}],"differences":[
{"reason":{"word":"unexplained"},"what":"size of a ReplicaSet","target":"web-1","namespace":"shop","name":"web","predicted":"2 → 3","observed":"2 → 4","known":"written on rv 7","href":"/syncs/1"},
{"reason":{"word":"another writer"},"what":"size of a ReplicaSet","target":"web-2"}]}`), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestShareIsHeld: 99.5 % have to agree, of a kind with enough of them, and no more may be unexplained.
func TestShareIsHeld(t *testing.T) {
	for _, x := range []struct{ name, kind, want string }{
		{"all agree", `"compared":1000,"agree":1000`, ""},
		{"as few as may be", `"compared":1000,"agree":995,"of":[{"word":"5 unexplained"}]`, ""},
		{"too few agree", `"compared":1000,"agree":994,"of":[{"word":"6 not written"}]`, "994 of 1000 agree"},
		{"too many are unexplained", `"compared":200000,"agree":199000,"of":[{"word":"1,001 unexplained"},{"word":"7 different on purpose"}]`, "1001 of 200000 are unexplained"},
		{"few are compared", `"compared":199,"agree":100,"of":[{"word":"99 not written"}]`, ""},
		{"one is always allowed", `"compared":10,"agree":9,"of":[{"word":"1 unexplained"}]`, ""},
		{"two of few", `"compared":10,"agree":8,"of":[{"word":"2 unexplained"}]`, "2 of 10 are unexplained"},
	} {
		c := comparisonOf(t, `{"loop":"deployment","aspect":"size","kind":"ReplicaSet",`+x.kind+`}`)
		if got := strings.Join(c.problems(), "; "); (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: found %q, want %q", x.name, got, x.want)
		}
	}
}

// TestLittleMayBeLeftOut: what was not compared cannot agree.
func TestLittleMayBeLeftOut(t *testing.T) {
	for leftOut, want := range map[string]string{
		`"left out","value":"0"`: "", `"left out","value":"50"`: "", `"left out","value":"1,051"`: "1051 were left out",
		`"not compared","value":"1,051"`: "does not say",
	} {
		c := comparisonOf(t, `{"loop":"deployment","aspect":"size","kind":"ReplicaSet","compared":1000,"agree":1000}`)
		if err := json.Unmarshal([]byte(`{"numbers":[{"label":"seen too late","value":"7,000"},{"label":`+leftOut+`}]}`), c); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.problems(), "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s left out: found %q, want %q", leftOut, got, want)
		}
	}
}

// TestComparisonIsATable: with a line for what tells of the other controller, and none for what does not.
func TestComparisonIsATable(t *testing.T) {
	text := comparisonOf(t, `{"loop":"deployment","aspect":"size","kind":"ReplicaSet","compared":400,"agree":399,"of":[{"word":"1 unexplained"}]}`).String()
	for _, want := range []string{"Some differ. 399 of 400 agree\n", "99.75 %", "unexplained, size of a ReplicaSet web-1, shop/web", "predicted 2 → 3, observed 2 → 4", "written on rv 7"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "web-2") {
		t.Errorf("what another program wrote is listed:\n%s", text)
	}
}

// TestWritesAreSeenInTheAuditLog: also those of its user under another name, and nobody else's.
func TestWritesAreSeenInTheAuditLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(`{"verb":"watch","requestURI":"/api/v1/pods","userAgent":"loopscope/v1","user":{"username":"loopscope"}}
{"verb":"create","requestURI":"/api/v1/pods","userAgent":"kubectl","user":{"username":"admin"}}
{"verb":"patch","requestURI":"/x","userAgent":"loopscope/v1","user":{"username":"admin"}}
{"verb":"create","requestURI":"/y","userAgent":"curl","user":{"username":"loopscope"}}
{"verb":"delete","requestURI":"/z","userAgent":"loop`), 0o600); err != nil {
		t.Fatal(err)
	}
	verbs, wrote := requestsOf(t, path)
	if verbs["watch"] != 1 || !slices.Equal(wrote, []string{"patch /x", "create /y"}) {
		t.Errorf("found %v, of which write %v", verbs, wrote)
	}
}
