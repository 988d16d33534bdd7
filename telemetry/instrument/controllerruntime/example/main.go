// Backup is an example of a controller on controller-runtime, of a custom resource, that
// shows its syncs: backup.go is the controller, this file starts it and mounts the console
// on the program's own mux.
//
//	kubectl apply -f crd.yaml
//	go run . --kubeconfig FILE
//	kubectl apply -f - <<< '{"apiVersion":"example.loopscope.dev/v1","kind":"Backup","metadata":{"name":"data"},"spec":{"everySeconds":10,"keep":3}}'
//	open http://127.0.0.1:8091/debug/loopscope/
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/instrument"
	"github.com/loopscope/loopscope/telemetry/instrument/controllerruntime"
	"github.com/loopscope/loopscope/web"
)

// under is where the console is mounted.
const under = "/debug/loopscope"

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the cluster to run in")
	listen := flag.String("listen", "127.0.0.1:8091", "the address to serve on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "backup:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, listen string) error {
	loop := instrument.Loop("backup", "Backup")
	loop.Headlines = []decision.Headline{{Fact: "jobs", Label: "jobs", Bound: "keep", Sign: "≤"}}
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: decision.Loops{loop}})
	probe, started, err := newManager(kubeconfig, journal, loop)
	if err != nil {
		return err
	}
	console, err := web.New(web.Options{Journal: journal, Loops: func() []telemetry.LoopState { return []telemetry.LoopState{probe.State()} }, Cluster: "backup"})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { journal.Run(ctx) })
	var served error
	group.Go(func() { served = serve(ctx, listen, console); cancel() })
	err = started.Start(ctx)
	cancel()
	group.Wait()
	return errors.Join(err, served)
}

// newManager is a manager of controller-runtime with the controller in it.
func newManager(kubeconfig string, journal *telemetry.Journal, loop decision.Loop) (*controllerruntime.Probe, manager.Manager, error) {
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), addToScheme(scheme)); err != nil {
		return nil, nil, err
	}
	probe, err := controllerruntime.New(journal, loop, scheme)
	if err != nil {
		return nil, nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	config.Wrap(instrument.Transport)
	m, err := manager.New(config, manager.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Cache: cache.Options{DefaultTransform: probe.Strip}})
	if err != nil {
		return nil, nil, err
	}
	return probe, m, builder.ControllerManagedBy(m).For(&Backup{}).Owns(&batchv1.Job{}).
		WithEventFilter(probe.Events()).
		WithOptions(controller.Options{NewQueue: probe.NewQueue}).
		Complete(probe.Reconciler(&backups{m.GetClient()}))
}

// serve serves the console beside whatever else the program serves, until ctx ends.
func serve(ctx context.Context, listen string, console *web.Server) error {
	mux := http.NewServeMux()
	mux.Handle(under+"/", http.StripPrefix(under, console.Handler()))
	server := web.HTTPServer(mux, nil)
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Printf("the console is at http://%s%s/\n", listener.Addr(), under)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // a connection without a request stays for 5
	defer cancel()
	return errors.Join(console.Shutdown(bounded), server.Shutdown(bounded))
}
