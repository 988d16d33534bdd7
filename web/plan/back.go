package plan

import (
	"regexp"
	"slices"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// imageEdit changes the images: back to the template of an own ReplicaSet that has them, where it
// can be one alone, and to a new template otherwise.
func (p *rolloutProposal) imageEdit() sim.Edit {
	if sets := p.withImages(); len(sets) == 1 && p.otherwise(sets[0]) != differs {
		return sim.Undo(sets[0].Name)
	}
	return sim.Images(p.to.Images...)
}

// withImages are the own ReplicaSets that have the proposed images. Of several, those are left
// out whose templates are known to be others.
func (p *rolloutProposal) withImages() (sets []*deployment.ReplicaSet) {
	for i := range p.From.ReplicaSets {
		rs := &p.From.ReplicaSets[i]
		if rs.Mine && !rs.Deleting && !rs.SameTemplate && slices.Equal(rs.Images, p.to.Images) {
			sets = append(sets, rs)
		}
	}
	if len(sets) > 1 {
		sets = slices.DeleteFunc(sets, func(rs *deployment.ReplicaSet) bool { return p.otherwise(rs) == differs })
	}
	return sets
}

// comparison is what is known of two templates beside their images.
type comparison int

const (
	unknown comparison = iota
	same
	differs
)

// imageField is what a proposal of images changes of a template.
var imageField = regexp.MustCompile(`^containers\[[^]]*\]\.image$`)

// otherwise compares the template of rs with the present one, beside the images. A snapshot has
// the difference of the newest two alone.
func (p *rolloutProposal) otherwise(rs *deployment.ReplicaSet) comparison {
	c, sets := p.From.Changed, p.From.ReplicaSets
	now := slices.IndexFunc(sets, func(x deployment.ReplicaSet) bool { return x.Mine && x.SameTemplate })
	switch {
	case c == nil || now < 0 || rs.Revision == "" || c.From != rs.Revision || c.To != sets[now].Revision:
		return unknown
	case c.More > 0 || slices.ContainsFunc(c.Fields, func(f decision.Change) bool { return !imageField.MatchString(f.Field) }):
		return differs
	}
	return same
}

// imageAssumption says which template the proposed images are taken for; nil where there is
// no choice.
func (p *rolloutProposal) imageAssumption() views.Text {
	sets := p.withImages()
	if len(sets) == 0 || !p.changed("image") || !p.OK() {
		return nil
	}
	if len(sets) > 1 {
		names := make([]string, len(sets))
		for i, rs := range sets {
			names[i] = rs.Name
		}
		return views.Say(prose.Count(len(sets), "ReplicaSet") + " have the same image (" + prose.Some(names, 3) +
			"). This is taken as a new template; if it is that of one of them, that one is scaled up instead.")
	}
	name := "ReplicaSet " + sets[0].Name
	if sets[0].Revision != "" {
		name = "revision " + sets[0].Revision + " (" + name + ")"
	}
	has := ", which has the same image"
	switch p.otherwise(sets[0]) {
	case differs:
		return views.Say("This does not go back to " + name + has + ": its template differs in something else, too, so a new ReplicaSet is created.")
	case same:
		return views.Say("This goes back to " + name + has + " and differs in nothing else.")
	}
	return views.Say("This is taken as going back to " + name + has + ". If its template differs in something else, a new ReplicaSet is created instead.")
}
