package source

import (
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// Window is what the journal covers.
func (s *Source) Window() views.Window {
	total, since, _ := s.Journal.Window()
	return views.Window{Syncs: total, Since: since.UTC()}
}

// Notice says what every reader has to know before anything else.
func (s *Source) Notice() *views.Notice {
	if s.Opts.Recording != nil {
		return s.Opts.Recording.notice()
	}
	o, blind, l, rival := s.Outage(), s.Opts.Blind(), s.Opts.Leadership(), s.Opts.Rival()
	switch {
	case o.On:
	case len(blind) > 0:
		return blindNotice(blind)
	case l.StandsBy:
		return standbyNotice(l)
	case rival.Writes > 0:
		return rivalNotice(rival)
	default:
		return tookOverNotice(l, s.Opts.Now())
	}
	text := views.Say("Since ").Clock(o.Began).Plain(", for ").Since(o.Began).
		Plain(". What is shown is the last known state, and nothing can be written." + s.due())
	if o.Error != "" {
		text = text.Plain(" ").Code(prose.Clip(o.Error, 200))
	}
	return &views.Notice{Tone: views.Failed, Title: "The API server " + o.Lack.Is(), Text: text}
}
