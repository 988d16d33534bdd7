package diagnosis

import (
	"slices"
	"strings"
	"unicode"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Mentions reports whether a message of the cluster has the name of an object, as a
// whole word.
func Mentions(message, name string) bool {
	return slices.Contains(strings.FieldsFunc(message, func(r rune) bool {
		return r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), name)
}

// Arrived tells of a finding that an object is there now ("ConfigMap app"), where that is
// what its pods lack: nobody has to do anything any more.
func Arrived(f *decision.Finding, object string) {
	kind, name, _ := strings.Cut(object, " ")
	if !strings.Contains(f.Message, "not found") || !Mentions(f.Message, name) {
		return
	}
	who, soon := "", ""
	switch {
	case f.Code == Claim && kind == "PersistentVolumeClaim":
		who = "the scheduler"
	case f.Code == Config && kind == "ConfigMap":
		who, soon = "the kubelet", ", which takes a minute or two"
	default:
		return
	}
	f.After = words(prose.Plural(f.Count, " waits", " wait") + " for " + who + " to try again, as " + kind + " ").Name(name).Say(" exists now")
	f.Unblocks, f.NeedsAction = words("when "+who+" tries again"+soon), false
}
