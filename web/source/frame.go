package source

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// Window is what the journal covers.
func (s *Source) Window() views.Window {
	total, since, _ := s.Journal.Window()
	return views.Window{Syncs: total, Since: since.UTC(), InAll: s.Partly()}
}

// Notice says what every reader has to know before anything else.
func (s *Source) Notice() *views.Notice {
	if s.Opts.Recording != nil {
		return s.Opts.Recording.notice()
	}
	o, blind, l, rival, stall := s.Outage(), s.Opts.Blind(), s.Opts.Leadership(), s.Opts.Rival(), s.Opts.Stall()
	switch {
	case o.On:
	case len(blind) > 0:
		return blindNotice(blind)
	case l.StandsBy:
		return standbyNotice(l, s.Opts.Now())
	case rival.Writes > 0:
		return rivalNotice(rival)
	case stall.Decisions > 0:
		return stallNotice(&stall, s.Opts.Started, s.Opts.Now())
	default:
		if n := tookOverNotice(l, s.Opts.Now()); n != nil || !s.Opts.Unguarded {
			return n
		}
		return unguarded
	}
	return &views.Notice{Tone: views.Failed, Title: "The API server " + o.Lack.Is(), Text: s.outageText(o)}
}

// outageText says since when nothing is served, what that means, and where somebody has to do something
// about it, what.
func (s *Source) outageText(o Outage) views.Text {
	text := views.Say("Since ").Clock(o.Began).Plain(", for ").Since(o.Began).
		Plain(". What is shown is the last known state, and nothing can be written." + s.pending(o.Lack))
	if o.Error != "" {
		text = text.Plain(" ").Code(prose.Clip(o.Error, 200))
	}
	if o.Lack == telemetry.LackLogin {
		text = text.Plain(" Renew the credentials: a certificate or token in a file that the kubeconfig names is read again within a minute; one in the kubeconfig itself takes a restart of this process.")
	}
	return text
}

// unguarded says that nobody is asked who they are.
var unguarded = &views.Notice{Tone: views.Idle, Title: "Everybody on the machine where this runs can read this console",
	Text: views.Say("It was started with ").Code("--console-auth=none").Plain(". Without that flag it asks for a token.")}
