package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
		got := new(telemetry.Trace)
		if err := Read(all[from:], got); err != nil {
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

// Instants come back in UTC, whatever zone the clock had, from the first second of the
// year 0 to the last one of the year 9999.
func TestWireInstants(t *testing.T) {
	east := time.FixedZone("", 3600)
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for _, at := range []time.Time{{}, first, last, time.Unix(0, 0), time.Unix(0, 1).In(east), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, east)} {
		trace := rewritten(t, &telemetry.Trace{Started: time.Unix(1_790_000_000, 5), Ended: at})[0]
		if !trace.Ended.Equal(at) || trace.Ended.Location() != time.UTC {
			t.Errorf("%v is read as %v", at, trace.Ended)
		}
	}
	for _, at := range []time.Time{first.AddDate(-1, 0, 0), first.Add(-1), last.Add(1), last.AddDate(10_000, 0, 0)} {
		for _, trace := range []*telemetry.Trace{{Queued: at}, {Ended: at}, {Causes: []telemetry.Cause{{Due: at}}}, {Sentence: decision.Sentence{Since: at}}, {Numbers: []decision.Fact{decision.Instant("at", at)}}} {
			if _, err := Append(nil, trace); err == nil {
				t.Errorf("%v is kept, and has no JSON", at)
			}
		}
		if _, err := telemetry.SnapshotOf(&deployment.Snapshot{Created: at}); err == nil {
			t.Errorf("%v is packed, and has no JSON", at)
		}
	}
}

// Instants anywhere in a trace are brought to UTC.
func TestReadInstants(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 4, time.FixedZone("", 3600))
	got := rewritten(t, &telemetry.Trace{Causes: []telemetry.Cause{{At: at}}, Sentence: decision.Sentence{Lead: []decision.Part{{At: at}}}})[0]
	for _, got := range []time.Time{got.Causes[0].At, got.Sentence.Lead[0].At} {
		if !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%v is read as %v", at, got)
		}
	}
}

// TestCutOff: what is not whole is not read, nor what has more behind it, and nothing panics on it.
func TestCutOff(t *testing.T) {
	trace := &telemetry.Trace{}
	new(filler).fill(reflect.ValueOf(trace).Elem())
	whole, err := Append(nil, trace)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += max(1, len(whole)/500) {
		if err := Read(whole[:n], new(telemetry.Trace)); err == nil {
			t.Fatalf("%d of %d bytes are read", n, len(whole))
		}
	}
	if err := Read(append(whole, 0), new(telemetry.Trace)); !errors.Is(err, errShort) {
		t.Errorf("a byte behind it: %v", err)
	}
}

// every is a struct of all that has a form.
type every struct {
	Text string
	Is   bool
	N    int
	U    uint64
	At   time.Time
	List []part
	To   *part
	Own  own
}

type part struct {
	Text string
	Is   bool
	N    int
	U    uint64
	At   time.Time
	Own  own
}

// own makes its bytes itself, one at least.
type own struct{ text string }

func (o own) AppendBinary(to []byte) ([]byte, error) {
	if o.text == "no" {
		return nil, errors.New("no")
	}
	return append(to, o.text...), nil
}

func (o *own) UnmarshalBinary(data []byte) error {
	if o.text = string(data); o.text == "never" || o.text == "" {
		return errors.New("never")
	}
	return nil
}

// TestBytes are what they were: a bit for each field, and the values that there are.
func TestBytes(t *testing.T) {
	long := strings.Repeat("x", 300)
	for bytes, value := range map[string]every{
		"\x00":                             {},
		"\x07\x01a\x01":                    {Text: "a", Is: true, N: -1},
		"\x08\x80\x02":                     {U: 256},
		"\x10\x02\x05":                     {At: time.Unix(1, 5).UTC()},
		"\x30\x0e\x00\x02\x10\x03\x01\x00": {At: time.Unix(7, 0).UTC(), List: []part{{At: time.Unix(5, 1).UTC()}, {}}},
		"\x20\x00":                         {List: []part{}},
		"\x40\x08\x01":                     {To: &part{U: 1}},
		"\x80\x01\x02ab":                   {Own: own{"ab"}},
		"\x80\x01\xac\x02" + long:          {Own: own{long}},
		"\x80\x01\x7f" + long[:127]:        {Own: own{long[:127]}},
		"\x80\x01\x80\x01" + long[:128]:    {Own: own{long[:128]}},
		"\x01\xac\x02" + long:              {Text: long},
		"\x20\x02\x20\x01a\x20\x01b":       {List: []part{{Own: own{"a"}}, {Own: own{"b"}}}},
		"\x20\x01\x20\x02\xc3\xa4":         {List: []part{{Own: own{"ä"}}}},
	} {
		data, err := Append([]byte("before"), &value)
		if err != nil || string(data) != "before"+bytes {
			t.Errorf("%+v is %q, %v, want %q", value, data, err, bytes)
		}
		var got every
		if err := Read([]byte(bytes), &got); err != nil || !reflect.DeepEqual(got, value) {
			t.Errorf("%q is %+v, %v, want %+v", bytes, got, err, value)
		}
	}
	for bytes, want := range map[string]error{
		"": errShort, "\x80": errShort, "\x01": errShort, "\x01\x02a": errShort, "\x04": errShort, "\x10\x02": errShort, "\x00\x00": errShort, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": errShort,
		"\x20\x01": errShort, "\x20\x02\x00": errShort, "\x20\x81\x80\x10": errLarge, "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": errLarge, "\x80\x02": errMore, "\x40\x80\x02": errMore,
		"\x10\x00\x80\x94\xeb\xdc\x03": errYear, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00": errYear, "\x80\x01\x02a": errShort,
		// The first mistake is told, not what comes of it.
		"\x81\x02\x01a": errMore, "\x20\x02\x40\x00": errMore,
		// A second before the year 0, and one after the year 9999.
		"\x10" + seconds(firstSecond-1): errYear, "\x10" + seconds(lastSecond+1): errYear,
	} {
		if err := Read([]byte(bytes), new(every)); !errors.Is(err, want) {
			t.Errorf("%q is read: %v, want %v", bytes, err, want)
		}
	}
	if _, err := Append(nil, &every{List: []part{{Own: own{"no"}}}}); err == nil || err.Error() != "no" {
		t.Errorf("what has no bytes is written: %v", err)
	}
	if err := Read([]byte("\x80\x01\x05never"), new(every)); err == nil || err.Error() != "never" {
		t.Errorf("bytes of nothing are read: %v", err)
	}
}

// seconds are the bytes of an instant that comes so many seconds after 1970.
func seconds(n int64) string { return string(append(binary.AppendVarint(nil, n), 0)) }

// appends and reads can do only half of what an own type can.
type appends struct{ Text string }

func (appends) AppendBinary(to []byte) ([]byte, error) { return append(to, "own"...), nil }

type reads struct{ Text string }

func (*reads) UnmarshalBinary([]byte) error { return errors.New("it cannot write") }

// A type that does not both write and read its bytes is written field by field.
func TestHalfOwn(t *testing.T) {
	type halves struct {
		A appends
		B reads
	}
	value, want := halves{appends{"a"}, reads{"b"}}, "\x03\x01\x01a\x01\x01b"
	data, err := Append(nil, &value)
	if err != nil || string(data) != want {
		t.Errorf("it is %q, %v, want %q", data, err, want)
	}
	var got halves
	if err := Read([]byte(want), &got); err != nil || got != value {
		t.Errorf("it is read as %+v, %v", got, err)
	}
}

// A type is walked over once.
func TestFormsAreKept(t *testing.T) {
	first, second := formOf(reflect.TypeFor[every]()), formOf(reflect.TypeFor[every]())
	if first != second {
		t.Error("a type has another form each time")
	}
}

// numbers is a pointer to a struct of so many numbers, all of which are set.
func numbers(n int) reflect.Value {
	fields := make([]reflect.StructField, n)
	for i := range fields {
		fields[i] = reflect.StructField{Name: "N" + strconv.Itoa(i), Type: reflect.TypeFor[int]()}
	}
	v := reflect.New(reflect.StructOf(fields))
	for i := range n {
		v.Elem().Field(i).SetInt(int64(i + 1))
	}
	return v
}

// A struct has as many fields as there are bits.
func TestManyFields(t *testing.T) {
	v := numbers(64)
	data, err := Append(nil, v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	got := reflect.New(v.Type().Elem())
	if err := Read(data, got.Interface()); err != nil || !reflect.DeepEqual(got.Interface(), v.Interface()) {
		t.Errorf("64 fields are read as %v, %v", got.Elem(), err)
	}
}

// What has no form is found out at once.
func TestNoForm(t *testing.T) {
	for name, value := range map[string]any{
		"a map": &struct{ M map[string]int }{}, "a hidden field": &struct{ m int }{}, "a float": &struct{ F float64 }{}, "a field too many": numbers(65).Interface(),
		"a list of bools": &struct{ L []bool }{}, "a list of pointers": &struct{ L []*part }{}, "a pointer to a bool": &struct{ P *bool }{}, "a pointer to a pointer": &struct{ P **part }{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is written", name)
				}
			}()
			_, _ = Append(nil, value)
		}()
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
	f.Fuzz(func(t *testing.T, data []byte) {
		if trace := new(telemetry.Trace); Read(data, trace) == nil { // What can be read can leave the program.
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
	list := func(n int) []byte {
		return append(binary.AppendUvarint([]byte{0x20}, uint64(n)), make([]byte, n)...)
	}
	type lists struct{ A, B, C []part }
	several := append([]byte{7}, bytes.Repeat(list(maxElements / 2)[1:], 3)...)
	around := binary.AppendUvarint([]byte{3, 1, 0}, math.MaxUint64) // One and these are none, in 64 bits.
	const little, much = 2 << 20, 128 << 20
	for name, test := range map[string]struct {
		data []byte
		into any
		want error
		room uint64
	}{
		"in one list":              {list(2_000_000), new(every), errLarge, 2_000_000 + little},
		"a list that is not there": {list(1 << 20)[:100], new(every), errLarge, little},
		"a list that is cut off":   {list(maxElements)[:100], new(every), errShort, little},
		"in several":               {several, new(lists), errLarge, much},
		"all around":               {around, new(lists), errLarge, little},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := Read(test.data, test.into)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > test.room {
			t.Errorf("%s: %d bytes were taken for them", name, took)
		}
	}
	for n, want := range map[int]error{maxElements: nil, maxElements + 1: errLarge} {
		if _, err := Append(nil, &every{List: make([]part, n)}); !errors.Is(err, want) {
			t.Errorf("%d elements are written: %v", n, err)
		}
		if err := Read(list(n), new(every)); !errors.Is(err, want) {
			t.Errorf("%d elements are read: %v", n, err)
		}
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
