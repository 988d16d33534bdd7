package app

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/history"
)

// Archive is a history that is read alone. The caller closes it.
type Archive interface {
	telemetry.Archive
	Close() error
}

// ReadHistory opens a history file for reading, beside a program that writes it
// or without one.
func ReadHistory(path string) (Archive, error) {
	f, err := history.Read(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}
