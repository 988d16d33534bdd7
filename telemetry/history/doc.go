// Package history keeps traces in a file, so that they outlive the journal's
// ring and the process. It may not make a sync wait, stop one, or take the
// process down: it is a reader of the journal like any other, and what it could
// not keep is counted. It may not decide what stands in a trace either; what
// must not be stored has been left out before a trace is recorded.
//
// The file is an SQLite database in WAL mode. Syncs that are committed together are
// blocks: a row with what lists say of them, and with a table of everything that a
// query can ask for and which of them have it, so that no query unpacks more than it
// means; their traces as package wire writes them, compressed together, because they
// are nearly the same, quiet ones by themselves, as those go first where room is needed;
// and one entry of an inverted index. Parts of names are looked up in a table of all
// names first. A block's number is the millisecond in which its last sync ended, so
// that the one number orders, pages and bounds by time. FORMAT.md says why it is so.
//
// One process writes a file, any number read it meanwhile. What was committed
// survives the end of the process in any way; the writer commits as often as it has
// to for a killed process to lose less than its last second, by what commits took of
// late: every 800 ms where they are quick, ten times a second at most. A machine that
// loses power may lose more: what came after the last checkpoint, every few megabytes.
package history
