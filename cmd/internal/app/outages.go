package app

import (
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// keptOutages is how many outages that are over are remembered.
const keptOutages = 64

// outages is what probes have found out about the API server.
type outages struct {
	state telemetry.ServerState
	// served is the newest probe that succeeded: an outage began after it, and what is
	// known is of then.
	served   time.Time
	answered bool // at all
	// worst is what the present outage lacked when that was most.
	worst telemetry.Outage
}

// begin takes it that an API server serves, until a probe says something else.
func (o *outages) begin(now time.Time) {
	o.state, o.served = telemetry.ServerState{Reachable: true, Since: now}, now
}

// note takes the outcome of a probe, and reports whether an API server serves again.
func (o *outages) note(now time.Time, err error) (again bool) {
	s := &o.state
	if err == nil {
		if again = !s.Reachable; again {
			o.over(now)
		}
		o.served, o.answered = now, true
		return again
	}
	lack := lackOf(err)
	if s.Reachable {
		s.Reachable, s.Since = false, o.served
	}
	s.Lack, s.Error = lack, redact.Line(err.Error())
	if now, _ := s.Outage(); o.worst.Began.IsZero() || lack.Worse(o.worst.Lack) {
		o.worst = now
	}
	return false
}

// over ends the present outage.
func (o *outages) over(now time.Time) {
	o.worst.Ended = now
	list := append(slices.Clone(o.state.Over), o.worst) // Readers have the one of before.
	o.worst = telemetry.Outage{}
	o.state = telemetry.ServerState{Reachable: true, Since: now, Over: list[max(0, len(list)-keptOutages):]}
}

func (o *outages) now() telemetry.ServerState { return o.state }

// notReady is an API server that answers, with the checks of its /readyz that failed.
type notReady struct{ failed []string }

func (e *notReady) Error() string { return "/readyz: " + strings.Join(e.failed, ", ") }

// unready reads the failed checks out of what /readyz answered, where it did.
func unready(err error) error {
	answer, ok := apierrors.StatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	if !ok {
		return err
	}
	var failed []string
	for line := range strings.Lines(answer.Message) {
		if check, found := strings.CutPrefix(line, "[-]"); found {
			check, _, _ = strings.Cut(strings.TrimSpace(check), ": ") // Its reason is withheld.
			failed = append(failed, check)
		}
	}
	if len(failed) == 0 {
		return err
	}
	return &notReady{failed}
}

// lackOf tells an API server that is not there from one that is, and cannot serve.
func lackOf(err error) telemetry.Lack {
	var e *notReady
	switch {
	case errors.As(err, &e) && slices.ContainsFunc(e.failed, func(check string) bool { return strings.HasPrefix(check, "etcd") }):
		return telemetry.LackEtcd
	case apierrors.IsUnauthorized(err):
		return telemetry.LackLogin
	case e != nil, errors.As(err, new(apierrors.APIStatus)):
		return telemetry.LackReady
	default:
		return telemetry.LackAnswer
	}
}
