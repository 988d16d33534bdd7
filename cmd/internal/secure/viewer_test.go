package secure

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// asking allows what is in it, and remembers what it was asked.
type asking struct {
	allowed []string
	asked   []string
	err     error
}

func (a *asking) Authorize(_ context.Context, x authorizer.Attributes) (authorizer.Decision, string, error) {
	what := x.GetUser().GetName() + " " + x.GetVerb() + " " + x.GetPath()
	if x.IsResourceRequest() {
		what = x.GetUser().GetName() + " " + x.GetVerb() + " " + x.GetAPIGroup() + "/" + x.GetResource() + " in " + x.GetNamespace()
	}
	a.asked = append(a.asked, what)
	if slices.Contains(a.allowed, what) {
		return authorizer.DecisionAllow, "", a.err
	}
	return authorizer.DecisionNoOpinion, "", a.err
}

// of is a request of somebody.
func of(u user.Info) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	return r.WithContext(request.WithUser(r.Context(), u))
}

// TestViewer: a viewer has the rights of the user that was authenticated, to list and to get, and is
// told from every other one by all that is known of the user.
func TestViewer(t *testing.T) {
	may := &asking{allowed: []string{"ann list apps/deployments in shop", "ann get apps/deployments in shop", "ann list /pods in ", "ann get /queues"}}
	p := &Port{}
	p.authorization.Authorizer = may
	if p.Viewer(httptest.NewRequest(http.MethodGet, "/", nil)) != nil {
		t.Error("nobody is a viewer")
	}
	ann := p.Viewer(of(&user.DefaultInfo{Name: "ann"}))
	deployments, pods := decision.Resource{Group: "apps", Name: "deployments"}, decision.Resource{Name: "pods"}
	for _, c := range []struct {
		r         decision.Resource
		namespace string
		want      bool
	}{{deployments, "shop", true}, {deployments, "", false}, {deployments, "other", false}, {pods, "", false}} {
		if ok, err := ann.May(t.Context(), c.r, c.namespace); ok != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c, ok, err)
		}
	}
	if want := []string{"ann list apps/deployments in shop", "ann get apps/deployments in shop", "ann list apps/deployments in ", "ann list apps/deployments in other", "ann list /pods in ", "ann get /pods in "}; !slices.Equal(may.asked, want) {
		t.Errorf("it asks %q", may.asked)
	}
	for path, want := range map[string]bool{"/queues": true, "/queues.json": false, "/": false} {
		if ok, err := ann.Opens(t.Context(), path); ok != want || err != nil {
			t.Errorf("%s: %v, %v", path, ok, err)
		}
	}
	may.err = errors.New("no answer")
	if ok, err := ann.May(t.Context(), deployments, "shop"); !ok || err != nil {
		t.Errorf("what is allowed is %v, %v", ok, err)
	}
	if ok, err := ann.May(t.Context(), deployments, "other"); ok || err == nil {
		t.Errorf("what nobody can say is %v, %v", ok, err)
	}
	names := map[string]bool{}
	for _, u := range []*user.DefaultInfo{{Name: "ann"}, {Name: "bob"}, {Name: "ann", UID: "1"}, {Name: "ann", Groups: []string{"g"}}, {Name: "ann", Groups: []string{"g", "h"}}, {Name: "ann", Extra: map[string][]string{"scopes": {"g"}}},
		{Name: `ann","UID":"1`}} {
		names[p.Viewer(of(u)).Name()] = true
	}
	if len(names) != 7 {
		t.Errorf("7 users are %d viewers: %v", len(names), names)
	}
}
