package views

import "time"

// StillNumbers stops the ages and countdowns of numbers as they stood at that instant.
func StillNumbers(list []Number, at time.Time) {
	for i := range list {
		list[i].Value = list[i].Value.Still(at)
	}
}

// StillFindings is the same of what keeps pods.
func StillFindings(list []Finding, at time.Time) {
	for i := range list {
		f := &list[i]
		f.What, f.Unblocks, f.For = f.What.Still(at), f.Unblocks.Still(at), f.For.Still(at)
	}
}

// StillPods is the same of the pods of a ReplicaSet.
func StillPods(list []Pod, at time.Time) {
	for i := range list {
		list[i].Why, list[i].Age = list[i].Why.Still(at), list[i].Age.Still(at)
	}
}

// StillReplicaSet is the same of what a ReplicaSet waits to see, and of what it chose.
func StillReplicaSet(v *ReplicaSet, at time.Time) {
	v.Expects, v.VictimsNote = v.Expects.Still(at), v.VictimsNote.Still(at)
	for i := range v.Echoes {
		v.Echoes[i].Text = v.Echoes[i].Text.Still(at)
	}
}

// StillHeld is the same of writes that were held back.
func StillHeld(list []Held, at time.Time) {
	for i := range list {
		list[i].Unblocks = list[i].Unblocks.Still(at)
		for j := range list[i].Blockers {
			list[i].Blockers[j].Why = list[i].Blockers[j].Why.Still(at)
		}
	}
}
