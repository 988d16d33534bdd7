package history

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// A situation is the input of one golden of the loops, in pieces: the text
// between the parts that differ from object to object, and those parts. Together
// the goldens reach every question with every answer.
type situation struct {
	loop    string
	now     time.Time
	pieces  [4][]piece // snapshot, rounds, publish, try
	present [4]bool
}

// piece is text followed by a part of some kind.
type piece struct{ text, kind, part string }

// parts that make a situation one of a certain object and moment.
var parts = regexp.MustCompile(`(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z)|(?P<uid>(?:"uid": ?"|"childrenGone": ?\[")([^"]+))|(?P<rv>"(?:rv|written|cached)": ?"(\d+))|(?P<name>\bweb\b)|(?P<hash>\b[bcdfghjklmnpqrstvwxz2-9]{5,10}\b)`)

func situations(t testing.TB) []situation {
	t.Helper()
	list, err := readSituations()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// readSituations reads them once: under the race detector that takes a second.
var readSituations = sync.OnceValues(func() (list []situation, _ error) {
	for _, of := range []struct{ loop, folder string }{{"deployment", "deployment"}, {"replicaset", "replicaset"}} {
		files, err := filepath.Glob("../../controllers/" + of.folder + "/testdata/golden/*.txtar")
		if err != nil || len(files) < 50 {
			return nil, fmt.Errorf("found %d goldens of %s: %v", len(files), of.loop, err)
		}
		for _, file := range files {
			s, err := readSituation(of.loop, file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			list = append(list, s)
		}
	}
	return list, nil
})

func readSituation(loop, file string) (situation, error) {
	s := situation{loop: loop}
	text, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	for _, f := range txtar.Parse(text).Files {
		if i := slices.Index([]string{"snapshot.json", "rounds.json", "publish.json", "try.json"}, f.Name); i >= 0 {
			s.pieces[i], s.present[i] = split(string(f.Data)), true
		}
	}
	var head struct{ Now time.Time }
	err = json.Unmarshal([]byte(s.text(0, func(p piece) string { return p.part })), &head)
	s.now = head.Now
	return s, err
}

func split(text string) (list []piece) {
	last := 0
	for _, at := range parts.FindAllStringSubmatchIndex(text, -1) {
		p := piece{}
		for i, name := range parts.SubexpNames() {
			if name != "" && at[2*i] >= 0 {
				p.kind, p.part = name, text[at[2*i]:at[2*i+1]]
			}
		}
		if inner := strings.LastIndex(p.part, `"`); inner >= 0 { // of what stands in quotes, the value alone
			p.part = p.part[inner+1:]
		}
		if p.kind == "hash" && !strings.ContainsAny(p.part, "23456789") {
			continue // an English word
		}
		p.text = text[last : at[1]-len(p.part)]
		last = at[1]
		list = append(list, p)
	}
	return append(list, piece{text: text[last:]})
}

func (s *situation) text(i int, replace func(piece) string) string {
	var b strings.Builder
	for _, p := range s.pieces[i] {
		b.WriteString(p.text)
		if p.kind != "" {
			b.WriteString(replace(p))
		}
	}
	return b.String()
}
