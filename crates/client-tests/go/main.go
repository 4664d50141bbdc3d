// The scenarios of an ordinary client-go program, each against the cluster of $KUBECONFIG. Every
// observation is one line of JSON; the session files of the tests say what they must be.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const namespace = "default"

// patience bounds every wait; nothing here takes more than a moment.
const patience = 30 * time.Second

// clients are the ways client-go talks to a server.
type clients struct {
	config   *rest.Config
	typed    kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
}

var scenarios = map[string]func(context.Context, clients) error{
	"discovery":         discover,
	"dynamic-informer":  dynamicInformer,
	"events":            events,
	"leader-election":   leaderElection,
	"metadata-informer": metadataInformer,
	"typed-informer":    typedInformer,
	"writes":            writes,
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name string) error {
	scenario, ok := scenarios[name]
	if !ok {
		return fmt.Errorf("no scenario %q", name)
	}
	clients, err := connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return scenario(ctx, clients)
}

func connect() (clients, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return clients{}, err
	}
	config.UserAgent = "client-go-program"
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return clients{}, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return clients{}, err
	}
	partial, err := metadata.NewForConfig(config)
	return clients{config, typed, untyped, partial}, err
}

// fields of one observation.
type fields map[string]any

// say prints one observation.
func say(what string, details fields) {
	line := fields{"saw": what}
	for name, value := range details {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
