package secure

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/sight"
)

// viewer is who was authenticated, and the authorizer that says what that user may.
type viewer struct {
	user user.Info
	name string
	may  authorizer.Authorizer
}

// Viewer is who sent a request that the port has let in; nil for any other one.
func (p *Port) Viewer(r *http.Request) sight.Viewer {
	u, ok := request.UserFrom(r.Context())
	if !ok {
		return nil
	}
	// Two users of one name may differ in their groups or in what else an authorizer looks at. Which
	// of a user's tokens it was is nothing of that kind.
	extra := maps.Clone(u.GetExtra())
	delete(extra, user.CredentialIDKey)
	name, err := json.Marshal(user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: extra})
	if err != nil {
		return nil
	}
	return viewer{u, string(name), p.authorization.Authorizer}
}

// Name is everything that is known of the user.
func (v viewer) Name() string { return v.name }

// May asks for two rights: a page shows an object, and a list shows that there is one.
func (v viewer) May(ctx context.Context, r decision.Resource, namespace string) (bool, error) {
	for _, verb := range []string{"list", "get"} {
		may, err := v.allowed(ctx, authorizer.AttributesRecord{User: v.user, Verb: verb, Namespace: namespace, APIGroup: r.Group, APIVersion: "*", Resource: r.Name, ResourceRequest: true})
		if !may || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Opens asks for the right to a path, as the port does for each request.
func (v viewer) Opens(ctx context.Context, path string) (bool, error) {
	return v.allowed(ctx, authorizer.AttributesRecord{User: v.user, Verb: "get", Path: path})
}

// allowed reports an error only where that is why nothing is allowed.
func (v viewer) allowed(ctx context.Context, a authorizer.AttributesRecord) (bool, error) {
	decided, _, err := v.may.Authorize(ctx, a)
	if decided == authorizer.DecisionAllow {
		return true, nil
	}
	return false, err
}
