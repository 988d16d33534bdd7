package supervise

import (
	"bytes"
	"io"
	"sync"
)

// Prefixer writes whole lines, each behind a prefix. It may be shared by
// standard output and standard error of one process.
type Prefixer struct {
	To     io.Writer
	Prefix string

	mu      sync.Mutex
	pending []byte
}

// Write never fails: a closed terminal must not stop a child.
func (p *Prefixer) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, data...)
	for {
		end := bytes.IndexByte(p.pending, '\n')
		if end < 0 {
			return len(data), nil
		}
		_, _ = io.WriteString(p.To, p.Prefix+string(p.pending[:end+1]))
		p.pending = p.pending[end+1:]
	}
}
