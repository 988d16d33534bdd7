package controllers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// situation is one that a person meets, the golden that shows it, and words of
// its sentence that must not get lost. A golden's whole sentence is held by its
// own package.
type situation struct {
	what, golden string
	says         []string
}

// sentences are the situations that the console was drawn for, and more that the
// loops know. One of the drawing is not told: that two Deployments share a
// selector, as no sync looks at the selectors of other Deployments.
var sentences = []situation{
	{"settled and idle", "deployment/settled", []string{"is settled: 8 of 8 available", "unchanged for 2d"}},
	{"settled, a pod short", "deployment/short", []string{"5 of 6 available since 03:05", "recovers when it stays up or the template changes; its rollout is complete, so no deadline runs"}},
	{"rolling and moving", "deployment/grow-new", []string{"6 of 10 new pods are available; just scaled new 9 → 10", "Continues when 1 more becomes available"}},
	{"waiting for readiness", "deployment/waiting-readiness", []string{"so the last old one stays: removing it leaves 7 available, below the floor of 8", "Unblocks when any 1 of the 3 becomes ready; deadline in 5m 12s"}},
	{"waiting for minReadySeconds", "deployment/min-ready", []string{"2 new pods are ready but must stay ready for 18s (minReadySeconds 30)"}},
	{"image cannot be pulled", "deployment/image-pull", []string{"3 new pods cannot pull payments/api:2.9.1 (not found), so 5 old pods stay", "Needs action: unblocks when that image exists or the template changes"}},
	{"deadline exceeded", "deployment/deadline", []string{"has failed: no progress for 10m", "nothing is rolled back and no retry is scheduled"}},
	{"quota, ReplicaFailure", "deployment/quota", []string{"quota team refuses 1 new pod (pods: 2 of 2 used)", "unblocks when the quota leaves room"}},
	{"ReplicaSet refused", "deployment/create-refused", []string{"webhook tags.example.com denies ReplicaSet ingest-7d4b9c6f5x", "Try 13 of 15, again in 8s"}},
	{"dropped", "deployment/dropped", []string{"dropped after 15 tries", "Looks again when it or a ReplicaSet changes"}},
	{"paused, change pending", "deployment/paused-pending", []string{"is paused with a change pending", "Scaling still works"}},
	{"scaling during a rollout", "deployment/scale-shared", []string{"scaled 10 → 30 during a rollout, in proportion to their sizes: old 8 → 20 and new 5 → 13"}},
	{"scale and template in one edit", "deployment/scale-before-roll", []string{"was scaled before the rollout", "old 7 → 10 and old 3 → 4", "The rollout follows"}},
	{"Recreate, old pods ending", "deployment/recreate-ending", []string{"2 old pods are still terminating; none is available until then", "Recreate starts no new pod before"}},
	{"hash collision", "deployment/collision", []string{"is taken by another object, so it raised collisionCount to 1 and created images-5f4bd6c97d"}},
	{"another writer", "deployment/conflict", []string{"helm wrote it first, rv 482330 became 482338", "Decides again on the new version"}},
	{"own write not seen", "deployment/echo", []string{"at rv 482340 is not in the cache after 0.4s; the cache is at 482337"}},
	{"namespace terminating", "deployment/namespace-terminating", []string{"is stopped: its namespace is being deleted", "Nothing is retried"}},
	{"being deleted", "deployment/deleting", []string{"is being deleted: only its status is updated"}},
	{"template used again", "deployment/used-again", []string{"back to the template of revision 7", "is used again as revision 9"}},

	{"a pod refused by a rule", "deployment/replica-failure", []string{"1 old pod cannot be deleted (a finalizer)", "unblocks when the refusing component allows it"}},
	{"no node takes the new pods", "deployment/waiting-unschedulable", []string{"2 new pods fit no node (all 6 nodes have too little cpu), so 7 old pods stay"}},
	{"new pods crash", "deployment/waiting-crash", []string{"2 new pods keep crashing (CrashLoopBackOff)"}},
	{"below the floor after the rollout", "deployment/unavailable", []string{"is waiting: 2 of 6 available"}},
	{"rolled back", "deployment/rollback", []string{"restored the template of web-a"}},
	{"a rollback that cannot be", "deployment/rollback-unknown", []string{"no ReplicaSet has revision 3"}},
	{"a reply was lost", "deployment/unknown-outcome", []string{"was lost", "Reads it live before it decides again"}},
	{"overtaken by its own write", "deployment/superseded", []string{"the cache does not show its own newer write", "so nothing was sent"}},
	{"selects everything", "deployment/selects-all", []string{"its empty selector selects every pod"}},
	{"quota, on the ReplicaSet", "replicaset/create-quota", []string{"quota team refuses 5 of 10 pods (pods: 5 of 5 used)"}},
	{"a container crashes", "replicaset/crash-loop", []string{"keeps crashing (CrashLoopBackOff)"}},
	{"no node", "replicaset/unschedulable", []string{"2 of 3 pods fit no node (all 3 nodes have too little cpu)"}},
	{"a ConfigMap is missing", "replicaset/config-missing", []string{"needs ConfigMap web, which does not exist"}},
	{"pods asked for, not seen", "replicaset/expect-creates", []string{"2 pods it created are not in the cache after 1s", "for at most 4m 59s more"}},
	{"pods deleted", "replicaset/delete-ranked", []string{"deleted 2 pods (web-7d4b9c6f5x-q8m2s first)"}},
}

// TestSituationsAreTold keeps the words for what people ask about.
func TestSituationsAreTold(t *testing.T) {
	if len(sentences) < 25 {
		t.Fatalf("only %d situations", len(sentences))
	}
	seen := map[string]bool{}
	for _, s := range sentences {
		if seen[s.golden] {
			t.Errorf("%s shows two situations", s.golden)
		}
		seen[s.golden] = true
		dir, file, _ := strings.Cut(s.golden, "/")
		text, err := os.ReadFile(filepath.Join(dir, "testdata", "golden", file+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		_, sentence, _ := strings.Cut(string(text), "-- sentence --\n")
		for _, words := range s.says {
			if !strings.Contains(sentence, words) {
				t.Errorf("%s (%s) does not say %q: %s", s.what, s.golden, words, sentence)
			}
		}
	}
}
