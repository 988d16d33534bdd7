package object

import (
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

// maxDiffs bounds how many snapshots are read for the changes of older revisions.
const maxDiffs = 4

// revisions adds to each ReplicaSet what its revision changed of the one before.
// The newest snapshot knows that of the newest; those of older ones are in
// snapshots of the time when they were the newest.
func revisions(x *subject.Subject, sets []views.Set, newest *deployment.Snapshot) {
	changes, read := map[string]*deployment.TemplateChange{}, 0
	note := func(c *deployment.TemplateChange) {
		if c != nil {
			changes[c.To] = c
		}
	}
	note(newest.Changed)
	for i := len(x.Kept) - 1; i >= 0 && read < maxDiffs; i-- {
		revision := facts.NumbersOf(x.Kept[i]).Text("revision")
		if _, known := changes[revision]; known || revision == "" || !hasRevision(sets, revision) {
			continue
		}
		changes[revision] = nil // One look is enough.
		if snap, err := facts.Deployment(x.Loops, x.Kept[i]); err == nil {
			note(snap.Changed)
		}
		read++
	}
	for i := range sets {
		if c := changes[sets[i].Revision]; c != nil {
			sets[i].Diff = diffOf(c)
			sets[i].Diff.By = changedBy(x, c.To)
		}
	}
}

func hasRevision(sets []views.Set, revision string) bool {
	for i := range sets {
		if sets[i].Revision == revision {
			return true
		}
	}
	return false
}

// diffOf is a change of a template; what has no values here is masked.
func diffOf(c *deployment.TemplateChange) *views.Diff {
	d := &views.Diff{From: c.From, To: c.To}
	for _, f := range c.Fields {
		d.Fields = append(d.Fields, diffField(f))
	}
	if c.More > 0 {
		d.More = "and " + words.Digits(c.More) + " more " + prose.Plural(c.More, "path", "paths")
	}
	return d
}

func diffField(f decision.Change) views.DiffField {
	v := views.DiffField{Path: f.Field, Old: prose.Clip(f.From, 300), New: prose.Clip(f.To, 300)}
	v.Masked = f.From == "" && f.To == ""
	return v
}

// changedBy is who changed the template to that revision, and when, as far as
// the syncs that are kept were told.
func changedBy(x *subject.Subject, revision string) views.Text {
	var by *telemetry.Cause
	before := ""
	for _, t := range x.Kept {
		for i := range t.Causes {
			if c := &t.Causes[i]; strings.HasPrefix(c.Object, "Deployment ") && changesTemplate(c) {
				by = c
			}
		}
		now := facts.NumbersOf(t).Text("revision")
		if now == revision && before != revision && by != nil {
			text := views.Say("at ").Clock(by.At)
			if by.Manager != "" {
				text = views.Say("by ").Code(by.Manager).Plain(" ").Join(text)
			}
			return text
		}
		if now != "" {
			before = now
		}
	}
	return nil
}

func changesTemplate(c *telemetry.Cause) bool {
	for i := range c.Fields {
		if strings.HasPrefix(c.Fields[i].Field, "spec.template") {
			return true
		}
	}
	return false
}
