package decision_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/telemetry/decision"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func TestFactJSON(t *testing.T) {
	for _, tt := range []struct {
		fact decision.Fact
		json string
		text string
	}{
		{decision.Count("want", 10), `{"name":"want","value":10}`, "10"},
		{decision.Count("max", math.MaxInt64), `{"name":"max","value":9223372036854775807}`, "9223372036854775807"},
		{decision.Count("min", math.MinInt64), `{"name":"min","value":-9223372036854775808}`, "-9223372036854775808"},
		{decision.Text("node", "node-1"), `{"name":"node","value":"node-1"}`, "node-1"},
		{decision.Text("true", "true"), `{"name":"true","value":"true"}`, "true"},
		{decision.Text("", ""), `{"name":"","value":""}`, ""},
		{decision.Fact{}, `{"name":"","value":""}`, ""},
		{decision.Bool("ready", true), `{"name":"ready","value":true}`, "yes"},
		{decision.Bool("ready", false), `{"name":"ready","value":false}`, "no"},
		{decision.Duration("age", 288*time.Second), `{"name":"age","kind":"duration","value":288000000000}`, "4m 48s"},
		{decision.Instant("since", noon), `{"name":"since","kind":"instant","value":"2026-03-14T12:00:00Z"}`, "12:00:00"},
		{decision.Instant("since", time.Time{}), `{"name":"since","kind":"instant","value":"0001-01-01T00:00:00Z"}`, "00:00:00"},
	} {
		data, err := json.Marshal(tt.fact)
		if err != nil || string(data) != tt.json {
			t.Errorf("Marshal(%+v) = %s, %v, want %s", tt.fact, data, err, tt.json)
		}
		if got := tt.fact.Value.String(); got != tt.text {
			t.Errorf("%s prints %q, want %q", tt.json, got, tt.text)
		}
		var back decision.Fact
		if err := json.Unmarshal([]byte(tt.json), &back); err != nil || back.Name != tt.fact.Name || !back.Value.Equal(tt.fact.Value) {
			t.Errorf("Unmarshal(%s) = %+v, %v, want %+v", tt.json, back, err, tt.fact)
		}
	}
}

func TestFactJSONRefuses(t *testing.T) {
	for _, tt := range []struct{ json, want string }{
		{`7`, "fact: "},
		{`{"name":"a"}`, `fact "a": no value`},
		{`{"name":"a","value":1.5}`, `fact "a": `},
		{`{"name":"a","value":[1]}`, `fact "a": `},
		{`{"name":"a","value":{}}`, `fact "a": `},
		{`{"name":"a","value":9223372036854775808}`, `fact "a": `},
		{`{"name":"a","value":null}`, `fact "a": null is no value`},
		{`{"name":"a","kind":"duration"}`, `fact "a": no value`},
		{`{"name":"a","kind":"duration","value":"4m"}`, `fact "a": `},
		{`{"name":"a","kind":"duration","value":null}`, `fact "a": null is no value`},
		{`{"name":"a","kind":"instant","value":7}`, `fact "a": `},
		{`{"name":"a","kind":"instant","value":"noon"}`, `fact "a": `},
		{`{"name":"a","kind":"mood","value":"calm"}`, `fact "a": unknown kind "mood"`},
	} {
		f := decision.Count("kept", 1)
		err := json.Unmarshal([]byte(tt.json), &f)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("Unmarshal(%s) = %+v, %v, want an error that begins with %q", tt.json, f, err, tt.want)
		}
		if f.Name != "kept" {
			t.Errorf("Unmarshal(%s) changed the fact to %+v although it failed", tt.json, f)
		}
	}
}

// genFact draws a fact of any kind.
func genFact(t *rapid.T) decision.Fact {
	name := rapid.String().Draw(t, "name")
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return decision.Count(name, rapid.Int64().Draw(t, "count"))
	case 1:
		return decision.Text(name, rapid.String().Draw(t, "text"))
	case 2:
		return decision.Bool(name, rapid.Bool().Draw(t, "truth"))
	case 3:
		return decision.Duration(name, time.Duration(rapid.Int64().Draw(t, "duration")))
	default:
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds"))
		return decision.Instant(name, at.In(time.FixedZone("somewhere", rapid.IntRange(-12, 12).Draw(t, "zone")*3600)))
	}
}

func TestFactRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fact := genFact(t)
		data, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		var back decision.Fact
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if back.Name != fact.Name || !back.Value.Equal(fact.Value) || back.Value.String() != fact.Value.String() {
			t.Fatalf("%s came back as %+v, was %+v", data, back, fact)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(data) {
			t.Fatalf("marshals to %s, then to %s (%v)", data, again, err)
		}
	})
}

// TestValueEqual compares every kind of value with every other one.
func TestValueEqual(t *testing.T) {
	facts := []decision.Fact{
		decision.Count("", 1), decision.Count("", 2), decision.Text("", "1"), decision.Text("", ""), decision.Bool("", true),
		decision.Bool("", false), decision.Count("", 0), decision.Duration("", 1), decision.Duration("", 0),
		decision.Instant("", noon), decision.Instant("", time.Time{}),
	}
	for i, a := range facts {
		for j, b := range facts {
			if got := a.Value.Equal(b.Value); got != (i == j) {
				t.Errorf("%+v equal to %+v = %v", a.Value, b.Value, got)
			}
		}
	}
	elsewhere := decision.Instant("", noon.In(time.FixedZone("", 3600)))
	if !elsewhere.Value.Equal(decision.Instant("", noon).Value) {
		t.Error("one instant in two zones is not equal")
	}
}

func TestValueKinds(t *testing.T) {
	for _, tt := range []struct {
		fact                     decision.Fact
		count, duration, instant bool
	}{
		{decision.Count("", 3), true, false, false},
		{decision.Duration("", 3), false, true, false},
		{decision.Instant("", noon), false, false, true},
		{decision.Bool("", true), false, false, false},
		{decision.Text("", "3"), false, false, false},
	} {
		n, count := tt.fact.Value.Int()
		d, duration := tt.fact.Value.Duration()
		at, instant := tt.fact.Value.Time()
		if count != tt.count || duration != tt.duration || instant != tt.instant {
			t.Errorf("%+v is a count %v, a duration %v, an instant %v", tt.fact, count, duration, instant)
		}
		if count && n != 3 || duration && d != 3 || instant && !at.Equal(noon) {
			t.Errorf("%+v gives %d, %d, %v", tt.fact, n, d, at)
		}
	}
}

// FuzzFactUnmarshal proves that what is accepted is written back so that it
// reads the same, and that nothing else is accepted silently.
func FuzzFactUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`{"name":"want","value":10}`, `{"name":"node","value":"node-1"}`, `{"name":"ready","value":true}`,
		`{"name":"age","kind":"duration","value":288000000000}`, `{"name":"since","kind":"instant","value":"2026-03-14T12:00:00Z"}`,
		`{"name":"a","value":null}`, `{"name":"a","kind":"duration","value":null}`, `{"name":"a","kind":"mood","value":1}`, `{`, `7`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fact decision.Fact
		if json.Unmarshal(data, &fact) != nil {
			return
		}
		first, err := json.Marshal(fact)
		if err != nil {
			t.Fatalf("accepted %q but cannot write it: %v", data, err)
		}
		var back decision.Fact
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatalf("wrote %s and cannot read it: %v", first, err)
		}
		if back.Name != fact.Name || !back.Value.Equal(fact.Value) {
			t.Fatalf("%q reads as %+v, and %s as %+v", data, fact, first, back)
		}
	})
}

// TestFactThatCannotBeWritten: JSON has no instant after the year 9999.
func TestFactThatCannotBeWritten(t *testing.T) {
	data, err := decision.Instant("since", noon.AddDate(8000, 0, 0)).MarshalJSON()
	if err == nil || !strings.HasPrefix(err.Error(), "fact since: ") || data != nil {
		t.Errorf("%s, %v", data, err)
	}
}

// TestFactEscapes: texts are written as encoding/json writes them, byte for byte.
func TestFactEscapes(t *testing.T) {
	for c := range 256 {
		one := string([]byte{byte(c)})
		for _, text := range []string{one, "a" + one + "b"} {
			want, _ := json.Marshal(text)
			if data, err := decision.Text("a", text).MarshalJSON(); err != nil || string(data) != `{"name":"a","value":`+string(want)+`}` {
				t.Errorf("%q is written as %s, %v", text, data, err)
			}
		}
	}
}

// Facts are bytes and back, and no other bytes are a fact.
func TestFactsAsBytes(t *testing.T) {
	for _, f := range []decision.Fact{
		decision.Text("", ""), decision.Text("a", "b\x00\xff"), decision.Count("ready", 0), decision.Count("", math.MinInt64), decision.Count("", math.MaxInt64), decision.Bool("a", true), decision.Bool("a", false),
		decision.Duration("a", -time.Hour), decision.Instant("", time.Time{}), decision.Instant("a", time.Unix(7, 999_999_999)), decision.Instant("a", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)),
	} {
		data, err := f.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got := decision.Count("before", 5)
		if err := got.UnmarshalBinary(data); err != nil || got != f {
			t.Errorf("%v is read as %v, %v", f, got, err)
		}
		if _, is := f.Value.Int(); !is {
			continue
		}
		for n := range data {
			if err := got.UnmarshalBinary(data[:n]); err == nil {
				t.Errorf("%d bytes of %q are a fact", n, data)
			}
		}
		if err := got.UnmarshalBinary(append(data, 0)); err == nil || got != f {
			t.Errorf("%q and a byte are %v, %v", data, got, err)
		}
	}
	for _, data := range []string{
		"", "\x00", "\x00\x00", "\x00\x00\x00", "\x01a", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a\x00\x00\x00", "\x00\x05\x00\x00", "\x00\x00\x02\x00", "\x00\x01\x02\x00a", "\x00\x01\x02\x01",
		"\x00\x02\x04\x00", "\x00\x02\x01\x00", "\x00\x04\x00\x80\x94\xeb\xdc\x03", "\x00\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",
	} {
		f := decision.Count("before", 5)
		if err := f.UnmarshalBinary([]byte(data)); err == nil || f != decision.Count("before", 5) {
			t.Errorf("%q is read as %v", data, f)
		}
	}
	for _, year := range []int{-1, 10_000} {
		f := decision.Instant("at", time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
		if data, err := f.AppendBinary(nil); err == nil {
			t.Errorf("the year %d is written as %q, %v", year, data, err)
		}
	}
}
