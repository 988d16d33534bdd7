package telemetry

import (
	"math/bits"
	"sync/atomic"
	"weak"
)

// traceForm is how a trace is kept: whole at first, and as bytes once somebody has
// made some of it. It is read without a lock.
type traceForm struct {
	whole  atomic.Pointer[Trace]
	packed Packed[*Trace] // there before whole is nil, and never changed
	// weakTrace is the whole one for as long as anybody else has it.
	weakTrace atomic.Pointer[weak.Pointer[Trace]]
}

func (f *traceForm) set(t *Trace) { f.whole.Store(t) }

// pack lets go of the whole trace. Calls are made one at a time.
func (f *traceForm) pack(p Packed[*Trace]) {
	f.packed = p
	known := weak.Make(f.whole.Load())
	f.weakTrace.Store(&known)
	f.whole.Store(nil)
}

// trace is the whole one, nil where the bytes are none of a trace, and whether it had
// to be unpacked. All who have it at the same time have the same.
func (f *traceForm) trace() (t *Trace, unpacked bool) {
	if t := f.whole.Load(); t != nil {
		return t, false
	}
	for {
		known := f.weakTrace.Load()
		if t := known.Value(); t != nil {
			return t, false
		}
		t, err := f.packed.Unpack()
		if err != nil {
			return nil, false
		}
		if again := weak.Make(t); f.weakTrace.CompareAndSwap(known, &again) {
			return t, true
		}
	}
}

// unpackedCacheSize is how many traces stay whole for a while after somebody has read them:
// a page that is watched is drawn many times from the same ones.
const unpackedCacheSize = 4096

// unpackedCache are the traces that were unpacked last.
type unpackedCache struct {
	next atomic.Uint64
	of   [unpackedCacheSize]atomic.Pointer[Trace]
}

// What is found in the journal is unpacked without its lock, so that no sync waits
// for that.

// whole is the trace, nil where there is none.
func (j *Journal) whole(k *kept) *Trace {
	if k == nil {
		return nil
	}
	t, unpacked := k.trace()
	if unpacked {
		j.hand.of[j.hand.next.Add(1)%unpackedCacheSize].Store(t)
	}
	return t
}

// passing is the trace for a reader who has each of them once: none is at hand for that.
func (k *kept) passing() *Trace {
	if k == nil {
		return nil
	}
	t, _ := k.trace()
	return t
}

// found is the trace, and whether there is one.
func (j *Journal) found(k *kept) (*Trace, bool) {
	t := j.whole(k)
	return t, t != nil
}

// numbered is k if it has that number.
func (k *kept) numbered(seq uint64) *kept {
	if k == nil || k.Seq != seq {
		return nil
	}
	return k
}

// wholes are the traces that there are.
func (j *Journal) wholes(list []*kept) []*Trace {
	if len(list) == 0 {
		return nil
	}
	all := make([]*Trace, 0, len(list))
	for _, k := range list {
		if t := j.whole(k); t != nil {
			all = append(all, t)
		}
	}
	return all
}

// keptBytes is about what a packed trace takes beside its bytes.
const keptBytes = 256

// Pack keeps the trace with that number as bytes from now on, which unpack to an
// equal one. It does nothing where the trace is kept no longer, or packed already, nor
// where it is of several classes: its bytes are those of a block of one class, which
// is let go of as a whole, and one trace that stays longer would keep all of it.
func (j *Journal) Pack(seq uint64, p Packed[*Trace]) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := j.upTo(seq)
	if k == nil || k.Seq != seq || k.whole.Load() == nil || bits.OnesCount8(k.shelves) > 1 {
		return
	}
	k.pack(p)
	j.resize(k, keptBytes+int64(p.Bytes()))
}

// resize notes what a trace takes now. The journal is locked.
func (j *Journal) resize(k *kept, size int64) {
	more := size - k.size
	k.size = size
	j.bytes += more
	if k.shelves != 0 {
		j.shelved += more
	}
	for i := range j.shelves {
		if k.shelves&(1<<i) != 0 {
			j.shelves[i].bytes += more
		}
	}
}
