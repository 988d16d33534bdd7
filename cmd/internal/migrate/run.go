package migrate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// lookEvery is how often a loop's answer is looked for.
	lookEvery = 100 * time.Millisecond
	// quietFor is how long a loop may take before what is waited for is said.
	quietFor = 2 * time.Second
	// longFor is how long it may take before it is said where to look.
	longFor = 15 * time.Second
	// unreachableFor is how long the API server may not answer.
	unreachableFor = 30 * time.Second
	// lastFor is how long the write under way and a last look may take after an interrupt.
	lastFor = 5 * time.Second
)

// Stuck is the end of a migration that needs somebody.
type Stuck struct{ Sentence string }

func (s *Stuck) Error() string { return s.Sentence }

// Report is what became of the pods.
type Report struct {
	// End says how it ended.
	End string `json:"end"`
	// Kept are the pods that are the same as before, Restarted those of them whose containers were
	// restarted meanwhile, Gone those that are not there any more and New those that came.
	Kept      int      `json:"kept"`
	Restarted []string `json:"restarted,omitempty"`
	Gone      []string `json:"gone,omitempty"`
	New       []string `json:"new,omitempty"`
	// Unattended is how long no loop would have replaced a pod, as far as this run has seen it.
	Unattended time.Duration `json:"unattendedNanoseconds"`
}

// Migration is one ReplicationController's. It is used by one goroutine.
type Migration struct {
	client    kubernetes.Interface
	namespace string
	options   Options
	say       func(Step)

	now      *Cluster
	deleting bool          // the deletion of the ReplicationController was sent since now was read
	since    time.Time     // when nobody began to replace a pod; zero while somebody does
	alone    time.Duration // for how long nobody has
	lost     time.Time     // when the API server ceased to answer
	said     string        // the newest step
	wait     time.Time     // since when it is that
	told     bool          // say has been told of it
	long     bool          // and of its taking long
}

// New is a migration with the cluster of a configuration. say is told of every step that is taken
// and, after a while, of what is waited for.
func New(config *rest.Config, namespace string, o Options, say func(Step)) (*Migration, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Migration{client: client, namespace: namespace, options: o, say: say}, nil
}

// Run takes step after step to the end. The error is a *Stuck where somebody is needed, and tells
// where things stand otherwise.
func (m *Migration) Run(ctx context.Context) (Report, error) {
	var before []corev1.Pod
	for {
		s, err := m.turn(ctx)
		if m.now != nil && before == nil {
			before = slices.Clone(m.now.Pods)
		}
		switch {
		case err != nil:
			return Report{}, m.left(ctx, err)
		case s.Kind == Blocked:
			return Report{}, &Stuck{s.Text}
		case s.Kind == Done:
			return m.report(s, before), nil
		case s.Kind == Act:
			continue
		}
		select {
		case <-ctx.Done():
			return Report{}, m.left(ctx, context.Cause(ctx))
		case <-time.After(lookEvery):
		}
	}
}

// turn looks once, and takes the step that is due.
func (m *Migration) turn(ctx context.Context) (Step, error) {
	c, err := read(ctx, m.client, m.namespace, &m.options)
	if err != nil {
		return Step{Kind: Wait}, m.unanswered(ctx, err)
	}
	if c.Controller == nil && m.now != nil { // Deleted by this run: its pods are what was seen last.
		c.Pods = m.now.Pods
	}
	m.now, m.deleting = c, false
	m.remember(c.Controller)
	s := next(c, &m.options)
	m.tell(s)
	for i := range s.Writes {
		if err := m.write(ctx, &s.Writes[i]); err != nil {
			return Step{Kind: Wait}, m.unanswered(ctx, err)
		}
	}
	m.lost = time.Time{}
	m.attend()
	return s, nil
}

// write makes one write, which an interrupt does not cut off before it is known what became of it.
func (m *Migration) write(ctx context.Context, w *Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastFor, cancel) })()
	m.deleting = m.deleting || w.Verb == Delete && w.Kind == "ReplicationController"
	return send(longer, m.client, w)
}

// remember keeps the name of the Deployment, which nothing tells once the ReplicationController is
// gone.
func (m *Migration) remember(rc *corev1.ReplicationController) {
	if rc == nil || m.options.Name != "" {
		return
	}
	if r, err := recordOf(rc); err == nil && r != nil {
		m.options.Name = r.Deployment
	}
}

// tell says a step once, and what is waited for once that takes a while and once more where it
// takes long.
func (m *Migration) tell(s Step) {
	if s.Text != m.said {
		m.said, m.wait, m.told, m.long = s.Text, time.Now(), false, false
	}
	waited := time.Since(m.wait)
	if !m.told && (s.Kind == Act || s.Kind == Wait && waited >= quietFor) {
		m.told = true
		m.say(s)
	}
	if !m.long && s.Kind == Wait && waited >= longFor {
		m.long = true
		s.Text += ", for " + prose.Span(waited) + " already: 'loopscope open' shows what keeps it. Ctrl-C leaves things as they are; " + m.goesOn()
		m.say(s)
	}
}

// goesOn is how to continue from here, and how to go back where that is possible.
func (m *Migration) goesOn() string {
	const continues, andBack = "the same command continues", ", and --undo --write goes back"
	c := m.now
	going := c != nil && (c.Controller == nil || c.Controller.DeletionTimestamp != nil)
	switch {
	case going && !c.takenOver():
		return "the same command cannot continue, as no Deployment has taken the pods over, and there is no way back: a ReplicationController that " +
			createAgain
	case going && m.options.Undo:
		return "there is no way back any more"
	case going || m.options.Undo:
		return continues
	case m.deleting:
		return continues + andBack + " unless the ReplicationController has been deleted"
	}
	return continues + andBack
}

// attend counts for how long no loop would have replaced a pod.
func (m *Migration) attend() {
	c, now := m.now, time.Now()
	nobody := c.Controller != nil && (released(c.Controller) && !c.replaced() || sealed(c.Controller.Spec.Template))
	switch {
	case nobody && m.since.IsZero():
		m.since = now
	case !nobody && !m.since.IsZero():
		m.alone += now.Sub(m.since)
		m.since = time.Time{}
	}
}

// unanswered bears with an API server that does not answer for a while, and with nothing else.
func (m *Migration) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !passing(err) {
		return err
	}
	if m.lost.IsZero() {
		m.lost = time.Now()
	}
	if time.Since(m.lost) >= unreachableFor {
		return err
	}
	return nil
}

// passing reports whether an error may be gone the next time.
func passing(err error) bool {
	var network net.Error
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServiceUnavailable(err) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		errors.As(err, &network)
}

// left says where an end that is none leaves things.
func (m *Migration) left(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("it took too long")
		if m.said != "" {
			err = fmt.Errorf("it took too long: waited %s", m.said)
		}
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	text := redact.Error(err)
	stands := m.stands(ctx)
	if stands == "" {
		return text
	}
	return fmt.Errorf("%w\nWhere it stands: %s. %s", text, stands, prose.Upper(m.goesOn()))
}

// stands is where things stand after the last write; "" where nothing was ever read. Where they cannot be read
// again, it is how they were before.
func (m *Migration) stands(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFor)
	defer cancel()
	switch c, err := read(ctx, m.client, m.namespace, &m.options); {
	case err == nil:
		m.now, m.deleting = c, false
		return c.phase()
	case m.now == nil:
		return ""
	}
	return "the cluster cannot be read any more; when last read, " + m.now.phase() + ", and a step that was begun since may have been taken"
}

func (m *Migration) report(end Step, before []corev1.Pod) Report {
	r := Report{End: end.Text, Unattended: m.alone}
	was := map[types.UID]int32{}
	for i := range before {
		if active(&before[i]) {
			was[before[i].UID] = restarts(&before[i])
		}
	}
	for i := range m.now.Pods {
		p := &m.now.Pods[i]
		count, known := was[p.UID]
		switch {
		case !active(p):
			continue
		case !known:
			r.New = append(r.New, p.Name)
		default:
			if r.Kept++; restarts(p) != count {
				r.Restarted = append(r.Restarted, p.Name)
			}
		}
		delete(was, p.UID)
	}
	for i := range before {
		if _, gone := was[before[i].UID]; gone {
			r.Gone = append(r.Gone, before[i].Name)
		}
	}
	return r
}

func restarts(p *corev1.Pod) (n int32) {
	for i := range p.Status.ContainerStatuses {
		n += p.Status.ContainerStatuses[i].RestartCount
	}
	return n
}

// String is the report as it is read.
func (r *Report) String() string {
	if r.Kept+len(r.Gone)+len(r.New) == 0 {
		return r.End + "."
	}
	text := fmt.Sprintf("%s. %s the same as before", r.End, prose.Plural(r.Kept, "1 pod is", fmt.Sprintf("%d pods are", r.Kept)))
	for _, x := range []struct {
		what  string
		names []string
	}{{"restarted meanwhile", r.Restarted}, {"gone", r.Gone}, {"new", r.New}} {
		if len(x.names) > 0 {
			text += "; " + x.what + ": " + prose.Some(x.names, mostNames)
		}
	}
	if len(r.Restarted) == 0 {
		text += ", none was restarted"
	}
	if r.Unattended > 0 {
		text += fmt.Sprintf("; for %.1f s no loop would have replaced one", r.Unattended.Seconds())
	}
	return text + "."
}
