package parity

// departures are the differences that follow from the register in
// controllers/DESIGN.md, as narrow as they can be said.
var departures = []departure{
	{
		1, always, "scale/stale-annotation", "ReplicaSet/web-.*", `metadata\.annotations\[deployment\.kubernetes\.io/desired-replicas\]`,
		"a stale annotation on a ReplicaSet of the right size is refreshed",
	},
	{
		2, always, "scale/recreate-midway", "ReplicaSet/web-.*", `metadata\.annotations\[deployment\.kubernetes\.io/desired-replicas\]`,
		"stale annotations are refreshed under Recreate, too",
	},
	{
		32, sometimes, "scale/to-nothing-with-a-new-template|random/.*", "Deployment/web", `status\.conditions\[Progressing\]\.message`,
		"that a ReplicaSet was created is not lost in a conflict with a write of our own",
	},
}
