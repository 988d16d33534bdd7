package create

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What does not answer is left behind soon after an interrupt, and it is said how far it came;
// what is answered until then ends by itself.
func TestInterruptible(t *testing.T) { synctest.Test(t, interrupted) }

func interrupted(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes time.Duration
		stage string
		left  bool
		want  string
	}{
		{"silent", time.Hour, ": whether configmaps/a was created is not known", true, "interrupted: whether configmaps/a was created is not known"},
		{"answered soon", time.Second + answeredWithin/2, "", false, "its own end"},
		{"not interrupted", time.Millisecond, "", false, "its own end"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		s := &stage{}
		began := time.Now()
		left, err := s.interruptible(ctx, func() error {
			s.set(c.stage)
			time.Sleep(c.takes)
			return errors.New("its own end")
		})
		cancel()
		if took := time.Since(began); left != c.left || err.Error() != c.want || took != min(c.takes, time.Second+answeredWithin) {
			t.Errorf("%s: %v, %v after %s", c.name, left, err, took)
		}
	}
	time.Sleep(time.Hour) // What was left behind ends before the test does.
}
