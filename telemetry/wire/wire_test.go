package wire

import (
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
		*x = []telemetry.Snapshot{must(Pack(d)), must(Pack(rs)), telemetry.SnapshotText([]byte(`{"v":9}`))}[f.n%3]
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

func must(s telemetry.Snapshot, err error) telemetry.Snapshot {
	if err != nil {
		panic(err)
	}
	return s
}

// rewritten is what is read of traces that were written into a block.
func rewritten(t testing.TB, traces ...*telemetry.Trace) (list []*telemetry.Trace) {
	t.Helper()
	b := NewBlock()
	var sizes []int
	for _, trace := range traces {
		size, _, err := b.Add(trace)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, size)
	}
	records, err := Divide(b.AppendTo(nil), sizes)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		trace, err := r.Unpack()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, trace)
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
		b := NewBlock()
		if _, _, err := b.Add(&telemetry.Trace{Ended: at}); err == nil {
			t.Errorf("the year %d is kept, and has no JSON", year)
		}
		if _, err := Pack(&deployment.Snapshot{Created: at}); err == nil {
			t.Errorf("the year %d is packed, and has no JSON", year)
		}
	}
}

// No field of a snapshot is forgotten, and none is taken for another.
func TestPackKeepsEveryField(t *testing.T) {
	f := &filler{}
	for range 5 {
		full, empty := &deployment.Snapshot{}, &deployment.Snapshot{}
		f.fill(reflect.ValueOf(full).Elem())
		packs(t, full)
		packs(t, empty)
	}
	for range 5 {
		full, empty := &replicaset.Snapshot{}, &replicaset.Snapshot{Siblings: map[string]int64{}}
		f.fill(reflect.ValueOf(full).Elem())
		packs(t, full)
		packs(t, empty)
	}
}

func packs[T any](t *testing.T, want *T) {
	t.Helper()
	s := must(Pack(want))
	unpacked, err := s.Value().Unpack()
	got, _ := unpacked.(*T)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v: is\n%s\nand was\n%s", err, text(t, got), text(t, want))
	}
	if json, err := s.JSON(); err != nil || string(json) != text(t, want) {
		t.Errorf("%v: the JSON is\n%s\nand that of the value\n%s", err, json, text(t, want))
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
		b := NewBlock()
		if _, _, err := b.Add(trace); err != nil {
			f.Fatal(err)
		}
		f.Add(b.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, sizes := range [][]int{{len(data) / 2}, {len(data), -1}, nil} {
			records, err := Divide(data, sizes)
			for i := 0; err == nil && i < len(records); i++ {
				read(t, &records[i])
			}
		}
		read(t, &Record{fields: data, texts: []string{"a", "b"}})
		for _, kind := range []byte{kindDeployment, kindReplicaSet, 9} {
			_, _ = packed(append([]byte{kind}, data...)).Unpack()
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

// read looks at a trace that may be any: what can be read can leave the program.
func read(t *testing.T, r *Record) {
	trace, err := r.Unpack()
	if err == nil {
		_ = text(t, trace)
		_ = trace.Sentence.At(trace.Ended)
	}
}

// A few bytes on the disk say that there are millions of rounds, each of which takes
// one byte: they are refused before there is room for them.
func TestListsHaveABound(t *testing.T) {
	const many = 2_000_000
	data := append(binary.AppendUvarint(nil, many+1), make([]byte, many)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w, rounds := coder{reads: true, data: data}, []decision.Round(nil)
	each(&w, &rounds, (*coder).round)
	runtime.ReadMemStats(&after)
	if !errors.Is(w.end(), errLarge) || len(rounds) > 0 {
		t.Errorf("%d rounds are read: %v", len(rounds), w.end())
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes were taken for them", took)
	}
	b := NewBlock()
	if size, _, err := b.Add(&telemetry.Trace{Rounds: make([]decision.Round, many)}); !errors.Is(err, errLarge) || size > 1000 {
		t.Errorf("what could not be read is written as %d bytes: %v", size, err)
	}
	b.Clear()
	if _, _, err := b.Add(&telemetry.Trace{Rounds: make([]decision.Round, 9)}); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// A resourceVersion comes back letter by letter, also where it only looks like a number.
func TestWireKeepsVersions(t *testing.T) {
	list := []string{"40000000", "40000003", "", "7", "1152921504606846975", "1", "1152921504606846976", "99999999999999999999", "0", "007", "+7", "-7", "7 ", "0x7", "1_0", "٧", "v7", "7"}
	got := rewritten(t, &telemetry.Trace{Report: &decision.Report{Outcome: &decision.Outcome{RVs: list}}})[0].Report.Outcome.RVs
	if !slices.Equal(got, list) {
		t.Errorf("%q is read as %q", list, got)
	}
	long := 0
	for _, versions := range [][]string{{"40000000"}, {"40000000", "40000009", "40000002"}} {
		b := NewBlock()
		size, took, err := b.Add(&telemetry.Trace{Report: &decision.Report{Outcome: &decision.Outcome{RVs: versions}}})
		if err != nil || took != size {
			t.Errorf("%q takes %d bytes of texts, %v", versions, took-size, err)
		}
		if long > 0 && size > long+2 {
			t.Errorf("two more versions take %d bytes, want 2", size-long)
		}
		long = size
	}
}
