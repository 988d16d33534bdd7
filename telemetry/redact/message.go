package redact

import (
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// MaxMessageBytes bounds the words of others that the record keeps of one
// message, in bytes. Nothing reads further than that, and a webhook may say as
// much as it likes.
const MaxMessageBytes = 2 << 10

// longestRead bounds what is read of one message, in bytes: whatever is masked, enough is left.
const longestRead = 8 << 10

// Message is the words of somebody else as the record may hold them: nothing that is
// not for reading (safetext), no credential, and a bearable length. Words
// that went through it once come out of it the same.
func Message(text string) string {
	text, cut := begun(text)
	text = Text(text)
	if len(text) > MaxMessageBytes {
		text, cut = prose.Head(text, MaxMessageBytes-len(prose.Ellipsis)), true
	}
	if cut {
		text += prose.Ellipsis
	}
	return text
}

// begun is what is read of a text. It ends between two words: half a credential would
// not be known for one, a login by nothing but the @ behind it. So a word that goes on
// behind the end is left out, however long.
func begun(text string) (begin string, cut bool) {
	if len(text) <= longestRead {
		return text, false
	}
	return text[:max(0, strings.LastIndexAny(text[:longestRead], " \n\t"))], true
}

// Error returns an error that repeats what an API server said, as it may be shown: in one
// line, without credentials. It wraps err.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return redactedError{err}
}

type redactedError struct{ error }

func (e redactedError) Error() string { return Line(e.error.Error()) }

func (e redactedError) Unwrap() error { return e.error }

// Number is an annotation that should be a whole number, and nothing of one that is none.
func Number(text string) string {
	if _, err := strconv.ParseInt(text, 10, 64); err != nil && text != "" {
		return mask
	}
	return text
}

// Numbers is a list of them.
func Numbers(text string) string {
	if !strings.Contains(text, ",") {
		return Number(text)
	}
	list := strings.Split(text, ",")
	for i, number := range list {
		list[i] = Number(number)
	}
	return strings.Join(list, ",")
}
