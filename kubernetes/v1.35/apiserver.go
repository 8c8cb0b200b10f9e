//go:build !node

package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/controlplane/reconcilers"

	"github.com/spf13/cobra"
)

// Flags of this program alone. Without them it is upstream's kube-apiserver and nothing else.
const (
	flagFolder = "handover-folder"
	flagOwn    = "own-address"
)

// runAPIServer is upstream's kube-apiserver. With --handover-folder another process can take its place while it runs: both accept from one
// queue of the kernel, the new one from when it is ready, the old one until it is told to leave. No connection is refused meanwhile.
func runAPIServer() int {
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(arg, "--"+flagFolder+"=") {
			return cli.Run(replaceable())
		}
	}
	return cli.Run(apiserver.NewAPIServerCommand())
}

// replaceable is upstream's command (cmd/kube-apiserver/app), whose options cannot be reached from outside.
func replaceable() *cobra.Command {
	var folder, own string
	s := options.NewServerRunOptions()
	cmd := &cobra.Command{Use: "kube-apiserver", SilenceUsage: true, Args: cobra.NoArgs}
	sets := s.Flags()
	global := sets.FlagSet("global")
	globalflag.AddGlobalFlags(global, cmd.Name(), logs.SkipLoggingConfigurationFlags())
	global.StringVar(&folder, flagFolder, "", "Folder in which the port is taken over from the process before this one, and given to the one after it.")
	global.StringVar(&own, flagOwn, "", "Address and port at which this process alone listens: for its own calls and for probes.")
	for _, set := range sets.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	ctx := genericapiserver.SetupSignalContext()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		registry := s.GenericServerRunOptions.ComponentGlobalsRegistry
		if err := registry.Set(); err != nil {
			return err
		}
		rest.SetDefaultWarningHandler(rest.NoWarnings{})
		features := registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
		if err := logsapi.ValidateAndApply(s.Logs, features); err != nil {
			return err
		}
		cliflag.PrintFlags(cmd.Flags())
		completed, err := s.Complete(ctx)
		if err != nil {
			return err
		}
		if errs := completed.Validate(); len(errs) > 0 {
			return utilerrors.NewAggregate(errs)
		}
		features.(featuregate.MutableFeatureGate).AddMetrics()
		registry.AddMetrics()
		p, err := openPort(ctx, folder, net.JoinHostPort(s.SecureServing.BindAddress.String(), portOf(s)), own)
		if err != nil {
			return err
		}
		return serve(ctx, completed, p)
	}
	return cmd
}

// serve is upstream's Run, with a port that is handed over.
func serve(ctx context.Context, opts options.CompletedOptions, p *port) error {
	opts.SecureServing.Listener = p
	config, err := apiserver.NewConfig(opts)
	if err != nil {
		return err
	}
	// Its calls to itself go to its own address: at the shared one another process may answer, with other keys for such calls.
	p.announce()
	aggregator := config.Aggregator.GenericConfig
	chain, noted := aggregator.BuildHandlerChainFunc, newActivity()
	aggregator.BuildHandlerChainFunc = func(h http.Handler, c *genericapiserver.Config) http.Handler { return p.learn(chain(noted.note(h), c)) }
	completed, err := config.Complete()
	if err != nil {
		return err
	}
	endpoints := &completed.KubeAPIs.Extra.EndpointReconcilerConfig
	endpoints.Reconciler = staying{endpoints.Reconciler}
	server, err := apiserver.CreateServerChain(completed)
	if err != nil {
		return err
	}
	prepared, err := server.PrepareRun()
	if err != nil {
		return err
	}
	go p.accept(ctx, func() bool { return ready(server.GenericAPIServer.UnprotectedHandler()) })
	go p.handOver(ctx)
	klog.InfoS("Port can be handed over", "address", p.shared.Addr(), "own", p.own.Addr(), "taken", p.taken)
	return prepared.Run(ctx)
}

// staying leaves the address of the API server in the Service "kubernetes" when it ends, and when it begins: another process serves there,
// or soon will. Upstream takes it away, so that pods find no API server for seconds.
type staying struct{ reconcilers.EndpointReconciler }

func (staying) RemoveEndpoints(string, net.IP, []corev1.EndpointPort) error { return nil }

// answer takes the status of an answer and nothing else.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return len(b), nil
}

// ready asks the server whether it is, past authentication.
func ready(h http.Handler) bool {
	request, err := http.NewRequest(http.MethodGet, "/readyz", http.NoBody)
	if err != nil {
		return false
	}
	a := &answer{header: http.Header{}}
	h.ServeHTTP(a, request)
	return a.status == http.StatusOK
}

// until calls ok again and again until it is true, or ctx ends.
func until(ctx context.Context, ok func() bool) bool {
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) { return ok(), nil })
	return err == nil
}
