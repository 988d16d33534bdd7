package decision

import (
	"strings"
	"testing"
)

// A snapshot of the version that is read passes, and of any other one it is said why it does not.
func TestCheckVersion(t *testing.T) {
	for text, want := range map[string]string{
		`{"v": 2, "later": 1}`: "", `{"v": 1}`: "version 1", `{"v": 3}`: "version 3", `{}`: "no version", `{"v": "2"}`: "cannot unmarshal", `{"v": 2} more`: "after top-level value", ``: "unexpected end",
	} {
		err := CheckVersion([]byte(text), 2)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
