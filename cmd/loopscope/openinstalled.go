package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/installed"
)

// findWithin is how long a console of the cluster is looked for.
const findWithin = 10 * time.Second

// forwarded serves the console that is installed in the cluster until ctx ends. Where the user cannot
// reach it, served is false, and it is said why. That there is none is said to whoever has named one.
func (o *openOptions) forwarded(ctx context.Context, s streams) (served bool, err error) {
	config, err := restConfig(o.manager.kubeconfig)
	if o.local || err != nil || config.Impersonate.UserName != "" { // The console would see who you are, and not who you want to be.
		return false, nil
	}
	finding, cancel := context.WithTimeout(ctx, findWithin)
	console, err := installed.Find(finding, config, o.in)
	cancel()
	none := errors.Is(err, installed.ErrNone)
	if !o.named && (none || errors.Is(err, installed.ErrMayNotLook)) {
		return false, nil
	}
	at := place{clusterName(o.manager.kubeconfig), config.Host}
	if err == nil && !o.named && !newConsent(at).given(config, o.in, console.UID, s.err) {
		return false, nil
	}
	if err == nil {
		defer console.Close()
		err = installed.LetsIn(ctx, config, console.Dial)
	}
	if err != nil {
		why := "The console that is installed in namespace %s cannot be opened"
		if none {
			why = "No console is installed in namespace %s"
		}
		fmt.Fprintf(s.err, why+": %v. One is started here instead\n", o.in, err)
		return false, nil
	}
	log := o.manager.log.logger(s.err)
	proxy, err := installed.Proxy(config, console.Dial, log)
	if err != nil {
		return false, err
	}
	door, err := o.manager.signIn.door(howToManager)
	if err != nil {
		return false, err
	}
	listener, err := o.listen()
	if err != nil {
		return false, err
	}
	url := door.Address("http://" + listener.Addr().String())
	defer announce(at, url, log)()
	fmt.Fprintf(s.out, "The console of namespace %s, as you may see it\ndashboard: %s\n", o.in, url)
	o.show(url, s)
	return true, installed.Serve(ctx, listener, door.Guard(proxy, func(*http.Request) bool { return false }, nil), log)
}
