package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// text is a trace packed as its JSON.
type text []byte

func packedOf(t *testing.T, x *Trace) text {
	t.Helper()
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (p text) Bytes() int { return len(p) }

func (p text) Unpack() (*Trace, error) {
	t := new(Trace)
	return t, json.Unmarshal(p, t)
}

// packAll packs everything that a journal keeps.
func packAll(t *testing.T, j *Journal) {
	t.Helper()
	for _, x := range j.Kept(0, 1<<20) {
		j.Pack(x.Seq, packedOf(t, x))
	}
}

// mixed is syncs of all classes, of a family and of others.
func mixed(n int) []*Trace {
	var list []*Trace
	for i := range n {
		x := quiet(fmt.Sprintf("web-%d", i%3))
		switch i % 5 {
		case 0:
			x.Result = ResultWrote
		case 1:
			x.Loop, x.Owner = "replicaset", "web-0"
		case 2:
			x.Result = ResultStale
		}
		x.Started = time.Unix(int64(i), 0).UTC()
		x.Ended = x.Started.Add(time.Duration(i%4) * 400 * time.Millisecond)
		list = append(list, x)
	}
	return list
}

// What is kept as bytes is found, listed and let go of as if it were whole.
func TestPackedTracesAreKeptAlike(t *testing.T) {
	small := JournalOptions{Loops: TestLoops, Epoch: "e", Recent: 16, Wrote: 8, Failed: 4, Conflicted: 4, Slow: 4}
	whole, packed := NewJournal(small), NewJournal(small)
	for i, x := range mixed(200) {
		y := *x
		whole.Record(x)
		packed.Record(&y)
		if i%7 == 0 {
			packAll(t, packed)
		}
	}
	web := object("web-0")
	if got := whole.Of(web, 99); len(got) == 0 {
		t.Fatal("the test's Deployment is not kept")
	}
	for what, read := range map[string]func(j *Journal) any{
		"Kept":   func(j *Journal) any { return j.Kept(0, 999) },
		"Of":     func(j *Journal) any { return j.Of(web, 99) },
		"Since":  func(j *Journal) any { return j.Since(web, 190, 3) },
		"Family": func(j *Journal) any { return len(j.Family(web)) },
		"Each": func(j *Journal) any {
			var all []*Trace
			for seq := range uint64(202) {
				for _, find := range []func() (*Trace, bool){
					func() (*Trace, bool) { return j.Get(seq) },
					func() (*Trace, bool) { return j.Nearest(seq) },
					func() (*Trace, bool) { return j.Prev(web, seq) },
					func() (*Trace, bool) { return j.After(web, seq) },
				} {
					x, _ := find()
					all = append(all, x)
				}
			}
			return all
		},
		"Next": func(j *Journal) any {
			batch, missed, err := j.Next(t.Context(), 150)
			return []any{batch, missed, err}
		},
	} {
		if diff := cmp.Diff(read(whole), read(packed), cmp.AllowUnexported(Snapshot{})); diff != "" {
			t.Errorf("%s (-whole +packed):\n%s", what, diff)
		}
	}
}

// The bytes that the journal counts are those of what it keeps, on every shelf, and
// none are left when it keeps nothing.
func TestPackedTracesTakeTheirBytes(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 32, Wrote: 16})
	record(j, mixed(64)...)
	before := j.bytes
	packAll(t, j)
	if j.bytes >= before {
		t.Errorf("%d bytes packed, %d whole", j.bytes, before)
	}
	record(j, mixed(40)...)
	packAll(t, j)
	seen := map[*kept]bool{}
	var bytes, shelved int64
	note := func(k *kept) {
		if k != nil && !seen[k] {
			seen[k] = true
			bytes += k.size
			if k.shelves != 0 {
				shelved += k.size
			}
		}
	}
	for i := range j.recent {
		note(j.recent[i].Load())
	}
	for i := range j.shelves {
		var sum int64
		for _, k := range j.shelves[i].items[j.shelves[i].gone:] {
			note(k)
			sum += k.size
		}
		if sum != j.shelves[i].bytes {
			t.Errorf("shelf %d counts %d bytes and has %d", i, j.shelves[i].bytes, sum)
		}
	}
	if bytes != j.bytes || shelved != j.shelved {
		t.Errorf("counted %d bytes, %d on shelves; there are %d and %d", j.bytes, j.shelved, bytes, shelved)
	}
}

// The bytes of a block are of one class, and a trace of two would keep them all for
// as long as the second one keeps it.
func TestTraceOfTwoClassesStaysWhole(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	wrote, both := quiet("wrote"), quiet("both")
	wrote.Result, both.Result = ResultWrote, ResultWrote
	both.Ended = both.Started.Add(DefaultSlow)
	record(j, wrote, both)
	packAll(t, j)
	for seq, whole := range map[uint64]bool{wrote.Seq: false, both.Seq: true} {
		if k := j.upTo(seq); k.whole.Load() != nil != whole {
			t.Errorf("sync %d is kept whole: %t, want %t", seq, !whole, whole)
		}
	}
}

// What is not there is not packed, and what is packed stays so.
func TestPackedTraceIsPackedOnce(t *testing.T) {
	j, x := NewJournal(JournalOptions{Loops: TestLoops}), lastOf()
	j.Pack(0, unreadable{})
	j.Record(x)
	j.Pack(1, packedOf(t, x))
	x = nil
	runtime.GC()
	j.Pack(1, unreadable{})
	if _, ok := j.Get(1); !ok {
		t.Error("its bytes were taken for others")
	}
}

// All who have a packed trace at the same time have the same one.
func TestPackedTraceIsOne(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	x := quiet("web")
	j.Record(x)
	j.Pack(1, packedOf(t, x))
	if got, _ := j.Get(1); got != x {
		t.Error("another trace than the one that somebody still has")
	}
	runtime.KeepAlive(x)
}

// together is bytes that as many unpack at the same time as it waits for.
type together struct{ *sync.WaitGroup }

func (together) Bytes() int { return 1 }

func (p together) Unpack() (*Trace, error) {
	p.Done()
	p.Wait()
	return &Trace{Seq: 1}, nil
}

// So have those who unpack it at the same time.
func TestPackedTraceIsOneForThoseWhoUnpackIt(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	j.Record(lastOf())
	p := together{&sync.WaitGroup{}}
	j.Pack(1, p)
	runtime.GC()
	found := make([]*Trace, 8)
	p.Add(len(found))
	var wait sync.WaitGroup
	for i := range found {
		wait.Go(func() { found[i], _ = j.Get(1) })
	}
	wait.Wait()
	for _, got := range found {
		if got == nil || got != found[0] {
			t.Fatalf("readers at the same time have %p and %p", got, found[0])
		}
	}
}

// unreadable is bytes of no trace. As of a decoder, some of one comes with the error.
type unreadable struct{}

func (unreadable) Bytes() int              { return 1 }
func (unreadable) Unpack() (*Trace, error) { return &Trace{}, errors.New("no") }

// lastOf is the last sync of an object, which no board holds on to.
func lastOf() *Trace {
	x := quiet("gone")
	x.Gone = true
	return x
}

// What cannot be unpacked is not there, and nothing else is lost with it.
func TestUnreadableTraceIsNotThere(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	record(j, quiet("web"), quiet("web"), quiet("other"), lastOf())
	j.Pack(1, unreadable{})
	j.Pack(4, unreadable{})
	j.Pack(9, unreadable{}) // Nobody has that number.
	runtime.GC()
	if _, ok := j.Get(1); ok {
		t.Error("sync 1 was found")
	}
	if got := seqs(j.Kept(0, 9)); !cmp.Equal(got, span(2, 3)) {
		t.Errorf("kept %v", got)
	}
	if last := j.Last(); last != 4 {
		t.Fatalf("the last is %d", last)
	}
	batch, missed, err := j.Next(t.Context(), 0)
	if err != nil || missed != 1 || !cmp.Equal(seqs(batch), span(2, 3)) {
		t.Errorf("Next gives %v, %d missed, %v", seqs(batch), missed, err)
	}
	j.Record(lastOf())
	if batch, missed, err = j.Next(t.Context(), 3); err != nil || missed != 1 || !cmp.Equal(seqs(batch), span(5, 5)) {
		t.Errorf("Next after 3 gives %v, %d missed, %v", seqs(batch), missed, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	batch = nil
	j.Pack(5, unreadable{})
	runtime.GC()
	if _, _, err := j.Next(ctx, 4); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next with nothing that can be read: %v", err)
	}
}

// Packing goes on while others record and read.
func TestPackWhileOthersRead(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 64})
	var wait sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wait.Go(func() {
			for after := uint64(0); ; after = max(after, j.Last()-min(j.Last(), 32)) {
				select {
				case <-done:
					return
				default:
				}
				for _, x := range j.Kept(after, 8) {
					if got, ok := j.Get(x.Seq); ok && got != x {
						t.Errorf("sync %d is two at the same time", x.Seq)
						return
					}
				}
			}
		})
	}
	for i, x := range mixed(2000) {
		j.Record(x)
		if i%16 == 0 {
			for _, x := range j.Kept(x.Seq-min(x.Seq, 16), 16) {
				j.Pack(x.Seq, packedOf(t, x))
			}
		}
	}
	close(done)
	wait.Wait()
}

// slowly is bytes that take until somebody says so.
type slowly struct {
	began chan<- struct{}
	end   <-chan struct{}
}

func (slowly) Bytes() int { return 1 }

func (s slowly) Unpack() (*Trace, error) {
	s.began <- struct{}{}
	<-s.end
	return &Trace{}, nil
}

// No sync waits for a reader that unpacks.
func TestRecordingDoesNotWaitForUnpacking(t *testing.T) {
	for what, read := range map[string]func(j *Journal){
		"Get":     func(j *Journal) { j.Get(1) },
		"Nearest": func(j *Journal) { j.Nearest(1) },
		"Of":      func(j *Journal) { j.Of(object("web"), 9) },
		"Prev":    func(j *Journal) { j.Prev(object("web"), 2) },
		"Kept":    func(j *Journal) { j.Kept(0, 1) },
		"Family":  func(j *Journal) { j.Family(object("web")) },
	} {
		j := NewJournal(JournalOptions{Loops: TestLoops})
		record(j, quiet("web"), quiet("web"))
		began, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		j.Pack(1, slowly{began, release})
		runtime.GC()
		go func() {
			defer close(done)
			read(j)
		}()
		<-began
		recorded := make(chan struct{})
		go func() {
			defer close(recorded)
			j.Record(quiet("web"))
		}()
		select {
		case <-recorded:
		case <-time.After(10 * time.Second):
			t.Errorf("recording waits for %s", what)
		}
		close(release)
		<-done
	}
}

// countedUnpacks is bytes that count how often they are unpacked.
type countedUnpacks struct {
	text
	n *int
}

func (p countedUnpacks) Unpack() (*Trace, error) {
	*p.n++
	return p.text.Unpack()
}

// A page that is drawn again and again from the same syncs unpacks each of them once,
// also when the garbage collector comes in between.
func TestWhatWasReadIsAtHand(t *testing.T) {
	j, unpacked := NewJournal(JournalOptions{Loops: TestLoops}), 0
	record(j, mixed(200)...)
	kept := len(j.Kept(0, 999))
	for _, x := range j.Kept(0, 999) {
		j.Pack(x.Seq, countedUnpacks{packedOf(t, x), &unpacked})
	}
	j.board = NewJournal(JournalOptions{Loops: TestLoops}).board // which keeps the newest whole
	for range 5 {
		runtime.GC()
		if got := len(j.Kept(0, 999)); got != kept {
			t.Fatalf("%d are kept, want %d", got, kept)
		}
	}
	if unpacked == 0 || unpacked > kept {
		t.Errorf("%d of %d syncs were unpacked in five readings", unpacked, kept)
	}
}
