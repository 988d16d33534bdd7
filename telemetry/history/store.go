package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	lib "modernc.org/sqlite/lib"

	"github.com/loopscope/loopscope/telemetry"
)

// classes are the numbers of classes in the file: none may change.
var classes = map[telemetry.Class]int64{
	telemetry.ClassWrote: 1, telemetry.ClassFailed: 2, telemetry.ClassConflicted: 3, telemetry.ClassSlow: 4, telemetry.ClassQuiet: 5,
}

func classOf(number int64) telemetry.Class {
	for class, n := range classes {
		if n == number {
			return class
		}
	}
	return ""
}

// Store is a history that is written. It is safe for concurrent use; adding and
// trimming wait for each other, reading waits for neither.
type Store struct {
	*reader
	opts Options
	// closed are the files that others could use before it was opened.
	closed []string

	mu       sync.Mutex // guards the connection that writes, and what follows
	lock, db *sql.DB
	conn     *sql.Conn
	// What is written and asked with every commit, prepared once.
	begin, commit, insert, taken, there, index, forget, unfit, counted, bounds, name *sql.Stmt

	epoch  epoch           // the one that was written last: one process has one
	newest int64           // the number of the last group
	counts map[int64]int64 // kept syncs by class
	names  names
	extent extent
	room   scratch
	tight  bool // the last change found the file at its bound

	seen sync.Mutex // guards state
	last telemetry.ArchiveState
}

// epoch is what the file has of one.
type epoch struct {
	name string
	id   int64  // its number in the file
	last uint64 // none of its syncs has a higher number
}

// extent is how far the file reaches, as the last change left it.
type extent struct {
	first, last sql.NullInt64 // the numbers of its blocks
	began       sql.NullInt64 // when the first began, in Unix microseconds
	pages, free int64
}

var _ telemetry.Archive = (*Store)(nil)

var errShut = errors.New("it is closed")

func (s *Store) prepare(ctx context.Context) (err error) {
	for statement, text := range map[**sql.Stmt]string{
		&s.begin:   "BEGIN IMMEDIATE",
		&s.commit:  "COMMIT",
		&s.insert:  "INSERT INTO blocks (id, epoch, first, last, syncs, began, head, hits, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		&s.taken:   "SELECT EXISTS (SELECT 1 FROM blocks WHERE id BETWEEN ? AND ?)",
		&s.there:   "SELECT head FROM blocks WHERE epoch = ? AND last >= ? AND first <= ?",
		&s.index:   "INSERT INTO terms (rowid, t) VALUES (?, ?)",
		&s.forget:  "DELETE FROM blocks WHERE id = ? RETURNING syncs",
		&s.unfit:   "DELETE FROM terms WHERE rowid = ?",
		&s.counted: "INSERT INTO counts VALUES (?1, ?2) ON CONFLICT (class) DO UPDATE SET syncs = syncs + ?2",
		&s.name:    "INSERT INTO names VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET hour = max(hour, excluded.hour)",
		&s.bounds:  "SELECT (SELECT min(id) FROM blocks), (SELECT began FROM blocks ORDER BY id LIMIT 1), (SELECT max(id) FROM blocks), (SELECT page_count FROM pragma_page_count), (SELECT freelist_count FROM pragma_freelist_count)",
	} {
		if *statement, err = s.conn.PrepareContext(ctx, text); err != nil {
			return fmt.Errorf("prepare to write: %w", err)
		}
	}
	return nil
}

// Add keeps all of these traces or none, in this order. One that is kept already
// is left as it is. The traces are only read.
func (s *Store) Add(ctx context.Context, traces ...*telemetry.Trace) error {
	_, err := s.add(ctx, traces)
	return err
}

// add is Add, and returns the blocks that it wrote; their bodies are gone with the next ones.
func (s *Store) add(ctx context.Context, traces []*telemetry.Trace) ([]packedGroup, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	traces, err := s.unstored(ctx, traces)
	if err != nil {
		return nil, explain(s.path, err)
	}
	list, err := s.groups(traces)
	if err != nil {
		return nil, err
	}
	return s.keep(ctx, list)
}

// keep writes groups in one transaction. The store is locked.
func (s *Store) keep(ctx context.Context, list []*group) ([]packedGroup, error) {
	s.room.clear()
	b := &batch{Store: s, added: map[int64]int64{}, learned: map[string]int64{}}
	for _, g := range list {
		b.groups = append(b.groups, packedGroup{g, g.pack(s.codec)})
	}
	err := s.transaction(ctx, func() error {
		for _, g := range b.groups {
			if err := b.add(ctx, g); err != nil {
				return fmt.Errorf("keep syncs: %w", err)
			}
		}
		return s.count(ctx, b.added)
	})
	if err != nil {
		s.epoch = epoch{} // What the file has now, it says itself.
		return nil, explain(s.path, err)
	}
	s.names.know(b.learned)
	for _, g := range b.groups {
		for _, x := range g.blocks {
			if g.epoch == s.epoch.name {
				s.epoch.last = max(s.epoch.last, x.last)
			}
		}
	}
	return b.groups, s.note(ctx, b.added)
}

// unstored leaves out what is kept already.
func (s *Store) unstored(ctx context.Context, traces []*telemetry.Trace) ([]*telemetry.Trace, error) {
	if s.conn == nil {
		return nil, errShut
	}
	numbers := map[string][2]uint64{}
	for _, t := range traces {
		n, ok := numbers[t.Epoch]
		if !ok {
			n = [2]uint64{t.Seq, t.Seq}
		}
		numbers[t.Epoch] = [2]uint64{min(n[0], t.Seq), max(n[1], t.Seq)}
	}
	known := map[string]map[uint64]bool{}
	for name, n := range numbers {
		e, err := s.epochOf(ctx, name)
		if err != nil {
			return nil, err
		}
		if n[0] > e.last {
			continue
		}
		if known[name], err = s.known(ctx, e.id, n[0], n[1]); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(traces), func(t *telemetry.Trace) bool { return known[t.Epoch][t.Seq] }), nil
}

// known are the syncs of an epoch in blocks that reach into these numbers.
func (s *Store) known(ctx context.Context, epoch int64, first, last uint64) (map[uint64]bool, error) {
	heads, err := list[[]byte](s.there.QueryContext(ctx, epoch, int64(first), int64(last)))
	seqs := map[uint64]bool{}
	for _, data := range heads {
		if h, err := readHead(data); err == nil { // What is damaged is kept once more.
			for _, seq := range h.Seqs {
				seqs[seq] = true
			}
		}
	}
	return seqs, err
}

// batch is what is added in one transaction.
type batch struct {
	*Store
	groups  []packedGroup
	added   map[int64]int64  // syncs by class
	learned map[string]int64 // names, and their hours
}

type packedGroup struct {
	*group
	blocks []packed
}

// add gives the group the first free number from the moment at which its last
// sync ended, which is nearly always the first.
func (b *batch) add(ctx context.Context, g packedGroup) error {
	epoch, err := b.epochOf(ctx, g.epoch)
	if err != nil {
		return err
	}
	n, err := b.free(ctx, g.number())
	if err != nil {
		return err
	}
	for _, x := range g.blocks {
		id := n<<classBits | x.class
		if _, err := b.insert.ExecContext(ctx, id, epoch.id, int64(x.first), int64(x.last), x.syncs, g.began.UnixMicro(), x.head, x.hits, x.body); err != nil {
			return err
		}
		if _, err := b.index.ExecContext(ctx, id, x.document); err != nil {
			return err
		}
		b.added[x.class] += x.syncs
	}
	b.newest = n
	return b.learn(ctx, g, n)
}

// free is the first number from there that no group has. Groups that end in
// about the same moment stand in the order in which they came.
func (b *batch) free(ctx context.Context, n int64) (int64, error) {
	if n <= b.newest && b.newest-n < int64(adrift/instant) {
		n = b.newest + 1
	}
	for ; n <= max(b.newest, b.extent.last.Int64>>classBits); n++ {
		var taken bool
		if err := b.taken.QueryRowContext(ctx, n<<classBits, n<<classBits|(1<<classBits-1)).Scan(&taken); err != nil || !taken {
			return n, err
		}
	}
	return n, nil
}

// epochOf is what the file has of an epoch.
func (s *Store) epochOf(ctx context.Context, name string) (epoch, error) {
	if s.epoch.name == name && s.epoch.id != 0 {
		return s.epoch, nil
	}
	e := epoch{name: name}
	if _, err := s.conn.ExecContext(ctx, "INSERT INTO epochs (epoch) VALUES (?) ON CONFLICT DO NOTHING", name); err != nil {
		return e, err
	}
	err := s.conn.QueryRowContext(ctx, "SELECT id, (SELECT ifnull(max(last), 0) FROM blocks WHERE epoch = epochs.id) FROM epochs WHERE epoch = ?", name).Scan(&e.id, &e.last)
	if err != nil {
		return e, err
	}
	s.epoch = e
	return e, nil
}

// count adds to the kept syncs of each class, in the file.
func (s *Store) count(ctx context.Context, change map[int64]int64) error {
	for class, n := range change {
		if _, err := s.counted.ExecContext(ctx, class, n); err != nil {
			return fmt.Errorf("count syncs: %w", err)
		}
	}
	return nil
}

// note takes over what a transaction has changed, once it was committed.
func (s *Store) note(ctx context.Context, change map[int64]int64) error {
	for class, n := range change {
		s.counts[class] += n
	}
	return s.look(ctx)
}

// recount reads the kept syncs of each class.
func (s *Store) recount(ctx context.Context) error {
	rows, err := s.conn.QueryContext(ctx, "SELECT class, syncs FROM counts")
	if err != nil {
		return fmt.Errorf("count syncs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var class, n int64
		if err := rows.Scan(&class, &n); err != nil {
			return fmt.Errorf("count syncs: %w", err)
		}
		s.counts[class] = n
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("count syncs: %w", err)
	}
	return s.look(ctx)
}

func (s *Store) kept() (n int64) {
	for _, of := range s.counts {
		n += of
	}
	return n
}

// look makes the state that State returns.
func (s *Store) look(ctx context.Context) error {
	x := &s.extent
	if err := s.bounds.QueryRowContext(ctx).Scan(&x.first, &x.began, &x.last, &x.pages, &x.free); err != nil {
		return explain(s.path, err)
	}
	state := telemetry.ArchiveState{Path: s.path, Kept: uint64(max(0, s.kept())), MaxBytes: s.opts.MaxBytes, MaxAge: s.opts.MaxAge}
	state.Oldest, state.Newest = span(x.began, x.last)
	s.seen.Lock()
	defer s.seen.Unlock()
	s.last = state
	return nil
}

// State is how the history stood after the last change.
func (s *Store) State() telemetry.ArchiveState {
	s.seen.Lock()
	state := s.last
	s.seen.Unlock()
	state.Bytes = onDisk(s.path)
	return state
}

// transaction runs a change that is made as a whole or not at all.
func (s *Store) transaction(ctx context.Context, change func() error) error {
	if _, err := s.begin.ExecContext(ctx); err != nil {
		return err
	}
	err := change()
	if err == nil {
		_, err = s.commit.ExecContext(ctx)
	}
	s.tight = code(err) == lib.SQLITE_FULL
	if err != nil { // SQLite may have rolled back by itself, when this fails.
		_, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

// Close ends writing and reading, and lets another process have the file. It
// may be called more than once.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := []error{s.reader.close(), finalize(s.begin, s.commit, s.insert, s.taken, s.there, s.index, s.forget, s.unfit, s.counted, s.bounds, s.name)}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	for _, db := range []*sql.DB{s.db, s.lock} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	s.conn, s.db, s.lock = nil, nil, nil
	s.begin, s.commit, s.insert, s.taken, s.there, s.index, s.forget, s.unfit, s.counted, s.bounds, s.name = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
	return errors.Join(errs...)
}
