package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// name is that of the program, and of its Secret.
const name = "kqueen-agent"

// options are the flags.
type options struct {
	server, organization, cluster  string
	tokenFile, authority           string
	kubeconfig, namespace, healthy string
}

func (o *options) flags(stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.server, "server", "", "URL of KQueen, https://HOST:PORT")
	f.StringVar(&o.organization, "organization", "", "organization of the cluster in KQueen")
	f.StringVar(&o.cluster, "cluster", "", "name of the cluster in KQueen")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the one-time token with which the agent enrolls; it may be gone afterwards")
	f.StringVar(&o.authority, "authority", "", "file with the certificates, in PEM, by which KQueen is trusted beside those of the system")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig for the cluster, to run outside of it (default the pod's ServiceAccount)")
	f.StringVar(&o.namespace, "namespace", "kqueen", "namespace of the Secret "+name+", in which the agent keeps its identity")
	f.StringVar(&o.healthy, "health-address", "", "address that answers /livez, and /readyz while the agent is connected (default none)")
	f.Usage = func() {
		fmt.Fprintf(stderr, `Usage: %[1]s --server URL --organization NAME --cluster NAME [flags]

The agent connects the cluster in which it runs with KQueen, by a connection that it opens itself.
"kqueen cluster import NAME --agent" prints the manifests that run it; by hand it is:

  %[1]s --server https://kqueen.example:8443 --authority ca.crt --organization acme --cluster demo --token-file token

Flags:
`, name)
		f.PrintDefaults()
	}
	return f
}

// Main runs the program with its arguments until ctx ends, and returns its exit code.
func Main(ctx context.Context, args []string, stderr io.Writer) int {
	var o options
	f := o.flags(stderr)
	if err := f.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if f.NArg() > 0 || o.server == "" || o.organization == "" || o.cluster == "" {
		fmt.Fprintf(stderr, "%s: want --server, --organization and --cluster, and no arguments; see --help\n", name)
		return 2
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	if err := o.run(ctx, log); err != nil {
		log.Error("the agent ends", "error", err)
		return 1
	}
	return 0
}

func (o *options) run(ctx context.Context, log *slog.Logger) error {
	api, err := o.api()
	if err != nil {
		return err
	}
	var authority []byte
	if o.authority != "" {
		if authority, err = os.ReadFile(o.authority); err != nil {
			return fmt.Errorf("read by what KQueen is trusted: %w", err)
		}
	}
	a, err := New(Config{
		Server: o.server, Authority: authority, Organization: o.organization, Cluster: o.cluster, Token: o.token, API: api,
		Identity: &Secret{API: api, Namespace: o.namespace, Name: name}, Version: version(), Log: log,
	})
	if err != nil {
		return err
	}
	if o.healthy == "" {
		return a.Run(ctx)
	}
	health, err := net.Listen("tcp", o.healthy)
	if err != nil {
		return fmt.Errorf("listen for questions of health: %w", err)
	}
	s := &http.Server{Handler: a.health(), ReadTimeout: callWithin, WriteTimeout: callWithin, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	go func() {
		if err := s.Serve(health); !errors.Is(err, http.ErrServerClosed) {
			log.Error("questions of health are not answered any more", "error", err)
		}
	}()
	return errors.Join(a.Run(ctx), s.Close())
}

// health answers a kubelet. An agent that is not connected lives: it tries again by itself.
func (a *Agent) health() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !a.Connected() {
			http.Error(w, "not connected with KQueen", http.StatusServiceUnavailable)
		}
	})
	return mux
}

func (o *options) api() (*rest.Config, error) {
	api, err := rest.InClusterConfig()
	if o.kubeconfig != "" {
		api, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("reach the API server of the cluster: %w", err)
	}
	api.UserAgent = name + "/" + version()
	return api, nil
}

// token reads the one-time token; empty where there is no such file.
func (o *options) token() (string, error) {
	if o.tokenFile == "" {
		return "", nil
	}
	data, err := os.ReadFile(o.tokenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// version is that of the source from which the program was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 7 {
			return s.Value[:7]
		}
	}
	return "unknown"
}
