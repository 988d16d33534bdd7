package instrument

import (
	"github.com/loopscope/loopscope/controllers/redact"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// maxLine bounds, in bytes, what is kept of one text of others.
const maxLine = 2 << 10

// line is a text of others as the record may hold it: in one line, without credentials
// and hidden characters, and of a bearable length.
func line(text string) string {
	return redact.Line(prose.Head(text, maxLine))
}
