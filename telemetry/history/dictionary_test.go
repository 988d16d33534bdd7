package history

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

var train = flag.String("dictionary", "", "make dictionary.zst anew, from the history of a sandbox in this file; files that were written before keep theirs")

// dictionaryID stands in each compressed trace. Another dictionary needs another.
const dictionaryID = 40001

// TestDictionary makes the dictionary when told to, from what `make sandbox` has
// recorded in a few minutes and from generated syncs, and keeps it worth its
// place: generated traces of other objects are a third smaller with it.
func TestDictionary(t *testing.T) {
	sample := func(seed uint64, n int) (texts [][]byte) {
		for _, trace := range newGenerator(t, seed, 10_000).many(n) {
			texts = append(texts, alone(t, trace))
		}
		return texts
	}
	if *train != "" {
		dictionary = makeDictionary(t, recorded(t, *train), sample(41, 2000))
		if err := os.WriteFile("dictionary.zst", dictionary, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	without, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	with, err := newCodec(dictionary)
	if err != nil {
		t.Fatal(err)
	}
	var plain, unaided, helped int
	for _, text := range sample(42, 500) {
		plain += len(text)
		unaided += len(without.encoder.EncodeAll(text, nil))
		helped += len(with.encoder.EncodeAll(text, nil))
	}
	t.Logf("bytes of a sync alone: %d, %d compressed, %d with the dictionary of %d", plain/500, unaided/500, helped/500, len(dictionary))
	if 3*helped > 2*unaided {
		t.Errorf("%d bytes with the dictionary, %d without: it does not pay", helped/500, unaided/500)
	}
}

// alone is the plain text of a block of one sync.
func alone(t testing.TB, trace *telemetry.Trace) []byte {
	t.Helper()
	b := wire.NewBlock()
	if _, _, err := b.Add(trace); err != nil {
		t.Fatal(err)
	}
	return b.AppendTo(nil)
}

func recorded(t *testing.T, path string) (texts [][]byte) {
	file, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Each(t.Context(), telemetry.Query{}, func(trace *telemetry.Trace) error {
		texts = append(texts, alone(t, trace))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return texts
}

// makeDictionary is 64 KB of whole traces, half of them recorded, with statistics
// of all. Fragments that a general trainer picks made traces half as large again.
func makeDictionary(t *testing.T, recorded, generated [][]byte) []byte {
	history := novel(t, novel(t, nil, 32<<10, recorded), 64<<10, generated)
	statistics := slices.Concat(recorded[:min(len(recorded), 500)], generated[:500])
	made, err := zstd.BuildDict(zstd.BuildDictOptions{ID: dictionaryID, Contents: statistics, History: history, Offsets: [3]int{1, 4, 8}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// novel puts texts before those that are there, up to a size: the first of those
// that the others do not help to write in 400 bytes.
func novel(t *testing.T, history []byte, limit int, texts [][]byte) []byte {
	encoder, err := zstd.NewWriter(nil)
	for _, text := range texts {
		if err != nil {
			t.Fatal(err)
		}
		if len(history)+len(text) > limit || len(encoder.EncodeAll(text, nil)) < 400 {
			continue
		}
		history = append(slices.Clone(text), history...)
		encoder, err = zstd.NewWriter(nil, zstd.WithEncoderDictRaw(1, history))
	}
	return history
}
