package engine

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// ParentCheck is the live look at a parent before it adopts, done at most once
// in a sync. Its zero value has not looked.
type ParentCheck struct {
	done  bool
	state string
	err   error
}

// Check returns "gone", "deleting" or "", or the error of the read.
func (c *ParentCheck) Check(uid string, read func() (metav1.Object, error)) (string, error) {
	if !c.done {
		live, err := read()
		c.done, c.state = true, parentState(uid, live, err)
		if c.state == "" {
			c.err = err
		}
	}
	return c.state, c.err
}

// CannotAdopt words a failed look the way Kubernetes does ([A-2]).
func CannotAdopt(a decision.Action, err error) error {
	return fmt.Errorf("can't adopt %s %s/%s (%s): can't recheck DeletionTimestamp: %w", a.Target.Kind, a.Target.Namespace, a.Target.Name, a.Target.UID, err)
}

// parentState is "gone" or "deleting" where a live read says that a parent may
// not adopt any more, and "" otherwise ([A-2]).
func parentState(uid string, live metav1.Object, err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return "gone"
	case err != nil:
		return ""
	case string(live.GetUID()) != uid:
		return "gone"
	case live.GetDeletionTimestamp() != nil:
		return "deleting"
	default:
		return ""
	}
}

// AdoptPatch adds a controller reference, on the condition that the child is
// still the one that was decided on ([A-3]).
func AdoptPatch(childUID string, ref *metav1.OwnerReference) []byte {
	return patchOf(childUID, []any{ref})
}

// ReleasePatch removes the reference to a parent under the same condition ([A-3]).
func ReleasePatch(childUID, parentUID string) []byte {
	return patchOf(childUID, []any{map[string]string{"$patch": "delete", "uid": parentUID}})
}

func patchOf(childUID string, refs []any) []byte {
	body, _ := json.Marshal(map[string]any{"metadata": map[string]any{"uid": childUID, "ownerReferences": refs}}) // Strings and bools always marshal.
	return body
}

// ClaimOutcome is what a refused adoption or release means: a child that is
// gone, or no longer the same, is simply not claimed ([A-3]).
func ClaimOutcome(a decision.Action, err error) (decision.Outcome, decision.Learnt) {
	o := OutcomeOf("", err)
	gone := apierrors.IsNotFound(err) || a.Kind == decision.Release && apierrors.IsInvalid(err)
	if !gone {
		return o, decision.Learnt{}
	}
	o.State = decision.Tolerated
	return o, decision.Learnt{ChildrenGone: []string{a.Target.UID}}
}
