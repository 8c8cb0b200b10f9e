// Command agent is KQueen's own part of a node: each of its commands is what an addon runs on every node of a cluster.
//
//	agent network-policies -node NAME       drops packets of pods that NetworkPolicies do not allow
//	agent local-volumes -node NAME          makes and deletes the volumes of claims whose pods are scheduled to the node
//	agent load-balancer -node NAME          gives Services of type LoadBalancer addresses, and answers for them in the node's network
//	agent -version
//
// They share an image and no process: each has the permissions that it needs, and is switched by itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/node/agent/addresses"
	"kqueen.io/kqueen/node/agent/policies"
	"kqueen.io/kqueen/node/agent/ready"
	"kqueen.io/kqueen/node/agent/volumes"
)

// version is that of the programs here. The builder of images appends a hash of the program to it.
const version = "v0.1.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// command is one of the agent's: it registers its flags and returns what runs until the context ends. It calls up once it does
// its work, after which the node's readiness probe is answered.
type command func(flags *flag.FlagSet) func(ctx context.Context, node string, client kubernetes.Interface, up func()) error

// commands by name.
func commands() map[string]command {
	return map[string]command{
		"load-balancer":    addresses.Command,
		"local-volumes":    volumes.Command,
		"network-policies": policies.Command,
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 && (args[0] == "-version" || args[0] == "--version") {
		fmt.Println("agent", version)
		return nil
	}
	known := slices.Sorted(maps.Keys(commands()))
	if len(args) == 0 || commands()[args[0]] == nil {
		return fmt.Errorf("%q is not understood; give -version or one of %s", args, strings.Join(known, ", "))
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	node := flags.String("node", os.Getenv("NODE_NAME"), "name of the Node that this runs on")
	listen := flags.String("ready-listen", "", "address that answers \"GET /readyz\" with 200 once the command does its work; empty for none")
	work := commands()[args[0]](flags)
	switch err := flags.Parse(args[1:]); {
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("%q is not understood: give flags", flags.Args())
	case *node == "":
		return fmt.Errorf("-node: name the Node that this runs on")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	config.ContentType, config.UserAgent = "application/vnd.kubernetes.protobuf", "kqueen-agent/"+version+" "+args[0]
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	return ready.Serve(ctx, *listen, func(ctx context.Context, up func()) error { return work(ctx, *node, client, up) })
}
