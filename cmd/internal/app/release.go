package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"
	versionapi "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

const (
	// releaseEvery is how often the API server is asked for its release: whoever upgrades it may do
	// so without an outage.
	releaseEvery = time.Minute
	// longestRelease is far more than what any version needs, in bytes.
	longestRelease = 100
	// latestRelease is a minor release that Kubernetes 1 will not come to.
	latestRelease = 9999
)

// release is what is known of the release of the API server. It is safe for concurrent use.
type release struct {
	mu    sync.Mutex
	is    telemetry.Release
	asked time.Time     // when it was asked for last
	told  chan struct{} // closes with the first answer, whatever it says
}

func newRelease() *release { return &release{told: make(chan struct{})} }

func (r *release) now() telemetry.Release {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.is
}

// awaited reports whether the API server has not answered yet, so that caches wait for it.
func (r *release) awaited() bool {
	select {
	case <-r.told:
		return false
	default:
		return true
	}
}

// due reports whether it is time to ask, and notes that somebody does.
func (r *release) due(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked.IsZero() && now.Sub(r.asked) < releaseEvery {
		return false
	}
	r.asked = now
	return true
}

// note takes an answer, and reports whether it is another one than before. What cannot be read
// leaves what is known as it is.
func (r *release) note(is telemetry.Release, err error) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		changed, r.is = r.is != is, is
	}
	if r.awaited() {
		close(r.told)
	}
	return changed
}

// again has the API server asked once more: it did not answer.
func (r *release) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = time.Time{}
}

// untilTold holds answers back until the release is known: no cache is filled before, and so nothing
// is decided ([C-3]).
type untilTold struct {
	next    http.RoundTripper
	release *release
}

// RoundTrip sends the request at once.
func (t untilTold) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.release.told:
		return answer, nil
	case <-r.Context().Done():
		return nil, errors.Join(r.Context().Err(), answer.Body.Close())
	}
}

// askRelease asks an API server that answers for its release, where it is time to, and tells the log.
func (c *cluster) askRelease(ctx context.Context) {
	if !c.release.due(c.now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	body, err := c.health.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil && !errors.As(err, new(apierrors.APIStatus)) {
		c.release.again() // There is an answer in the next second, or an outage.
		return
	}
	var is telemetry.Release
	if err == nil {
		is, err = parseRelease(body)
	}
	switch changed := c.release.note(is, err); {
	case err != nil:
		c.logger.Warn("The version of the API server cannot be read, so the rules stay as they are", "rules", rulesAre(c.release.now()), "error", err)
	case changed:
		c.logger.Info("The API server tells its version", "version", is.Version, "rules", rulesAre(is))
	}
}

// rulesAre says which rules the loops follow beside a release.
func rulesAre(is telemetry.Release) string {
	rules := "those of Kubernetes " + decision.RulesRelease
	follow := slices.DeleteFunc(decision.RulesSince(controllers.ReleaseRules, is.Minor), func(r decision.ReleaseRule) bool { return !r.Followed })
	if is.Version == "" || len(follow) == 0 {
		return rules
	}
	return fmt.Sprintf("%s, %s as in %s", rules, prose.Count(len(follow), "rule"), decision.ReleaseName(is.Minor))
}

// ruleFeatures are the features of rules that somebody switched.
func (o Options) ruleFeatures() map[string]bool {
	list := map[string]bool{}
	for _, g := range engine.RuleGates() {
		if on, switched := o.Features[g.Name]; switched {
			list[g.Name] = on
		}
	}
	return list
}

// rehashes reports whether Kubernetes' own controllers give another hash to one and the same template
// than the loops do ([C-3]).
func (c *cluster) rehashes() bool {
	is := c.release.now()
	return is.Version != "" && is.Minor != decision.LastRelease
}

// parseRelease reads what an API server answers at /version.
func parseRelease(body []byte) (telemetry.Release, error) {
	var info versionapi.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return telemetry.Release{}, fmt.Errorf("/version: %w", err)
	}
	if len(info.GitVersion) > longestRelease {
		return telemetry.Release{}, errors.New("/version: gitVersion is too long to be one")
	}
	v, err := version.ParseSemantic(info.GitVersion)
	if err != nil {
		return telemetry.Release{}, fmt.Errorf("/version: gitVersion: %w", err)
	}
	if v.Major() != 1 || v.Minor() > latestRelease {
		return telemetry.Release{}, fmt.Errorf("/version: gitVersion %q is not of Kubernetes 1", info.GitVersion)
	}
	return telemetry.Release{Version: "v" + v.String(), Minor: int(v.Minor())}, nil
}

// releaseOf asks once, and for what cannot be read follows the rules as they are.
func releaseOf(ctx context.Context, c discovery.DiscoveryInterface) func() telemetry.Release {
	return sync.OnceValue(func() telemetry.Release {
		body, err := c.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		if err != nil {
			return telemetry.Release{}
		}
		is, _ := parseRelease(body)
		return is
	})
}
