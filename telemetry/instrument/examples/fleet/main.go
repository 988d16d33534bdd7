// Fleet is an example of a controller on client-go alone that shows its syncs: fleet.go is
// the controller, this file starts it and mounts the console on the program's own mux.
//
//	go run ./telemetry/instrument/examples/fleet --kubeconfig FILE
//	kubectl create configmap north --from-literal=size=3 --from-literal=image=ship:1.0
//	open http://127.0.0.1:8090/debug/loopscope/
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

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/instrument"
	"github.com/loopscope/loopscope/telemetry/metrics"
	"github.com/loopscope/loopscope/web"
)

// under is where the console is mounted.
const under = "/debug/loopscope"

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the cluster to run in")
	listen := flag.String("listen", "127.0.0.1:8090", "the address to serve on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, listen string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.Wrap(instrument.Transport)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	loop := instrument.Loop("fleet", "ConfigMap")
	loop.Headlines = []decision.Headline{{Fact: "size", Label: "wanted"}, {Fact: "pods", Label: "pods", Bound: "size", Sign: "≤"}, {Fact: "available", Label: "available"}}
	registry := prometheus.NewRegistry() // or the one that the program has
	counts, err := metrics.New(registry, metrics.Options{Loops: decision.Loops{loop}, Embedded: true})
	if err != nil {
		return err
	}
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: decision.Loops{loop}, Observe: counts.Observe})
	counts.States(metrics.Sources{Journal: journal})
	controller, err := instrument.New(journal, loop)
	if err != nil {
		return err
	}
	console, err := web.New(web.Options{Journal: journal, Loops: func() []telemetry.LoopState { return []telemetry.LoopState{controller.State()} }, Gatherer: registry, Readers: counts.Readers(), Cluster: "fleet"})
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(controller.Strip))
	fleets := newFleets(controller, client, factory)

	var group sync.WaitGroup
	group.Go(func() { journal.Run(ctx) })
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for range 2 {
		group.Go(func() { fleets.work(ctx) })
	}
	err = serve(ctx, listen, console)
	fleets.queue.ShutDown()
	group.Wait()
	factory.Shutdown()
	return err
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
