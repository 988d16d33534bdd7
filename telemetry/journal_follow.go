package telemetry

// FollowJournal is an empty journal for what another process recorded in the run that
// o.Epoch names: its traces keep their numbers, and so their names. What does not come is
// a gap, which readers are not told of as missed; whoever fills the journal knows why. Nor are they
// told what is kept no longer: Happened counts that.
func FollowJournal(o JournalOptions) *Journal {
	j := NewJournal(o)
	j.follows = true
	return j
}

// Follow keeps the next trace of the run that is followed, which nobody may change from then
// on. It is false, and nothing is kept, where the trace is of another run, or not newer than
// the last one: a sync that comes twice is there once.
func (j *Journal) Follow(t *Trace) bool {
	if !j.followed(t) {
		return false
	}
	j.tell(t)
	return true
}

func (j *Journal) followed(t *Trace) bool {
	steered := j.steered(t)
	j.mu.Lock()
	defer j.mu.Unlock()
	if t.Epoch != j.opts.Epoch || t.Seq <= j.last.Load() {
		return false
	}
	if j.took++; t.Started.Before(j.began) {
		j.began = t.Started
	}
	j.store(t, steered)
	return true
}
