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

// Mode says what this process does to the cluster.
func (s *Source) Mode() views.Text {
	if s.Opts.Recording != nil {
		return s.Opts.Recording.mode()
	}
	switch s.Opts.Mode {
	case "watch":
		return views.Text{}.Strong("watching").Plain(", read-only beside kube-controller-manager")
	case "standby":
		return views.Text{}.Strong("standing by").Plain(leads(s.Opts.Leader))
	}
	return views.Text{}.Strong("acting").Plain(leads(s.Opts.Leader)).Plain(" since " + s.Opts.Started.UTC().Format("15:04"))
}

func leads(who string) string {
	if who == "" {
		return ""
	}
	return ", " + who + " leads"
}

// Notice says what every reader has to know before anything else.
func (s *Source) Notice() *views.Notice {
	if s.Opts.Recording != nil {
		return s.Opts.Recording.notice()
	}
	o := s.Outage()
	if !o.On {
		return nil
	}
	text := views.Say("Since ").Clock(o.Began).Plain(", for ").Since(o.Began).
		Plain(". What is shown is the last known state, and nothing can be written." + s.due())
	if o.Error != "" {
		text = text.Plain(" ").Code(prose.Clip(o.Error, 200))
	}
	return &views.Notice{Tone: views.Failed, Title: "The API server " + o.Lack.Is(), Text: text}
}
