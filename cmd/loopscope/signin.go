package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/loopscope/loopscope/cmd/internal/signin"
)

// The values of --console-auth.
const (
	authToken = "token"
	authNone  = "none"
)

// signInOptions are the flags that say whom the console on this machine lets in.
type signInOptions struct {
	auth, tokenFile string
	flags           *pflag.FlagSet
}

// spelledOut reports whether somebody has chosen, and not only left it as it is.
func (o *signInOptions) spelledOut() bool { return o.flags != nil && o.flags.Changed("console-auth") }

func (o *signInOptions) addFlags(flags *pflag.FlagSet) {
	o.flags = flags
	flags.StringVar(&o.auth, "console-auth", authToken, "whom the console at --listen lets in: token (who was given the address with the token; with --secure-port the token is printed only if this is spelled out) or none (everybody on this machine, and every page says so)")
	flags.StringVar(&o.tokenFile, "console-token-file", "", "file with the token of the console, which stays valid when this is started again; programs send it as a bearer token (default a new token at every start)")
}

func (o *signInOptions) check() error {
	switch {
	case o.auth != authToken && o.auth != authNone:
		return fmt.Errorf("give %s or %s as --console-auth", authToken, authNone) // Somebody may have given the token itself.
	case o.auth == authNone && o.tokenFile != "":
		return errors.New("--console-token-file means nothing with a console that asks for no token: leave out one of --console-auth and --console-token-file")
	}
	return nil
}

// door is nil where everybody is let in. how says how to get in otherwise.
func (o *signInOptions) door(how string) (*signin.Door, error) {
	if o.auth == authNone {
		return nil, nil
	}
	token := signin.NewToken()
	if o.tokenFile != "" {
		var err error
		if token, err = signin.ReadToken(o.tokenFile); err != nil {
			return nil, fmt.Errorf("--console-token-file: %w", err)
		}
	}
	return signin.New(token, how+" Programs send the token as a bearer token."), nil
}

// How to get in, as somebody reads who is not let in.
const (
	howToManager   = "Run `loopscope open` as the user who started this console, or open the address that it printed at its start."
	howToRecording = "Open the address that `loopscope view` has printed."
)
