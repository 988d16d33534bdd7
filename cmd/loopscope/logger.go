package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// newLogger writes the log of a program that runs on. Errors repeat what API servers,
// webhooks and collectors said: none is logged with a credential.
func newLogger(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: redacted}))
}

// redacted masks texts and whatever is written as one. A stack is made of ours alone.
func redacted(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value; {
	case a.Key == "stack":
	case v.Kind() == slog.KindString:
		a.Value = slog.StringValue(redact.Text(v.String()))
	case v.Kind() == slog.KindAny && a.Key != slog.LevelKey && v.Any() != nil:
		a.Value = slog.StringValue(redact.Text(fmt.Sprintf("%+v", v.Any())))
	}
	return a
}
