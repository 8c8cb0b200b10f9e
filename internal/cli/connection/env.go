package connection

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/cli/restclient"
	"kqueen.io/kqueen/internal/platform/kube"
)

const (
	// DataDirVariable is the environment variable that says what --data-dir says.
	DataDirVariable = "KQUEEN_DATA_DIR"
	// OrganizationVariable is the environment variable that says what --org says.
	OrganizationVariable = "KQUEEN_ORG"
	defaultOrganization  = "default"
	// AdminKubeconfig is the file in the data directory by which the admin plane is reached.
	AdminKubeconfig = "admin.kubeconfig"
)

// Env is what a command gets from outside: streams, and the flags that all commands share.
type Env struct {
	*console.Console

	Flags Flags
	// SystemData is the data directory of root, for which no home says where it is.
	SystemData string
	// Through is the URL of the door that this command speaks to; empty for none.
	Through string
	// organizationThrough is the one that goes with the context that this command uses; empty for none.
	organizationThrough string
	// SigningIn says that a refusal is about what was typed, and not about a session.
	SigningIn bool
}

// Flags are the flags that all commands share.
type Flags struct {
	dataDir, kubeconfig, kubeContext, Organization string
	// Context is one of kqueen's own: an installation that is reached through its door.
	Context string
}

// New returns an Env with these streams; the flags come when the command line is read.
func New(stdin io.Reader, stdout, stderr io.Writer) *Env {
	return &Env{Console: &console.Console{Stdin: stdin, Stdout: stdout, Stderr: stderr}, SystemData: "/var/lib/kqueen"}
}

// Register adds the flags. Their defaults are empty, so that help is the same for every user.
func (g *Flags) Register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&g.dataDir, "data-dir", "", "folder that holds everything KQueen keeps (env "+DataDirVariable+"; default /var/lib/kqueen for root, ~/.local/share/kqueen otherwise)")
	flags.StringVar(&g.kubeconfig, "kubeconfig", "", "kubeconfig of another admin plane than the one in the data directory")
	flags.StringVar(&g.kubeContext, "kube-context", "", "context of the admin plane's kubeconfig (default its current one)")
	flags.StringVar(&g.Context, "context", "", "installation to speak to, from \"kqueen context list\" (default the current one)")
	flags.StringVar(&g.Organization, "org", "", "organization (env "+OrganizationVariable+"; default \""+defaultOrganization+"\")")
	_ = root.RegisterFlagCompletionFunc("context", CompleteContexts(-1))
}

// dataDir is the folder that holds everything KQueen keeps.
func (e *Env) dataDir() (string, error) {
	if e.Flags.dataDir != "" {
		return e.Flags.dataDir, nil
	}
	if dir := os.Getenv(DataDirVariable); dir != "" {
		return dir, nil
	}
	if os.Geteuid() == 0 {
		return e.SystemData, nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "kqueen"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the data directory: %w; name it with --data-dir", err)
	}
	return filepath.Join(home, ".local", "share", "kqueen"), nil
}

// Organization is the organization that commands speak of.
func (e *Env) Organization() string {
	if e.Flags.Organization != "" {
		return e.Flags.Organization
	}
	if name := os.Getenv(OrganizationVariable); name != "" {
		return name
	}
	if e.organizationThrough != "" {
		return e.organizationThrough
	}
	return defaultOrganization
}

// Namespace is where the organization's objects live.
func (e *Env) Namespace() string { return v1alpha1.NamespacePrefix + e.Organization() }

// Config returns how to reach the admin plane, which is the way of the machine's owner.
func (e *Env) Config() (*rest.Config, error) {
	target := kube.Target{Kubeconfig: e.Flags.kubeconfig, Context: e.Flags.kubeContext, Version: program.Version(), Warn: func(text string) { e.Say("warning: %s", text) }}
	if target.Kubeconfig == "" {
		dir, err := e.dataDir()
		if err != nil {
			return nil, err
		}
		target.Kubeconfig = filepath.Join(dir, AdminKubeconfig)
		if _, err := os.Stat(target.Kubeconfig); os.IsNotExist(err) {
			return nil, fmt.Errorf("KQueen is not set up in %s; start it with: kqueen up --data-dir %s\n"+
				"or sign in to one elsewhere with: kqueen login https://SERVER:8443", dir, console.ShellQuote(dir))
		}
	}
	return kube.Config(target)
}

// Connect returns a client of what the installation keeps: through the REST API for a user who has signed in, and of the admin
// plane itself for the owner of the machine. No call has been made yet.
func (e *Env) Connect() (client.WithWatch, error) {
	through, err := e.Remote()
	if err != nil {
		return nil, err
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	if through {
		d, err := e.API()
		if err != nil {
			return nil, err
		}
		return restclient.New(d.Client, scheme, e.Organization()), nil
	}
	config, err := e.Config()
	if err != nil {
		return nil, err
	}
	return kube.Connect(config, scheme)
}

// NewScheme knows the kinds that this package speaks of.
func NewScheme() (*k8sruntime.Scheme, error) {
	scheme := k8sruntime.NewScheme()
	for _, add := range []func(*k8sruntime.Scheme) error{corev1.AddToScheme, eventsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return scheme, nil
}

// Command returns a command line for hints: it repeats the global flags that were given, so that it
// speaks of the same admin plane and organization when it is copied.
func (e *Env) Command(line string) string {
	for _, flag := range []struct{ name, value string }{
		{"data-dir", e.Flags.dataDir},
		{"kubeconfig", e.Flags.kubeconfig},
		{"kube-context", e.Flags.kubeContext},
		{"context", e.Flags.Context},
		{"org", e.Flags.Organization},
	} {
		if flag.value != "" {
			line += " --" + flag.name + " " + console.ShellQuote(flag.value)
		}
	}
	return "kqueen " + line
}
