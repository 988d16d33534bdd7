package rollingupdate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/loopscope/loopscope/controllers/rollout"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// The annotations of an update ([RU-1]). Those of kubectl mean what they meant there.
const (
	// AnnotationRequest is on the old ReplicationController: what is asked for, as a Request.
	AnnotationRequest = "rollingupdate.loopscope.dev/request"
	// AnnotationStepped is on either: when it was last scaled, in RFC 3339.
	AnnotationStepped = "rollingupdate.loopscope.dev/stepped"
	// AnnotationSize is on either: the size that the update has given it.
	AnnotationSize = "rollingupdate.loopscope.dev/size"
	// AnnotationParked is on the one that takes over the old name, until it has the pods, as a
	// Parked.
	AnnotationParked = "rollingupdate.loopscope.dev/parked"
	// AnnotationResult is on what an update left behind: how it ended, as a Result.
	AnnotationResult = "rollingupdate.loopscope.dev/result"

	// AnnotationNext is on the old one: the name of the new one.
	AnnotationNext = "kubectl.kubernetes.io/next-controller-id"
	// AnnotationSource is on the new one: the old one, as name:UID.
	AnnotationSource = "kubectl.kubernetes.io/update-source-id"
	// AnnotationDesired is on the new one: the size that it is to have.
	AnnotationDesired = "kubectl.kubernetes.io/desired-replicas"
	// AnnotationOriginal is on the old one: its size at the start.
	AnnotationOriginal = "kubectl.kubernetes.io/original-replicas"

	// AnnotationMigration is on one whose pods a Deployment takes over: the record by which
	// loopscope migrate goes back, which names the Deployment.
	AnnotationMigration = "loopscope.dev/migration"
)

// RequestVersion is the version of requests that this program writes and reads.
const RequestVersion = 1

// maxRequest bounds the text of a request, in bytes.
const maxRequest = 8 << 10

// Cleanup is what becomes of the old ReplicationController at the end.
type Cleanup string

// The ways to clean up.
const (
	// Delete deletes it.
	Delete Cleanup = "delete"
	// Rename gives its name to the new one.
	Rename Cleanup = "rename"
	// Preserve leaves both.
	Preserve Cleanup = "preserve"
)

// Request is what somebody asks for, as it stands in the annotation.
type Request struct {
	Version int `json:"version"`
	// ID tells requests apart: whoever waits for the end of one knows it by its ID.
	ID string `json:"id,omitempty"`
	// To is the new ReplicationController. It must be given or Image.
	To string `json:"to,omitempty"`
	// Image is that of the new one, which is made from the old one where it does not exist. To
	// is its name then, or else the old name with a hash.
	Image string `json:"image,omitempty"`
	// Container is whose image that is; it may be empty where there is only one.
	Container string `json:"container,omitempty"`
	// ImagePullPolicy is that of the container; it must be given where the image is the same.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// DeploymentKey is the label that tells the pods of the two apart. Default "deployment".
	DeploymentKey string `json:"deploymentKey,omitempty"`
	// Surge and Unavailable bound the number of pods, as a number or a percentage. Default 1 and 0.
	Surge       *intstr.IntOrString `json:"surge,omitempty"`
	Unavailable *intstr.IntOrString `json:"unavailable,omitempty"`
	// UpdatePeriod is how long the new pods are watched before old ones go. Default 1m.
	UpdatePeriod *Period `json:"updatePeriod,omitempty"`
	// Timeout is how long nothing may move before it is reported. Default 5m.
	Timeout *Period `json:"timeout,omitempty"`
	// Cleanup defaults to Rename where only an image is given, and to Delete otherwise.
	Cleanup Cleanup `json:"cleanup,omitempty"`
	// Paused holds every step, and Abort goes back.
	Paused bool `json:"paused,omitempty"`
	Abort  bool `json:"abort,omitempty"`
}

// Amount is a number or a percentage as somebody types it. What is neither is refused with the request.
func Amount(text string) *intstr.IntOrString { return new(intstr.Parse(text)) }

// Period is a length of time that is written as "1m30s".
type Period time.Duration

// MarshalText writes it.
func (p Period) MarshalText() ([]byte, error) { return []byte(time.Duration(p).String()), nil }

// UnmarshalText reads it.
func (p *Period) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("read %q: a period is written as 1m30s", prose.Clip(string(text), 24))
	}
	*p = Period(d)
	return nil
}

// The defaults of kubectl.
const (
	DefaultUpdatePeriod = time.Minute
	DefaultTimeout      = 5 * time.Minute
	DefaultKey          = "deployment"
	DefaultSurge        = 1
	// longest bounds periods, so that every timer can be written down.
	longestPeriod = 365 * 24 * time.Hour
)

// ParseRequest reads a request and checks it as a whole: the error says all that is wrong with it.
// Every default is filled in.
func ParseRequest(text string) (*Request, error) {
	if len(text) > maxRequest {
		return nil, fmt.Errorf("the request has %d bytes, and at most %d are read", len(text), maxRequest)
	}
	var head struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return nil, fmt.Errorf("the request is not valid JSON: %w", err)
	}
	switch {
	case head.Version == nil:
		return nil, fmt.Errorf(`the request has no version: it begins with {"version":%d`, RequestVersion)
	case *head.Version != RequestVersion:
		return nil, fmt.Errorf("the request has version %d, and this manager reads version %d", *head.Version, RequestVersion)
	}
	r := &Request{}
	reader := json.NewDecoder(strings.NewReader(text))
	reader.DisallowUnknownFields()
	if err := reader.Decode(r); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	if _, err := reader.Token(); err != io.EOF {
		return nil, errors.New("the request goes on after its end")
	}
	r.setDefaults()
	if problems := r.problems(); len(problems) > 0 {
		return nil, problems
	}
	return r, nil
}

// Text is the request as it stands in the annotation.
func (r *Request) Text() string { return text(r) }

// Goal is what is asked for, in the words of a sentence: "image web:2".
func (r *Request) Goal() string {
	if r.Image != "" {
		return "image " + r.Image
	}
	return r.To
}

func (r *Request) setDefaults() {
	if r.DeploymentKey == "" {
		r.DeploymentKey = DefaultKey
	}
	if r.Surge == nil {
		n := intstr.FromInt32(DefaultSurge)
		r.Surge = &n
	}
	if r.Unavailable == nil {
		r.Unavailable = new(intstr.IntOrString)
	}
	if r.UpdatePeriod == nil {
		r.UpdatePeriod = new(Period(DefaultUpdatePeriod))
	}
	if r.Timeout == nil {
		r.Timeout = new(Period(DefaultTimeout))
	}
	if r.Cleanup == "" {
		r.Cleanup = Delete
		if r.To == "" {
			r.Cleanup = Rename
		}
	}
}

// Problem is what is wrong with a request: the field, "" where there are several, and what is
// said after its name.
type Problem struct{ Field, Text string }

// Problems are all that is wrong with a request that could be read.
type Problems []Problem

func (p Problems) Error() string {
	var list []string
	for _, one := range p {
		list = append(list, one.Field+one.Text)
	}
	return strings.Join(list, "; ")
}

// problems are all that is wrong with a request of which the defaults are filled in.
func (r *Request) problems() (list Problems) {
	add := func(bad bool, field, format string, args ...any) {
		if bad {
			list = append(list, Problem{field, fmt.Sprintf(format, args...)})
		}
	}
	add(r.To == "" && r.Image == "", "", `neither "to" nor "image" is given: name the new ReplicationController or the new image`)
	add(r.To != "" && !isName(r.To), "to", " %q is no name of a ReplicationController", prose.Clip(r.To, 64))
	add(strings.TrimSpace(r.Image) != r.Image || strings.ContainsAny(r.Image, " \t\n") || len(r.Image) > 1024, "image", " %q is no name of an image", prose.Clip(r.Image, 64))
	add(r.Container != "" && len(validation.IsDNS1123Label(r.Container)) > 0, "container", " %q is no name of a container", prose.Clip(r.Container, 64))
	add(r.Image == "" && (r.Container != "" || r.ImagePullPolicy != ""), "", "container and imagePullPolicy are for an image, which is not given")
	policies := []string{"", string(corev1.PullAlways), string(corev1.PullIfNotPresent), string(corev1.PullNever)}
	add(!slices.Contains(policies, r.ImagePullPolicy), "imagePullPolicy", " %q: use Always, IfNotPresent or Never", prose.Clip(r.ImagePullPolicy, 24))
	add(len(validation.IsQualifiedName(r.DeploymentKey)) > 0, "deploymentKey", " %q is no key of a label", prose.Clip(r.DeploymentKey, 64))
	add(!isID(r.ID), "id", " %q: use up to 64 letters, digits, hyphens, dots and underscores", prose.Clip(r.ID, 64))
	list = append(list, amountProblems("surge", r.Surge)...)
	list = append(list, amountProblems("unavailable", r.Unavailable)...)
	add(*r.UpdatePeriod < 0 || *r.UpdatePeriod > Period(longestPeriod), "updatePeriod", " %s: use 0s to a year", time.Duration(*r.UpdatePeriod))
	add(*r.Timeout <= 0 || *r.Timeout > Period(longestPeriod), "timeout", " %s: use more than 0s, up to a year", time.Duration(*r.Timeout))
	add(!slices.Contains([]Cleanup{Delete, Rename, Preserve}, r.Cleanup), "cleanup", " %q: use delete, rename or preserve", prose.Clip(string(r.Cleanup), 24))
	return list
}

func amountProblems(field string, v *intstr.IntOrString) Problems {
	if v.Type == intstr.String {
		if _, err := rollout.Percent(v.StrVal); err != nil {
			return Problems{{field, ": " + err.Error()}}
		}
		return nil
	}
	if v.IntVal < 0 {
		return Problems{{field, fmt.Sprintf(" %d: use 0 to %d", v.IntVal, math.MaxInt32)}}
	}
	return nil
}

// bounds are the limits of an update to that many pods. Where there are to be none, all may go.
func (r *Request) bounds(desired int64) rollout.Bounds {
	b, _ := rollout.Resolve(desired, amountOf(r.Surge), amountOf(r.Unavailable)) // Both were read before.
	return b
}

func amountOf(v *intstr.IntOrString) *rollout.Amount {
	if v.Type == intstr.String {
		return &rollout.Amount{Percent: v.StrVal}
	}
	return &rollout.Amount{Int: int64(v.IntVal)}
}

// isID reports whether a request may be known by that.
func isID(id string) bool { return id == "" || len(validation.IsValidLabelValue(id)) == 0 }

func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// LabelParked is in selector and template of a ReplicationController that is to have no pods
// for the moment: no pod has it.
const LabelParked = "rollingupdate.loopscope.dev/parked"

// Parked is what a ReplicationController under the old name becomes as soon as the pods have
// no controller any more. Until then its selector matches none of them ([LabelParked]).
type Parked struct {
	// Size is how many pods it takes over, From and UID the ReplicationController that has them.
	Size int64  `json:"size"`
	From string `json:"from"`
	UID  string `json:"uid"`
	// Account is set once its selector matches them: its template is sealed until it counts
	// them, and this is the ServiceAccount that the template gets back.
	Account *string `json:"account,omitempty"`
	// ID is that of the request.
	ID string `json:"id,omitempty"`
}

// ParseParked reads what an update has written.
func ParseParked(text string) (*Parked, error) {
	p := &Parked{}
	if err := json.Unmarshal([]byte(text), p); err != nil || len(text) > maxRequest || !p.valid() {
		return nil, fmt.Errorf("the annotation %s is not what an update wrote", AnnotationParked)
	}
	return p, nil
}

func (p *Parked) valid() bool {
	account := p.Account == nil || *p.Account == "" || isName(*p.Account)
	return account && p.Size >= 0 && p.Size <= math.MaxInt32 && isName(p.From) && p.UID != "" && len(validation.IsDNS1123Label(p.UID)) == 0 && isID(p.ID)
}

// Result is how an update ended.
type Result struct {
	// ID is that of the request.
	ID string `json:"id,omitempty"`
	// Ended is "complete" or "aborted".
	Ended string `json:"ended"`
	// From and To are the two ReplicationControllers.
	From string    `json:"from"`
	To   string    `json:"to"`
	At   time.Time `json:"at"`
	// TookOver is set where the one of the old name has got the pods.
	TookOver bool `json:"tookOver,omitempty"`
}

// The ends of an update.
const (
	Complete = "complete"
	Aborted  = "aborted"
)

// ParseResult reads how an update ended; nil where that is not what an update wrote, as
// nothing depends on it.
func ParseResult(text string) *Result {
	r := &Result{}
	if len(text) > maxRequest || json.Unmarshal([]byte(text), r) != nil || r.check() != nil {
		return nil
	}
	return r
}

// Text is the result as it stands in the annotation.
func (r Result) Text() string { return text(r) }

// Text is it as it stands in the annotation.
func (p Parked) Text() string { return text(p) }

// text never fails: these are strings, numbers and times.
func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
