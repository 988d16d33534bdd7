package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/signin"
)

const (
	// mostAnnounced is how many consoles of a cluster are remembered. Those that were killed have left
	// their addresses.
	mostAnnounced = 32
	// answersWithin is how long one of several consoles may take before the next is asked.
	answersWithin = time.Second
	// lineMark ends an address in the file. No address of a console has a fragment.
	lineMark = "#"
)

// announce leaves the address of this process's console, with its token, where commands for the same
// cluster find it. gone takes it back.
func announce(at place, url string, log *slog.Logger) (gone func()) {
	path, err := at.file(os.Getenv)
	line := url + lineMark + rand.Text() // Another console may have the same address later.
	if err == nil {
		err = changeAnnounced(path, func(list []string) []string { return append([]string{line}, elsewhere(list, url)...) })
	}
	if err != nil {
		log.Debug("Commands have to be told the address of the console", "error", err)
		return func() {}
	}
	return func() {
		err := changeAnnounced(path, func(list []string) []string {
			return slices.DeleteFunc(list, func(other string) bool { return other == line })
		})
		if err != nil {
			log.Debug("The address of the console was not taken back", "error", err)
		}
	}
}

// announced are the addresses of the consoles of a cluster, the newest first.
func announced(path string) []string {
	list := announcedLines(path)
	for i := range list {
		list[i] = addressIn(list[i])
	}
	return list
}

// addressIn is the address in a line.
func addressIn(line string) string {
	address, _, _ := strings.Cut(line, lineMark)
	return address
}

// announcedLines are the addresses, each with what tells its process from the others.
func announcedLines(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// elsewhere are the addresses of consoles at other ports.
func elsewhere(list []string, url string) []string {
	server, _ := signin.Split(url)
	return slices.DeleteFunc(list, func(other string) bool {
		at, _ := signin.Split(addressIn(other))
		return at == server
	})
}

// changeAnnounced changes the addresses while no other process does.
func changeAnnounced(path string, change func([]string) []string) error {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := lockFile(lock); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	return writeAnnounced(path, change(announcedLines(path)))
}

// writeAnnounced replaces the file at once: others read it meanwhile.
func writeAnnounced(path string, list []string) error {
	if len(list) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*") // Its owner alone can read it.
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.Join(list[:min(len(list), mostAnnounced)], "\n") + "\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// newest is the console that was announced last of those that answer and look at the namespace, "" for all of
// them; or else of those that answer, or of all.
func newest(ctx context.Context, list []string, cluster, namespace string) found {
	var others []found
	for _, address := range list {
		f := foundAt(address, cluster)
		f.announced = true
		var err error
		if f.observes, err = f.observed(ctx); err != nil {
			continue
		}
		if f.knows(namespace) {
			return f
		}
		others = append(others, f)
	}
	if len(others) > 0 {
		return others[0]
	}
	f := foundAt(list[0], cluster)
	f.announced = true
	return f
}
