package decision

import (
	"strconv"
	"time"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// Tone is the outcome of an object, for a person. There are five, each with a
// glyph and a word on every page; an object has the first that holds.
type Tone string

// The tones, most urgent first.
const (
	ToneFailed  Tone = "failed"
	ToneNeutral Tone = "neutral"
	ToneMoving  Tone = "moving"
	ToneWaiting Tone = "waiting"
	ToneOK      Tone = "ok"
)

// PartKind says how a part of a sentence is set and checked.
type PartKind string

// The kinds of part. A Plain part holds no digit; every number is a Number
// that names a fact of the same trace.
const (
	Plain  PartKind = ""       // words
	Name   PartKind = "name"   // a name of an object, set in mono
	Number PartKind = "number" // the value of the fact named by Fact
	Quote  PartKind = "quote"  // words of somebody else: an image, a reason, a message
	Told   PartKind = "told"   // what somebody else said, in words of ours; its numbers are theirs
	Until  PartKind = "until"  // time left until At, counting down, 0s when over
	Since  PartKind = "since"  // time passed since At
	Clock  PartKind = "clock"  // At as a time of day
)

// Part is a piece of a sentence.
type Part struct {
	Kind PartKind  `json:"kind,omitempty"`
	Text string    `json:"text,omitempty"`
	Fact string    `json:"fact,omitempty"`
	N    int64     `json:"n,omitempty"`
	At   time.Time `json:"at,omitzero"`
}

// Words is a run of parts.
type Words []Part

// usualWords is how many parts of a sentence have room when it begins: every sync
// says some, and the first would be moved twice.
const usualWords = 4

func (w Words) add(p Part) Words {
	if cap(w) == 0 {
		w = make(Words, 0, usualWords)
	}
	return append(w, p)
}

// Say appends words. Digits do not belong here: use Count, Name or Quote.
func (w Words) Say(text string) Words { return w.add(Part{Text: text}) }

// Count appends a number with the name of the fact it is.
func (w Words) Count(fact string, n int64) Words {
	return w.add(Part{Kind: Number, Fact: fact, N: n})
}

// Name appends the name of an object.
func (w Words) Name(name string) Words { return w.add(Part{Kind: Name, Text: name}) }

// Quote appends somebody else's words.
func (w Words) Quote(text string) Words { return w.add(Part{Kind: Quote, Text: text}) }

// Told appends what somebody else said, in words of ours.
func (w Words) Told(text string) Words { return w.add(Part{Kind: Told, Text: text}) }

// Until appends a countdown.
func (w Words) Until(t time.Time) Words { return w.add(Part{Kind: Until, At: t.UTC().Round(0)}) }

// Since appends an age.
func (w Words) Since(t time.Time) Words { return w.add(Part{Kind: Since, At: t.UTC().Round(0)}) }

// Clock appends a time of day.
func (w Words) Clock(t time.Time) Words { return w.add(Part{Kind: Clock, At: t.UTC().Round(0)}) }

// Sentence answers "why" for one object. Lead is the first sentence without its
// subject and tone, Then the second: what unblocks it, and the clock.
type Sentence struct {
	// Namespace and Object name the subject.
	Namespace string `json:"namespace,omitempty"`
	Object    string `json:"object"`
	Tone      Tone   `json:"tone"`
	// Verb and State join subject and tone: "is" "waiting", "has" "failed", "was" "scaled before it rolled".
	Verb  string `json:"verb"`
	State string `json:"state"`
	Lead  Words  `json:"lead"`
	Then  Words  `json:"then,omitempty"`
	// Since is when the object came into this tone, where that is known.
	Since time.Time `json:"since,omitzero"`
	// ChangesAt is the instant at which the clock alone makes another sentence of
	// it; zero where only an event can.
	ChangesAt time.Time `json:"turns,omitzero"`
	// Code is the stable reason code of the situation, e.g. "image-pull".
	Code string `json:"code"`
}

// NoteChange notes an instant at which the clock alone makes another sentence of this one. The
// earliest after now counts.
func (s *Sentence) NoteChange(at, now time.Time) {
	if at.After(now) && (s.ChangesAt.IsZero() || at.Before(s.ChangesAt)) {
		s.ChangesAt = at.UTC().Round(0)
	}
}

// Telling is what a sync has to say of itself.
type Telling struct {
	// Numbers are the object's key numbers.
	Numbers []Fact
	// Diagnosis is what keeps pods, where it is more than what every pod goes through.
	Diagnosis Diagnosis
	Sentence  Sentence
}

// Subject is "namespace/name".
func (s Sentence) Subject() string {
	if s.Namespace == "" {
		return s.Object
	}
	return s.Namespace + "/" + s.Object
}

// usualText is how many bytes of a text have room when it begins: history prints the
// sentence of every sync.
const usualText = 192

// At prints the whole sentence as plain text as of now.
func (s Sentence) At(now time.Time) string {
	b := make([]byte, 0, usualText)
	for _, text := range []string{s.Subject(), " ", s.Verb, " ", s.State} {
		b = append(b, text...)
	}
	b = append(s.Lead.append(b, ": ", now), '.')
	if then := s.Then.append(b, " ", now); len(then) > len(b) {
		b = append(then, '.')
	}
	return string(b)
}

// At prints the words as plain text as of now.
func (w Words) At(now time.Time) string {
	return string(w.append(make([]byte, 0, usualText), "", now))
}

// append appends the words as of now, and before them a join where they say anything.
func (w Words) append(b []byte, join string, now time.Time) []byte {
	all := append(b, join...)
	for i := range w {
		all = w[i].append(all, now)
	}
	if len(all) == len(b)+len(join) {
		return b
	}
	return all
}

func (p *Part) append(b []byte, now time.Time) []byte {
	if p.Kind == Number {
		return strconv.AppendInt(b, p.N, 10)
	}
	return append(b, p.Print(now)...)
}

// Print is the part as plain text as of now.
func (p Part) Print(now time.Time) string {
	switch p.Kind {
	case Number:
		return strconv.FormatInt(p.N, 10)
	case Until:
		return prose.Span(p.At.Sub(now))
	case Since:
		return prose.Span(now.Sub(p.At))
	case Clock:
		return p.At.Format("15:04:05")
	default:
		return p.Text
	}
}
