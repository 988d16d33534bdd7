package instrument

import "github.com/loopscope/loopscope/telemetry/redact"

// line is a text of others as the record may hold it: in one line, without credentials
// and hidden characters, and of a bearable length.
func line(text string) string { return redact.Line(redact.Message(text)) }
