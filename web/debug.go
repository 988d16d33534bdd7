package web

import (
	"cmp"
	"net/http"
	"sort"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/source"
)

// verdictLine is the newest verdict of an object, for a program or a shell.
type verdictLine struct {
	Object   string           `json:"object"`
	Seq      uint64           `json:"seq"`
	Ended    time.Time        `json:"ended"`
	Result   telemetry.Result `json:"result"`
	Leaf     string           `json:"leaf,omitempty"`
	Sentence string           `json:"sentence"`
	Href     string           `json:"href"`
}

// debugList is the index of /debug/controllers.
type debugList struct {
	Epoch      string               `json:"epoch"`
	Last       uint64               `json:"last"`
	Leadership telemetry.Leadership `json:"leadership,omitzero"`
	Loops      []debugEntry         `json:"controllers"`
}

type debugEntry struct {
	Name       string `json:"name"`
	Controller string `json:"controller"` // what the loop is called as a controller
	Href       string `json:"href"`
	Mode       string `json:"mode"`
	Running    bool   `json:"running"`
	Keys       *int   `json:"keys,omitempty"` // not known of another process
	Objects    int    `json:"objects"`
	// Off is why it does not run; nil where it does.
	Off *telemetry.Off `json:"off,omitempty"`
}

// debug lists what is served for programs, and for whoever looks for a defect.
func (s *Server) debug(q *page.Query) (*page.Page, error) {
	list := s.endpoints()
	v := views.Debug{Headline: "Addresses for programs", Then: "What this process says about itself, besides the pages."}
	for _, a := range list {
		v.Lines = append(v.Lines, views.Line{Label: a.Name, Text: views.Text{}.Link(a.Path, a.Path).Plain(" " + a.Says)})
	}
	p := &page.Page{Status: http.StatusOK, Frame: s.pages.Frame(q, "Debug"), Body: views.DebugBody(v), Data: list}
	p.Frame.Crumbs, p.Frame.Keys = []views.Link{{Text: "debug"}}, page.CommonKeys
	return p, nil
}

// debugIndex lists the loops, as /debug/controllers of kube-controller-manager does.
func (s *Server) debugIndex(q *page.Query) (*page.Page, error) {
	d := debugList{Epoch: s.src.Journal.Epoch(), Last: s.src.Journal.Last(), Leadership: s.src.Opts.Leadership()}
	v := views.Debug{Headline: "Debug endpoints of the loops", Then: "Queue and key states and the newest verdicts" + s.src.SeenOf() + ", as JSON."}
	for _, l := range s.src.Opts.Loops() {
		e := debugEntry{Name: l.Name, Controller: s.src.ControllerOf(l.Name), Off: l.Off, Href: "/debug/controllers/" + l.Name, Mode: l.Mode, Running: l.Running,
			Objects: len(s.src.Journal.Board().List(l.Name))}
		keys := "keys not known here"
		if s.src.QueuesUnknown() == "" {
			n := len(l.Queue.Keys)
			e.Keys, keys = &n, prose.Count(n, "key")
		}
		d.Loops = append(d.Loops, e)
		text := views.Text{}.Link(e.Href, e.Href).Plain(" ")
		if l.Mode == telemetry.ModeOff {
			text = text.Plain("does not run here: ").Join(s.src.Off(&l))
		} else {
			text = text.Plain(keys + ", " + prose.Count(e.Objects, "object"))
		}
		v.Lines = append(v.Lines, views.Line{Label: l.Name, Text: text})
	}
	p := &page.Page{Status: http.StatusOK, Frame: s.pages.Frame(q, "Debug"), Body: views.DebugBody(v), Data: d}
	p.Frame.Crumbs, p.Frame.Keys = []views.Link{{Text: "debug", Href: "/debug"}, {Text: "controllers"}}, page.CommonKeys
	return p, nil
}

// debugLoop is the state of a loop and its newest verdicts, always as JSON.
func (s *Server) debugLoop(q *page.Query) (*page.Page, error) {
	q.Twin, q.Loop = true, s.called(q.Loop)
	state, err := s.loop(q.Loop)
	if err != nil {
		return nil, err
	}
	verdicts := []verdictLine{}
	for _, t := range s.src.Journal.Board().List(q.Loop) {
		said, at := s.src.SaidThen(t, q.Now)
		verdicts = append(verdicts, verdictLine{t.Key(), t.Seq, t.Ended.UTC(), t.Result, t.Leaf(), said.At(at), "/debug/controllers/" + q.Loop + "/" + cmp.Or(t.Namespace, decision.NoNamespace) + "/" + t.Name})
	}
	return &page.Page{Frame: s.pages.Frame(q, "Debug"), Data: struct {
		State    telemetry.LoopState `json:"state"`
		Verdicts []verdictLine       `json:"verdicts"`
	}{*state, verdicts}}, nil
}

// debugGraph is what a loop decides, for Graphviz: under kube-controller-manager's one address of
// that kind a controller draws itself, too.
func (s *Server) debugGraph(w http.ResponseWriter, r *http.Request) {
	state, err := s.loop(s.called(chi.URLParam(r, "loop")))
	if err != nil {
		s.pages.Serve(func(*page.Query) (*page.Page, error) { return nil, err })(w, r)
		return
	}
	answer.New(r, http.StatusOK, "text/vnd.graphviz; charset=utf-8", []byte(s.src.Catalogue(state.Name).Graph().DOT())).Send(w, r)
}

// debugObject is the key and the kept syncs of one object, the newest in full.
func (s *Server) debugObject(q *page.Query) (*page.Page, error) {
	q.Twin, q.Loop = true, s.called(q.Loop)
	state, err := s.loop(q.Loop)
	if err != nil {
		return nil, err
	}
	o := telemetry.Object{Loop: q.Loop, Namespace: q.Namespace, Name: q.Name}
	kept := s.src.Journal.Of(o, source.HistoryRows)
	row, ok := s.src.Journal.Board().Row(o)
	if !ok && len(kept) == 0 {
		return nil, s.objects.UnknownObject(o)
	}
	newest := row.Trace
	if newest == nil {
		newest = kept[len(kept)-1]
	}
	syncs := make([]uint64, 0, len(kept))
	for _, t := range kept {
		syncs = append(syncs, t.Seq)
	}
	return &page.Page{Frame: s.pages.Frame(q, "Debug"), Data: struct {
		Key    *telemetry.KeyState `json:"key"`
		Newest *telemetry.Trace    `json:"newest"`
		Syncs  []uint64            `json:"syncs"`
		Folded uint64              `json:"folded"`
	}{keyIn(state, o.Key()), newest, syncs, s.src.Journal.Folded(o)}}, nil
}

func keyIn(l *telemetry.LoopState, key string) *telemetry.KeyState {
	for i := range l.Queue.Keys {
		if l.Queue.Keys[i].Key == key {
			return &l.Queue.Keys[i]
		}
	}
	return nil
}

// called is the loop of a controller, which has another name in kube-controller-manager;
// a loop is called by its own name as well.
func (s *Server) called(name string) string { return cmp.Or(s.src.Opts.Controllers[name], name) }

func (s *Server) loop(name string) (*telemetry.LoopState, error) {
	loops := s.src.Opts.Loops()
	names := make([]string, 0, len(loops))
	for i := range loops {
		if loops[i].Name == name {
			return &loops[i], nil
		}
		names = append(names, s.src.ControllerOf(loops[i].Name))
	}
	sort.Strings(names)
	e := answer.NewProblem(http.StatusNotFound, "unknown-loop", "There is no loop of that name here.", views.Say("Asked for ").Code(prose.Clip(name, 60)).Plain("."))
	for _, n := range names {
		e = e.Link(n, "/debug/controllers/"+n)
	}
	return nil, e.Link("index", "/debug/controllers")
}
