package deployment_test

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers/deployment"
)

// TestDecodeRefuses says for each kind of bad input what is wrong with it.
func TestDecodeRefuses(t *testing.T) {
	const now = `"now": "2026-11-21T03:13:00Z"`
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":          {``, "unexpected end of JSON input"},
		"no JSON":          {`apiVersion: apps/v1`, "invalid character 'a'"},
		"no version":       {`{` + now + `}`, `no version: a snapshot begins with "v": 1`},
		"newer":            {`{"v": 2, "future": 1}`, "version 2, and this program reads version 1: use the release that wrote it"},
		"unknown field":    {`{"v": 1, ` + now + `, "replicaSet": 1}`, `unknown field "replicaSet"`},
		"two":              {`{"v": 1, ` + now + `}{}`, "after top-level value"},
		"no instant":       {`{"v": 1}`, `no "now": give the instant of the decision`},
		"no name":          {`{"v": 1, ` + now + `, "found": true}`, "found, but without a name"},
		"negative":         {`{"v": 1, ` + now + `, "want": -1}`, "want -1: use 0 to 2147483647"},
		"large":            {`{"v": 1, ` + now + `, "want": 2147483648}`, "want 2147483648: use 0 to 2147483647"},
		"fraction":         {`{"v": 1, ` + now + `, "want": 1.5}`, "cannot unmarshal number 1.5"},
		"limit":            {`{"v": 1, ` + now + `, "revisionHistoryLimit": -4}`, "revisionHistoryLimit -4: use 0 to"},
		"status":           {`{"v": 1, ` + now + `, "status": {"ready": -4}}`, "a number of the status -4"},
		"far future":       {`{"v": 1, "now": "9999-01-01T00:00:00Z"}`, "now is in the year 9999: use one up to 9000"},
		"nameless set":     {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a"}]}`, `ReplicaSet "a" has no name or no uid`},
		"twice":            {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a", "uid": "1"}, {"name": "a", "uid": "2"}]}`, "ReplicaSet a (uid 2) appears twice"},
		"deep":             {`{"v": 1, "replicaSets": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, "nested deeper than 12"},
		"bracket in words": {`{"v": 1, "name": "` + strings.Repeat("[", 40) + `"}`, `no "now"`},
		"many sets":        {`{"v": 1, ` + now + `, "replicaSets": [` + strings.Repeat(`{},`, 2000) + `{}]}`, "2001 ReplicaSets are more than the 2000"},
		"many pods":        {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a", "uid": "1", "blocking": [` + strings.Repeat(`{"name":"p","created":"2026-11-21T03:13:00Z"},`, 50) + `{}]}]}`, "describes 51 pods"},
		"many disrupted":   {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a", "uid": "1", "disrupted": [` + strings.Repeat(`{"name":"p","created":"2026-11-21T03:13:00Z"},`, 20) + `{}]}]}`, "describes 21 disrupted pods"},
		"late disruption":  {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a", "uid": "1", "disrupted": [{"name":"p","created":"2026-11-21T03:13:00Z","at":"9999-01-01T00:00:00Z"}]}]}`, "pod p, disrupted is in the year 9999"},
		"huge":             {strings.Repeat(" ", deployment.MaxSnapshotBytes+1), "bytes are more than the 8388608 that are read"},
	} {
		s, err := deployment.Decode([]byte(tc.text))
		switch {
		case err == nil || s != nil:
			t.Errorf("%s: accepted as %+v", name, s)
		case !strings.HasPrefix(err.Error(), "decode snapshot: ") || !strings.Contains(err.Error(), tc.want):
			t.Errorf("%s: %q, want it to say %q", name, err, tc.want)
		}
	}
}
