package source

import (
	"cmp"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/words"
)

// Watches reports whether this process was started to decide and write nothing.
func (s *Source) Watches() bool { return s.Opts.Mode == "watch" }

// Mode is what this process does to the cluster: "act", "watch", or "standby" while another
// process leads.
func (s *Source) Mode() string {
	if s.Opts.Leadership().StandsBy {
		return "standby"
	}
	return s.Opts.Mode
}

// waits reports whether what this process decides is left to be written by another one.
func (s *Source) waits() bool {
	l := s.Opts.Leadership()
	return s.Opts.Mode != "act" || l.StandsBy && l.Leader != l.Identity
}

// ModeText says it to a reader.
func (s *Source) ModeText() views.Text {
	in := ""
	if s.Opts.Namespace != "" {
		in = " in " + s.Opts.Namespace
	}
	switch l := s.Opts.Leadership(); {
	case s.Opts.Recording != nil:
		return s.Opts.Recording.mode()
	case s.Watches():
		return views.Text{}.Strong("watching" + in).Plain(", read-only beside " + upstream)
	case l.Silent && (l.Leader == "" || l.Leader == l.Identity):
		return views.Text{}.Strong("standing by" + in).Plain(", leader unknown")
	case l.StandsBy && l.Leader == "":
		return views.Text{}.Strong("standing by" + in).Plain(", nobody leads")
	case l.Silent:
		return views.Text{}.Strong("standing by" + in).Plain(", " + prose.Clip(host(l.Leader), 60) + " led last")
	case l.Overdue:
		return views.Text{}.Strong("standing by" + in).Plain(", " + prose.Clip(host(l.Leader), 60) + " is silent")
	case l.StandsBy && s.OwnView():
		return views.Text{}.Strong("standing by" + in).Plain(", " + prose.Clip(host(l.Leader), 60) + " leads; own view")
	case l.StandsBy:
		return views.Text{}.Strong("standing by" + in).Plain(", " + prose.Clip(host(l.Leader), 60) + " leads")
	case l.Elected:
		return views.Text{}.Strong("acting" + in).Plain(", leader since " + l.Since.UTC().Format("15:04"))
	}
	return views.Text{}.Strong("acting" + in).Plain(" since " + s.Opts.Started.UTC().Format("15:04"))
}

// host is the part of an identity that a person knows.
func host(identity string) string {
	name, _, _ := strings.Cut(identity, "_")
	return name
}

// standbyNotice says whose decisions count where those of this process do not, and what would
// change that.
func standbyNotice(l telemetry.Leadership, now time.Time) *views.Notice {
	n := &views.Notice{Tone: views.Waiting, Title: "This process stands by"}
	switch {
	case l.Error != "":
		n.Text = views.Say("For ").Since(l.ErrorSince).Plain(" it could not get at the Lease ").Code(l.Lease).Plain(": ").Code(prose.Clip(l.Error, 200)).
			Plain(". Nothing is written until it can.")
		if l.Silent {
			n.Text = n.Text.Plain(" Who leads now is not known").Join(ledLast(&l)).Plain(".")
		}
		if strings.Contains(l.Error, "forbidden") {
			n.Text = n.Text.Plain(" It needs the rights to get, create and update that Lease.")
		}
	case l.Leader == l.Identity:
		n.Text = views.Say("It did not renew the Lease ").Code(l.Lease).Plain(" in time, so another manager may lead by now. Nothing is written until this process has taken it again, which it tries every few seconds.")
	case l.Silent && l.Leader == "":
		n.Text = views.Say("It has not read the Lease ").Code(l.Lease).Plain(" yet, and writes nothing until it has.")
	case l.Leader == "":
		n.Text = views.Say("Nobody holds the Lease ").Code(l.Lease).Plain(". Nothing is written until this process has taken it, which it tries every few seconds.")
	case l.Overdue || l.Silent:
		n.Title, n.Text = "This process stands by, and the leader is silent", silentLeader(&l, now)
	default:
		n.Text = views.Text{}.Strong(prose.Clip(l.Leader, 200)).Plain(" has led since ").Clock(l.Since).Plain(" UTC by the Lease ").Code(l.Lease).
			Plain(". ").Join(whoseDecisions(l.Following)).Plain(" ").Join(untilWhen(l)).Join(newestGap(l.Missed, now))
		if c, is := newLeader(l, now); is && c.To == l.Leader {
			n.Title = "This process stands by, and the leader has changed"
			n.Text = n.Text.Plain(" " + before(c) + ".")
		}
	}
	return n
}

// longLease is how much longer a Lease may last before it is said how to end it.
const longLease = time.Minute

// silentLeader says that a leader has ceased to renew its Lease, what is shown meanwhile, and when another
// one leads.
func silentLeader(l *telemetry.Leadership, now time.Time) views.Text {
	text := views.Text{}.Strong(prose.Clip(l.Leader, 200)).Plain(" has not renewed the Lease ").Code(l.Lease).Plain(" for ").Since(l.Renewed)
	shown := whoseDecisions(l.Following)
	if f := l.Following; f != nil && f.Connected && f.Shown {
		shown = views.Say("Shown is what this process has received of its decisions so far.")
	}
	if l.Silent {
		return text.Plain(", and it has run out. ").Join(shown).Plain(" Nothing is written until a manager has taken it, which each of them tries every few seconds.")
	}
	text = text.Plain(", and holds it until ").Clock(l.Expires).Plain(" UTC: it may have been killed, or cut off from the API server. ").Join(shown).Plain(" ").Join(untilWhen(*l))
	if namespace, name, _ := strings.Cut(l.Lease, "/"); l.Expires.Sub(now) > longLease {
		text = text.Plain(" If that manager is gone, delete the Lease: ").Code("kubectl -n " + namespace + " delete lease " + name).Plain(".")
	}
	return text
}

// ledLast says who led when that was last known, if it was.
func ledLast(l *telemetry.Leadership) views.Text {
	switch l.Leader {
	case "":
		return views.Text{}
	case l.Identity:
		return views.Say(": this process led last (last renewal ").Clock(l.Renewed).Plain(" UTC)")
	}
	return views.Say(": ").Strong(prose.Clip(l.Leader, 200)).Plain(" led last")
}

// whoseDecisions says what is shown: what the leader decides, or what this process would do.
func whoseDecisions(f *telemetry.Following) views.Text {
	const own = "Shown is what this process would do in its place"
	switch {
	case f == nil || f.Error == "" && !f.Connected && !f.Shown:
		return views.Say(own + ".")
	case f.Connected && f.Shown:
		return views.Say("Shown is what it decides, as this process receives it.")
	case f.Connected:
		return views.Say(own + " until it has received what the leader has decided so far.")
	case f.Shown:
		return views.Say("Shown is what it had decided at ").Clock(f.Since).Plain(" UTC, when the connection to it was lost; this process tries to connect again.")
	case f.From == "":
		return views.Say(own + ": the Lease does not say where the leader's console can be reached. A leader tells others only with ").Code("--secure-port").Plain(".")
	}
	text := views.Say(own + ": its console at ").Code(prose.Clip(f.From, 100)).Plain(" has not been reached since ").Clock(f.Since).Plain(" UTC (").Code(prose.Clip(f.Error, 200)).Plain("), and is tried again.")
	if strings.Contains(f.Error, "cannot get path") {
		text = text.Plain(" The user of this process needs the right to ").Code("get").Plain(" that path.")
	}
	return text
}

// untilWhen says what this process waits for.
func untilWhen(l telemetry.Leadership) views.Text {
	if !l.Elected {
		return views.Say("This process was started without leader election; it writes nothing as long as that Lease is held, since two managers would fight over every ReplicaSet.")
	}
	return views.Say("This process writes nothing, and takes over as soon as that Lease is given back or runs out.")
}

// newsOfGap is how long every page says that syncs are missing.
const newsOfGap = 10 * time.Minute

// newestGap says what is missing of leaders' syncs, where that is news.
func newestGap(missed []telemetry.MissedSyncs, now time.Time) views.Text {
	if len(missed) == 0 || now.Sub(missed[len(missed)-1].From).Abs() > newsOfGap {
		return views.Text{}
	}
	return words.Stop(views.Say(" ").Join(words.Text(missed[len(missed)-1].Tell(), true)))
}

// newsOfLeader is how long every page says that this process has become the leader.
const newsOfLeader = 2 * time.Minute

// newLeader is the newest change of leader, where that is news.
func newLeader(l telemetry.Leadership, now time.Time) (c telemetry.LeaderChange, is bool) {
	if len(l.Changes) == 0 {
		return c, false
	}
	c = l.Changes[len(l.Changes)-1]
	return c, c.Gap() > 0 && now.Sub(c.At).Abs() < newsOfLeader // A clock that was set back makes no news.
}

// before says who led before a change.
func before(c telemetry.LeaderChange) string {
	if c.From == "" {
		return "Nobody led for " + prose.Span(c.Gap()) + " before"
	}
	return prose.Clip(host(c.From), 60) + " led before, and last renewed the Lease " + prose.Span(c.Gap()) + " earlier"
}

// tookOverNotice says that this process has just taken over from another one.
func tookOverNotice(l telemetry.Leadership, now time.Time) *views.Notice {
	c, is := newLeader(l, now)
	if !is || c.To != l.Identity {
		return nil
	}
	return &views.Notice{Tone: views.Moving, Title: "This process has become the leader",
		Text: views.Say("It has led since ").Clock(c.At).Plain(" UTC. " + before(c) + ". Every object has been queued once more since.").Join(newestGap(l.Missed, now))}
}

// rivalNotice says that two act where one should.
func rivalNotice(r telemetry.Rival) *views.Notice {
	n := &views.Notice{Tone: views.Failed, Title: "Another manager acts on this cluster, too"}
	as := "under the name of this process"
	if r.Manager == upstream {
		n.Title, as = upstream+" acts on the same objects", "as "+upstream
	}
	n.Text = views.Say("In the last minute it wrote " + prose.Thousands(r.Writes) + " statuses " + as + ", the last one ")
	if r.Object != "" { // The reader may see it.
		n.Text = n.Text.Plain("of ").Code(prose.Clip(r.Object, 200)).Plain(" ")
	}
	n.Text = n.Text.Since(r.Last).Plain(" ago. The two fight over every ReplicaSet: there may be more pods than any rollout allows. ")
	if r.Manager == upstream {
		n.Text = n.Text.Plain("Start it without these loops, with ").Code("--controllers=*,-deployment-controller,-replicaset-controller,-replicationcontroller-controller").
			Plain(", or this process with ").Code("--watch").Plain(".")
		return n
	}
	n.Text = n.Text.Plain("End one of them, or start both with ").Code("--leader-elect").Plain(".")
	return n
}

// upstream is the program whose loops these are.
const upstream = "kube-controller-manager"

// LeaderText says who leads, and by what right.
func (s *Source) LeaderText() views.Text {
	l := s.Opts.Leadership()
	switch {
	case s.Watches():
		return views.Say("This process writes nothing, so that it takes no part in a leader election.")
	case l.Lease == "":
		return views.Say("There is no leader election: one process acts. A second one would fight over every ReplicaSet.")
	case l.Silent:
		return unknownLeader(&l)
	case l.Overdue:
		return views.Text{}.Strong(l.Leader).Plain(" by the Lease ").Code(l.Lease).Plain(", which it has not renewed for ").Since(l.Renewed)
	case l.StandsBy:
		return views.Text{}.Strong(cmp.Or(l.Leader, "nobody")).Plain(" by the Lease ").Code(l.Lease)
	case !l.Elected:
		return views.Say("This process acts without leader election. It looked at the Lease ").Code(l.Lease).Plain(" when it started, and nobody held it.")
	}
	return views.Text{}.Strong("this process").Plain(", since " + l.Since.UTC().Format(time.DateTime) + " UTC, as ").Code(l.Identity).Plain(" by the Lease ").Code(l.Lease)
}

// unknownLeader says who led last, and why it is not known who does.
func unknownLeader(l *telemetry.Leadership) views.Text {
	text := views.Say("not known").Join(ledLast(l))
	switch {
	case l.Error != "":
		return text.Plain("; the Lease ").Code(l.Lease).Plain(" cannot be read or written: ").Code(prose.Clip(l.Error, 200))
	case l.Leader == "":
		return text.Plain("; the Lease ").Code(l.Lease).Plain(" has not been read yet")
	}
	return text.Plain(" by the Lease ").Code(l.Lease)
}
