package object

import (
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

// coming is the sync of an object after its newest, where that takes long and has not ended.
func (s *Pages) coming(x *subject.Subject, now time.Time) words.Coming {
	if !x.Moment.IsZero() || !x.OnList || x.Unseen() {
		return words.Coming{}
	}
	return words.ComingOf(s.KeysLately(x.Object.Loop).Of(x.Object.Key()), x.Newest).Long(now)
}

// firstSync is the page of an object while its first sync has not ended. It becomes that of the object.
func (s *Pages) firstSync(q *page.Query, e views.Problem) *page.Page {
	o := q.Object
	p := &page.Page{Status: e.Status, Frame: s.Frame(q, e.Heading), Body: views.FirstSync(e), Data: e}
	p.Frame.Tab = s.TabOf(o.Loop)
	p.Frame.Up, p.Frame.Crumbs, p.Frame.Keys = p.Frame.Tab, s.Crumbs(s.TabListOf(o.Loop), o), page.CommonKeys
	p.GoLive(q, page.Part{ID: "f-first", View: views.FirstSync(e)})
	was := words.ComingOf(s.KeysLately(o.Loop).Of(o.Key()), nil)
	p.Touches = func(t *telemetry.Trace) bool { return t.Object == o }
	p.Outdated = func() bool {
		return !was.Same(words.ComingOf(s.KeysLately(o.Loop).Of(o.Key()), nil))
	}
	return p
}
