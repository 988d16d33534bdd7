package sim_test

import (
	"fmt"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
)

// web is a Deployment of 10 pods that has just been created: no more than 3 on
// top and no more than 2 missing in a rollout.
func web() *deployment.Snapshot {
	quarter := deployment.IntOrPercent{Percent: "25%"}
	return &deployment.Snapshot{Version: 1, Now: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), Found: true,
		Namespace: "shop", Name: "web", UID: "d", RV: "1", Generation: 1, Want: 10, Strategy: "RollingUpdate",
		MaxSurge: &quarter, MaxUnavailable: &quarter, Deadline: new(int64(600)), HistoryLimit: new(int64(10)),
		Images: []string{"nginx:1"}, NextName: "web-1", NextHash: "1"}
}

// A new image is rolled out over 10 pods, of which 3 more may exist and 2 may be
// missing: the floor is 8, the ceiling 13.
func Example() {
	cluster, err := sim.From(web())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cluster.Run(sim.Bound{}).End)
	cluster.Edit(sim.Images("nginx:2"))
	began := cluster.Now()
	result := cluster.Run(sim.Bound{})
	for _, step := range result.Steps {
		for _, a := range step.Round.Verdict.Actions {
			if a.Size != nil {
				fmt.Printf("%4s  %d to %d, %d asked for, %d available\n",
					step.At.Sub(began), a.Size.From, a.Size.To, step.Asked, step.Available)
			}
		}
	}
	fmt.Println(result.End)
	fmt.Println(result.Sentence.At(result.At))

	// Output:
	// complete
	//   0s  0 to 3, 13 asked for, 10 available
	//   0s  10 to 8, 11 asked for, 10 available
	//   0s  3 to 5, 13 asked for, 10 available
	//   5s  8 to 3, 8 asked for, 13 available
	//   5s  5 to 10, 13 asked for, 13 available
	//  10s  3 to 0, 10 asked for, 13 available
	// complete
	// shop/web is settled: 10 of 10 available.
}
