package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
	"k8s.io/client-go/rest"
)

// consent is whether credentials may be sent to a console of the cluster that nobody has vouched for yet.
type consent struct {
	// asks is where somebody can be asked; nil where nobody can.
	asks io.Reader
	// remembers is the file of the consoles that somebody has said yes to.
	remembers string
}

func newConsent(at place) consent {
	var c consent
	if term.IsTerminal(int(os.Stdin.Fd())) {
		c.asks = os.Stdin
	}
	if path, err := at.trusted(os.Getenv); err == nil {
		c.remembers = path
	}
	return c
}

// given reports whether a console, known by the UID of its Service, may have the credentials. A certificate
// proves who somebody is and gives nothing away.
func (c consent) given(config *rest.Config, namespace, uid string, out io.Writer) bool {
	if !givesAway(config) || slices.Contains(c.known(), uid) {
		return true
	}
	if c.asks == nil {
		fmt.Fprintf(out, "A console is installed in namespace %s. To open it, and to send it your credentials, give --console-namespace=%s. One is started here instead\n", namespace, namespace)
		return false
	}
	fmt.Fprintf(out, "A console is installed in namespace %s. Whoever may create pods there can read the credentials that it is sent. Open it with yours? [y/N] ", namespace)
	answer, _ := bufio.NewReader(c.asks).ReadString('\n') // Nothing is no.
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		fmt.Fprintln(out, "One is started here instead")
		return false
	}
	if err := c.remember(uid); err != nil {
		fmt.Fprintf(out, "The answer is not remembered: %v\n", err)
	}
	return true
}

// givesAway reports whether requests carry what whoever receives them can use.
func givesAway(c *rest.Config) bool {
	return c.BearerToken != "" || c.BearerTokenFile != "" || c.Username != "" || c.ExecProvider != nil || c.AuthProvider != nil
}

func (c consent) known() []string {
	text, err := os.ReadFile(c.remembers)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

func (c consent) remember(uid string) (err error) {
	if c.remembers == "" {
		return errors.New("there is no state directory")
	}
	f, err := os.OpenFile(c.remembers, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(uid + "\n")
	return err
}

// trusted is the file with the consoles of a cluster to which credentials may be sent.
func (p place) trusted(env func(string) string) (string, error) {
	path, err := p.file(env)
	return strings.TrimSuffix(path, ".console") + ".trusted", err
}
