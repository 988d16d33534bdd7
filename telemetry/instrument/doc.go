// Package instrument shows the syncs of controllers that people write themselves, with
// client-go or on anything that stands on it, as Loopscope shows its own. It may not
// decide, write to a cluster, or change what a controller does: queues, clients and
// handlers do what they do without it.
//
// Three things are wrapped:
//
//	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: decision.Loops{loop}})
//	go journal.Run(ctx)                                        // wakes its readers, such as open pages
//	controller, err := instrument.New(journal, loop)           // loop is instrument.Loop("backup", "Backup")
//	queue := instrument.NewQueue[string](controller, nil)      // in place of client-go's
//	config.Wrap(instrument.Transport)                          // the client's writes
//	err = queue.Sync(ctx, key, handle)                         // around the handler of a key
//
// Then every sync has its causes, what was coalesced into it, its time in the queue, its
// retries with their countdown, its writes with versions and conflicts, its result and
// its sentence. Handler adds what changed in the objects that woke it. Ask, Name, Count
// and Hold in the handler add its decision path, with the writes that were held back and
// what would release them; Say and Numbers are for who wants to say more.
//
// Without a recorder all of it is switched off and costs nothing.
package instrument
