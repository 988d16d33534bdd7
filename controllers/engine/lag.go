package engine

import (
	"sync"
	"time"
)

// lags is how long keys have waited in the queue of each loop lately, from ready
// to taken. The zero value is ready.
type lags struct {
	mu sync.Mutex
	of map[string]time.Duration
}

// lagShare is the weight of one wait in the average: one in eight.
const lagShare = 8

// note adds one wait.
func (l *lags) note(loop string, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]time.Duration{}
	}
	l.of[loop] += (max(0, wait) - l.of[loop]) / lagShare
}

// lag is that of one loop.
func (l *lags) lag(loop string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[loop].Truncate(time.Millisecond)
}

// longest is the lag of the loop that is behind the most, in whole
// milliseconds: the loops write the same objects one after the other.
func (l *lags) longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var most time.Duration
	for _, lag := range l.of {
		most = max(most, lag)
	}
	return most.Truncate(time.Millisecond)
}
