package views

import "time"

// StillNumbers stops the ages and countdowns of numbers as they stood at that instant.
func StillNumbers(list []Number, at time.Time) {
	for i := range list {
		list[i].Value = list[i].Value.Still(at)
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
