package tracefile

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

const (
	// maxName bounds names of objects, as Kubernetes does; maxEpoch those of runs.
	maxName, maxEpoch = 253, 64
	// longest is how many characters of a bad value an error repeats.
	longest = 60
	// maxRounds is more than any loop makes.
	maxRounds = 16
)

// check refuses what pages and replay may rely on not to meet.
func check(t *telemetry.Trace) error {
	switch {
	case t.Version > telemetry.TraceVersion:
		return fmt.Errorf("the trace is of version %d, and this program reads version %d: use a newer Loopscope", t.Version, telemetry.TraceVersion)
	case t.Version < 1:
		return errors.New(`the trace has no version: it begins with "v": 1`)
	case t.Seq == 0:
		return errors.New("the trace has no number")
	case !slices.Contains(telemetry.Results, t.Result):
		return fmt.Errorf("result %q is not known", prose.Clip(string(t.Result), longest))
	}
	return errors.Join(loopName(t.Loop), word("epoch", t.Epoch, maxEpoch), namespace(t.Namespace), word("name", t.Name, maxName),
		instant("started", t.Started), instant("ended", t.Ended), checkRounds(t))
}

// namespace refuses what no namespace is called; objects may have none.
func namespace(s string) error {
	switch s {
	case "":
		return nil
	case decision.NoNamespace:
		return fmt.Errorf("its namespace is %q, which stands for none in addresses: leave it empty", s)
	}
	return word("namespace", s, maxName)
}

// checkLoops refuses declarations that could not be those of a program.
func checkLoops(loops decision.Loops) error {
	if len(loops) > MaxLoops {
		return fmt.Errorf("it declares %d loops, and %d are read", len(loops), MaxLoops)
	}
	for _, l := range loops {
		if err := errors.Join(loopName(l.Name), word("kind", l.Kind, maxName)); err != nil {
			return fmt.Errorf("a loop that it declares: %w", err)
		}
	}
	return nil
}

// loopName refuses what no loop is called: it stands in addresses and labels, whatever
// program recorded it.
func loopName(s string) error {
	if !decision.IsLoopName(s) {
		return fmt.Errorf("loop %q is not a name: 1 to 63 lower-case letters, digits and hyphens, the first a letter", prose.Clip(s, longest))
	}
	return nil
}

// word refuses what could not stand in an address.
func word(field, s string, most int) error {
	switch {
	case s == "" || len(s) > most:
		return fmt.Errorf("its %s has %d bytes, and 1 to %d are allowed", field, len(s), most)
	case !utf8.ValidString(s):
		return fmt.Errorf("its %s is not UTF-8", field)
	}
	for _, r := range s {
		if r == '/' || unicode.IsSpace(r) || safetext.Hidden(r) {
			return fmt.Errorf("its %s %q holds a character that no name has", field, prose.Head(s, longest))
		}
	}
	return nil
}

func instant(field string, t time.Time) error {
	if y := t.Year(); y < 1970 || y > 9000 {
		return fmt.Errorf("its %s is in the year %d", field, y)
	}
	return nil
}

func checkRounds(t *telemetry.Trace) error {
	if len(t.Rounds) > maxRounds {
		return fmt.Errorf("it has %d rounds, more than the %d that are read", len(t.Rounds), maxRounds)
	}
	for i, r := range t.Rounds {
		if n, have := len(r.Outcomes), len(r.Verdict.Actions); n > have {
			return fmt.Errorf("round %d has %d outcomes of %d actions", i+1, n, have)
		}
	}
	return nil
}
