package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// filler gives every field of a value something that no other one has.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(1_790_000_000+int64(f.n), int64(f.n)).UTC()
		return
	case *decision.Fact:
		name, at := "fact"+strconv.Itoa(f.n), time.Unix(int64(-f.n), 7)
		*x = []decision.Fact{
			decision.Count(name, int64(-f.n)), decision.Text(name, name), decision.Text(name, ""), decision.Bool(name, true), decision.Bool(name, false),
			decision.Duration(name, time.Duration(f.n)), decision.Instant(name, at), decision.Instant(name, time.Time{}),
		}[f.n%8]
		return
	case *telemetry.Snapshot:
		d, rs := &deployment.Snapshot{}, &replicaset.Snapshot{}
		f.fill(reflect.ValueOf(d).Elem())
		f.fill(reflect.ValueOf(rs).Elem())
		*x = []telemetry.Snapshot{of(d), of(rs), telemetry.SnapshotText([]byte(`{"v":9}`))}[f.n%3]
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+f.n%9, 1+f.n%9))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]int64{"b" + strconv.Itoa(f.n): 1, "a": int64(f.n)}))
	case reflect.String:
		v.SetString("text" + strconv.Itoa(f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n) * (1 - 2*int64(f.n%2)))
	case reflect.Uint64:
		v.SetUint(uint64(f.n))
	default:
		panic("a field of a kind that the test does not know: " + v.Type().String())
	}
}

func of(s decision.Snapshot) telemetry.Snapshot {
	packed, err := telemetry.SnapshotOf(s)
	if err != nil {
		panic(err)
	}
	return packed
}

// rewritten is what is read of traces that were written one behind the other.
func rewritten(t testing.TB, traces ...*telemetry.Trace) (list []*telemetry.Trace) {
	t.Helper()
	var all []byte
	for _, trace := range traces {
		from := len(all)
		var err error
		if all, err = Append(all, trace); err != nil {
			t.Fatal(err)
		}
		got, err := Read(all[from:])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, got)
	}
	return list
}

func text(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// No field of a trace is forgotten, and none is taken for another.
func TestWireKeepsEveryField(t *testing.T) {
	f, full, bare := &filler{}, &telemetry.Trace{}, &telemetry.Trace{}
	for range 12 { // Facts have another kind each time.
		f.fill(reflect.ValueOf(full).Elem())
		for i, got := range rewritten(t, full, bare, full) {
			if want := []*telemetry.Trace{full, bare, full}[i]; !reflect.DeepEqual(got, want) {
				t.Fatalf("trace %d is\n%s\nand was\n%s", i, text(t, got), text(t, want))
			}
		}
	}
	empty := &telemetry.Trace{Causes: []telemetry.Cause{}, Rounds: []decision.Round{{Verdict: decision.Verdict{Path: decision.Path{}}}}}
	if got := rewritten(t, empty)[0]; !reflect.DeepEqual(got, empty) {
		t.Errorf("empty lists: %s, want %s", text(t, got), text(t, empty))
	}
}

// A trace is shared by everybody who has it: writing it changes nothing, which the
// race detector sees to.
func TestWireOnlyReadsWhatItWrites(t *testing.T) {
	trace := &telemetry.Trace{}
	new(filler).fill(reflect.ValueOf(trace).Elem())
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { rewritten(t, trace) })
	}
	group.Wait()
}

// Instants come back in UTC, whatever zone the clock had.
func TestWireInstants(t *testing.T) {
	east := time.FixedZone("", 3600)
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(0, 1).In(east), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, east)} {
		trace := rewritten(t, &telemetry.Trace{Started: time.Unix(1_790_000_000, 5), Ended: at})[0]
		if !trace.Ended.Equal(at) || trace.Ended.Location() != time.UTC {
			t.Errorf("%v is read as %v", at, trace.Ended)
		}
	}
	for _, year := range []int{-1, 10_000, 20_000} {
		at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, trace := range []*telemetry.Trace{{Queued: at}, {Started: at}, {Ended: at}, {Numbers: []decision.Fact{decision.Instant("at", at)}}} {
			if _, err := Append(nil, trace); err == nil {
				t.Errorf("the year %d is kept, and has no JSON", year)
			}
		}
		if _, err := telemetry.SnapshotOf(&deployment.Snapshot{Created: at}); err == nil {
			t.Errorf("the year %d is packed, and has no JSON", year)
		}
	}
}

// Instants anywhere in a trace are brought to UTC, and none is read that has no JSON.
func TestReadInstants(t *testing.T) {
	east := time.FixedZone("", 3600)
	at := time.Date(2026, 11, 21, 1, 2, 3, 4, east)
	got := rewritten(t, &telemetry.Trace{Causes: []telemetry.Cause{{At: at}}, Sentence: decision.Sentence{Lead: []decision.Part{{At: at}}}})[0]
	for _, got := range []time.Time{got.Causes[0].At, got.Sentence.Lead[0].At} {
		if !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%v is read as %v", at, got)
		}
	}
	year := 8_000_000_000_000_000
	for where, value := range map[string]any{
		"of a trace":    map[string]any{"started": year},
		"of a cause":    map[string]any{"causes": []any{map[string]any{"at": year}}},
		"of a failure ": map[string]any{"sentence": map[string]any{"since": -year}},
	} {
		if _, err := Read(plain(t, value)); !errors.Is(err, errYear) {
			t.Errorf("an instant %s: %v", where, err)
		}
	}
}

func plain(t testing.TB, value any) []byte {
	t.Helper()
	data, err := cbor.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCutOff: what is not whole is not read, nor what has more behind it or says a thing
// twice, and nothing panics on it.
func TestCutOff(t *testing.T) {
	trace := &telemetry.Trace{}
	new(filler).fill(reflect.ValueOf(trace).Elem())
	whole, err := Append(nil, trace)
	if err != nil {
		t.Fatal(err)
	}
	step := max(1, len(whole)/500)
	for n := 0; n < len(whole); n += step {
		if _, err := Read(whole[:n]); err == nil {
			t.Fatalf("%d of %d bytes are read", n, len(whole))
		}
	}
	for name, data := range map[string]string{
		"a byte more":           string(whole) + "\x00",
		"a field twice":         "\xa2\x61v\x01\x61v\x02",
		"a text without an end": "\xa1\x65epoch\x7f\x61a\xff",
		"a tag":                 "\xa1\x61v\xc1\x01",
		"a number of no size":   "\xa1\x61v\x1c",
		"a text of no length":   "\xa1\x65epoch\x7b\x7f\xff",
		"too long a text":       "\xa1\x65epoch\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
		"a snapshot of no JSON": "\xa1\x68snapshot\x41{",
		"a number for a text":   "\xa1\x65epoch\x01",
	} {
		if got, err := Read([]byte(data)); err == nil {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
}

// FuzzWire proves that what reads as a trace is kept as it is, and that no bytes
// in its place make a reader panic.
func FuzzWire(f *testing.F) {
	x := &filler{}
	for range 5 {
		trace := &telemetry.Trace{}
		x.fill(reflect.ValueOf(trace).Elem())
		f.Add([]byte(text(f, trace)))
		data, err := Append(nil, trace)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\xa1\x67numbers\x81\xa2\x64Name\x61n\x65Value\x42\x01\x02"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if trace, err := Read(data); err == nil { // What can be read can leave the program.
			_ = text(t, trace)
			_ = trace.Sentence.At(trace.Ended)
		}
		var trace telemetry.Trace
		if json.Unmarshal(data, &trace) != nil {
			return
		}
		once := rewritten(t, &trace)[0]
		if twice := rewritten(t, once)[0]; !reflect.DeepEqual(once, twice) {
			t.Fatalf("changes on its way:\n%s\n%s", text(t, once), text(t, twice))
		}
		for _, fields := range []int{len(trace.Causes) - len(once.Causes), len(trace.Rounds) - len(once.Rounds), len(trace.Path()) - len(once.Path()), len(trace.Numbers) - len(once.Numbers)} {
			if fields != 0 {
				t.Fatalf("is kept as another one:\n%s\n%s", data, text(t, once))
			}
		}
		if !trace.Started.Equal(once.Started) || trace.Sentence.At(trace.Ended) != once.Sentence.At(once.Ended) {
			t.Fatalf("is kept as another one:\n%s\n%s", data, text(t, once))
		}
	})
}

// A few bytes on the disk say that there are millions of rounds, each of which takes
// one byte: they are refused before there is room for them.
func TestListsHaveABound(t *testing.T) {
	rounds := func(n int) []byte {
		return append(binary.BigEndian.AppendUint32([]byte("\xa1\x66rounds\x9a"), uint32(n)), bytes.Repeat([]byte{0xa0}, n)...)
	}
	nested := bytes.Repeat(append([]byte{0x99, 0xff, 0xff}, bytes.Repeat([]byte{0xf6}, 0xffff)...), 5)
	for name, data := range map[string][]byte{"in one list": rounds(2_000_000), "a list that is not there": rounds(1 << 20)[:100], "in several": append([]byte("\xa1\x66rounds\x85"), nested...)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := Read(data)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errLarge) || got != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: %d bytes were taken for them", name, took)
		}
	}
	if _, err := Append(nil, &telemetry.Trace{Rounds: make([]decision.Round, 2_000_000)}); !errors.Is(err, errLarge) {
		t.Errorf("what could not be read is written: %v", err)
	}
	if err := measure(rounds(maxElements)); err != nil {
		t.Errorf("as many as there may be: %v", err)
	}
	if err := measure(rounds(maxElements + 1)); !errors.Is(err, errLarge) {
		t.Errorf("one more: %v", err)
	}
}

// Texts come back letter by letter, be they UTF-8 or not.
func TestWireKeepsTexts(t *testing.T) {
	list := []string{"40000000", "", "٧", "a\xff\xfeb", "\x00", "007"}
	got := rewritten(t, &telemetry.Trace{Owner: "a\xff", Report: &decision.Report{Outcome: &decision.Outcome{RVs: list}}})[0]
	if !slices.Equal(got.Report.Outcome.RVs, list) || got.Owner != "a\xff" {
		t.Errorf("%q is read as %q", list, got.Report.Outcome.RVs)
	}
}
