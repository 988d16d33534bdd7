package app

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// MayListEverywhere reports whether the user of a configuration may list the objects of all loops
// in all namespaces. The API server is asked, and nothing is written.
func MayListEverywhere(ctx context.Context, config *rest.Config, version string) (bool, error) {
	c, err := reader(config, version, "rights")
	if err != nil {
		return false, err
	}
	for _, r := range controllers.Explained {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: r.Resource.Group, Resource: r.Resource.Resource},
		}}
		answer, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("ask what you may list: %w", redact.Error(err))
		}
		if !answer.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}
