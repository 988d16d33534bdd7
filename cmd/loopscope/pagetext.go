package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// pageText is words of a page in which ages and countdowns are instants.
type pageText []pageRun

type pageRun struct {
	Text  string     `json:"text,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	At    *time.Time `json:"at,omitempty"`
}

// UnmarshalJSON takes a text that stands still, or the list of its parts.
func (t *pageText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*t = pageText{{}}
		return json.Unmarshal(data, &(*t)[0].Text)
	}
	var runs []pageRun
	if err := json.Unmarshal(data, &runs); err != nil {
		return err
	}
	*t = runs
	return nil
}

// at is the text as of an instant, without what would tell a terminal to do something.
func (t pageText) at(now time.Time) string {
	var b strings.Builder
	for _, r := range t {
		switch {
		case r.Until != nil:
			b.WriteString(prose.Span(r.Until.Sub(now)))
		case r.Since != nil:
			b.WriteString(prose.Span(now.Sub(*r.Since)))
		case r.At != nil:
			b.WriteString(r.At.UTC().Format("15:04:05"))
		default:
			b.WriteString(r.Text)
		}
	}
	return safetext.Line(b.String())
}
