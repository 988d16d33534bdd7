package facts

import (
	"slices"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Images are the images of the templates that a sync saw; none where it has no such snapshot.
func Images(loops decision.Loops, t *telemetry.Trace) []string {
	decided, err := t.Decided(loops)
	if err != nil {
		return nil
	}
	switch snap := decided.(type) {
	case *deployment.Snapshot:
		return snap.Images
	case *replicaset.Snapshot:
		return snap.Images
	case *rollingupdate.Snapshot:
		return imagesOfUpdate(snap)
	}
	return nil
}

// imagesOfUpdate are those of both ReplicationControllers, and the one that is asked for.
func imagesOfUpdate(snap *rollingupdate.Snapshot) (list []string) {
	for _, c := range []*rollingupdate.Controller{snap.Old, snap.New} {
		if c == nil {
			continue
		}
		for _, x := range c.Containers {
			list = append(list, x.Image)
		}
	}
	if snap.Request != nil && snap.Request.Image != "" && !slices.Contains(list, snap.Request.Image) {
		list = append(list, snap.Request.Image)
	}
	return list
}
