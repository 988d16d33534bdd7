package history

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var train = flag.Bool("dictionary", false, "make dictionary.zst anew; files that were written before keep theirs")

// dictionaryID stands in each compressed trace. Another dictionary needs another.
const dictionaryID = 40001

// TestDictionary makes the dictionary from generated syncs when told to, and
// keeps it worth its place: traces of another seed and other objects are less
// than half as large with it.
func TestDictionary(t *testing.T) {
	sample := func(seed uint64, n int) (texts [][]byte) {
		for _, trace := range newGenerator(t, seed, 10_000).many(n) {
			data, err := json.Marshal(trace)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, data)
		}
		return texts
	}
	if *train {
		dictionary = makeDictionary(t, sample(41, 2000))
		if err := os.WriteFile("dictionary.zst", dictionary, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	without, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	defer without.close()
	with, err := newCodec(dictionary)
	if err != nil {
		t.Fatal(err)
	}
	defer with.close()
	var plain, alone, helped int
	for _, text := range sample(42, 500) {
		plain += len(text)
		alone += len(without.encoder.EncodeAll(text, nil))
		helped += len(with.encoder.EncodeAll(text, nil))
	}
	t.Logf("bytes of a trace: %d as JSON, %d compressed, %d with the dictionary of %d", plain/500, alone/500, helped/500, len(dictionary))
	if 2*helped > alone {
		t.Errorf("%d bytes with the dictionary, %d without: it does not pay", helped/500, alone/500)
	}
}

// makeDictionary is 64 KB of whole traces, the first of those that the ones
// before do not help to write in 900 bytes, with statistics of all. Fragments
// that a general trainer picks made traces half as large again.
func makeDictionary(t *testing.T, texts [][]byte) []byte {
	var history []byte
	encoder, err := zstd.NewWriter(nil)
	for _, text := range texts {
		if err != nil {
			t.Fatal(err)
		}
		if len(history)+len(text) > 64<<10 || len(encoder.EncodeAll(text, nil)) < 900 {
			continue
		}
		history = append(text, history...)
		encoder, err = zstd.NewWriter(nil, zstd.WithEncoderDictRaw(1, history))
	}
	made, err := zstd.BuildDict(zstd.BuildDictOptions{ID: dictionaryID, Contents: texts[:500], History: history, Offsets: [3]int{1, 4, 8}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}
