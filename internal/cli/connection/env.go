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

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/objects"
)

const (
	// DataDirVariable is the environment variable that says what --data-dir says.
	DataDirVariable = "KQUEEN_DATA_DIR"
	// OrganizationVariable is the environment variable that says what --org says.
	OrganizationVariable = "KQUEEN_ORG"
	defaultOrganization  = "default"
	// AdminKubeconfig is the file in the data directory by which kubectl reaches the admin plane. It is there as soon as
	// KQueen is set up.
	AdminKubeconfig = "admin.kubeconfig"
)

// Env is what a command gets from outside: streams, and the flags that all commands share.
type Env struct {
	*console.Console

	Flags Flags
	// SystemData is the data directory of root, for which no home says where it is.
	SystemData string
	// Server is the URL of the API that this command calls; empty as long as it calls none.
	Server string
	// contextOrganization is the one that goes with the context that this command calls; empty for none.
	contextOrganization string
	// SigningIn says that a refusal is about what was typed, and not about a session.
	SigningIn bool
}

// Flags are the flags that all commands share.
type Flags struct {
	dataDir, Organization string
	// Context is an installation that the user has signed in to.
	Context string
}

// New returns an Env with these streams; the flags come when the command line is read.
func New(stdin io.Reader, stdout, stderr io.Writer) *Env {
	return &Env{Console: &console.Console{Stdin: stdin, Stdout: stdout, Stderr: stderr}, SystemData: "/var/lib/kqueen"}
}

// Register adds the flags. Their defaults are empty, so that help is the same for every user.
func (g *Flags) Register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&g.dataDir, "data-dir", "", "data directory of KQueen (env "+DataDirVariable+"; default /var/lib/kqueen for root, ~/.local/share/kqueen otherwise)")
	flags.StringVar(&g.Context, "context", "", "installation to use, from \"kqueen context list\" (default the current one)")
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
	if name := e.organizationOfContext(); name != "" {
		return name
	}
	return defaultOrganization
}

// organizationOfContext is the one that goes with the context that this command uses, or will use once it calls; empty for
// none. A context that cannot be read is for the call to report.
func (e *Env) organizationOfContext() string {
	if e.Server != "" {
		return e.contextOrganization
	}
	if elsewhere, err := e.Elsewhere(); err != nil || !elsewhere {
		return ""
	}
	k, _, err := e.WhereTo()
	if err != nil {
		return ""
	}
	return k.Organization
}

// Namespace is where the organization's objects live.
func (e *Env) Namespace() string { return v1alpha1.NamespacePrefix + e.Organization() }

// Connect returns a client of the objects that the installation keeps. No call has been made yet.
func (e *Env) Connect() (*objects.Client, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	d, err := e.API()
	if err != nil {
		return nil, err
	}
	return objects.New(d.Client, scheme, e.Organization()), nil
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
// speaks of the same installation and organization when it is copied.
func (e *Env) Command(line string) string {
	for _, flag := range []struct{ name, value string }{
		{"data-dir", e.Flags.dataDir},
		{"context", e.Flags.Context},
		{"org", e.Flags.Organization},
	} {
		if flag.value != "" {
			line += " --" + flag.name + " " + console.ShellQuote(flag.value)
		}
	}
	return "kqueen " + line
}
