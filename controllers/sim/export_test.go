package sim

import (
	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
)

// Misdecide lets the cluster's Deployment be decided in another way, so that a
// test can prove that it would notice.
func (c *Cluster) Misdecide(decide func(*deployment.Snapshot) decision.Verdict) { c.decide = decide }
