package source

import (
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// blindNotice says which objects the loops cannot see, and what that means.
func blindNotice(caches []telemetry.CacheState) *views.Notice {
	var names []string
	started := true
	for _, c := range caches {
		names = append(names, c.Resource)
		started = started && c.Synced
	}
	all, first := prose.And(names), caches[0]
	n := &views.Notice{Tone: views.Failed, Title: "The loops wait for " + all, Text: views.Say("The API server does not list " + first.Resource + ": ")}
	if started {
		n.Title = "What is known of " + all + " is out of date"
	}
	n.Text = n.Text.Code(prose.Clip(first.Error, 400)).Plain(".")
	if strings.Contains(first.Error, "forbidden") {
		n.Text = n.Text.Plain(" Grant this process ").Code("get").Plain(", ").Code("list").Plain(" and ").Code("watch").Plain(" on " + all + ".")
	}
	if started {
		n.Text = n.Text.Plain(" Decisions are made on the last known state until that is possible again.")
	} else {
		n.Text = n.Text.Plain(" Loops that need them decide nothing until then; it is tried again every minute at the latest.")
	}
	return n
}
