package signin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// shortest is how many characters a token of somebody's own must have; ours have 26, which is 130
// bits. longest bounds what is read.
const (
	shortest = 20
	longest  = 1024
)

// NewToken is a token that nobody can guess.
func NewToken() string { return strings.ToLower(rand.Text()) }

// ReadToken reads a token from a file, which its owner alone may read. Space around it is left out.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("token: %w", err)
	case info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("token: others may use %s: run 'chmod 600 %s', and write a new token into it", path, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err != nil {
		return "", fmt.Errorf("token: read %s: %w", path, err)
	}
	token := strings.TrimSpace(string(text))
	if err := check(token); err != nil {
		return "", fmt.Errorf("token: %s: %w", path, err)
	}
	return token, nil
}

func check(token string) error {
	switch {
	case len(token) < shortest:
		return fmt.Errorf("it has %d characters, and needs %d or more: openssl rand -hex 20 makes one", len(token), shortest)
	case len(token) > longest:
		return fmt.Errorf("it has more than %d characters", longest)
	case strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~") != "":
		return errors.New("it has characters other than letters, digits, hyphens, dots, underscores and tildes")
	}
	return nil
}
