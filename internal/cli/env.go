package cli

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
	"kqueen.io/kqueen/internal/cli/doorclient"
	"kqueen.io/kqueen/internal/platform/kube"
)

const (
	dataDirVariable      = "KQUEEN_DATA_DIR"
	organizationVariable = "KQUEEN_ORG"
	defaultOrganization  = "default"
	// adminKubeconfig is the file in the data directory by which the admin plane is reached.
	adminKubeconfig = "admin.kubeconfig"
)

// env is what a command gets from outside: streams, and the flags that all commands share.
type env struct {
	*console

	globals globals
	// systemData is the data directory of root, for which no home says where it is.
	systemData string
	// through is the URL of the door that this command speaks to; empty for none.
	through string
	// organizationThrough is the one that goes with the context that this command uses; empty for none.
	organizationThrough string
	// signingIn says that a refusal is about what was typed, and not about a session.
	signingIn bool
}

// globals are the flags that all commands share.
type globals struct {
	dataDir, kubeconfig, kubeContext, organization string
	// context is one of kqueen's own: an installation that is reached through its door.
	context string
}

func newEnv(stdin io.Reader, stdout, stderr io.Writer) *env {
	return &env{console: &console{stdin: stdin, stdout: stdout, stderr: stderr}, systemData: "/var/lib/kqueen"}
}

// register adds the flags. Their defaults are empty, so that help is the same for every user.
func (g *globals) register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&g.dataDir, "data-dir", "", "folder that holds everything KQueen keeps (env "+dataDirVariable+"; default /var/lib/kqueen for root, ~/.local/share/kqueen otherwise)")
	flags.StringVar(&g.kubeconfig, "kubeconfig", "", "kubeconfig of another admin plane than the one in the data directory")
	flags.StringVar(&g.kubeContext, "kube-context", "", "context of the admin plane's kubeconfig (default its current one)")
	flags.StringVar(&g.context, "context", "", "installation to speak to, from \"kqueen context list\" (default the current one)")
	flags.StringVar(&g.organization, "org", "", "organization (env "+organizationVariable+"; default \""+defaultOrganization+"\")")
	_ = root.RegisterFlagCompletionFunc("context", completeContexts(-1))
}

// dataDir is the folder that holds everything KQueen keeps.
func (e *env) dataDir() (string, error) {
	if e.globals.dataDir != "" {
		return e.globals.dataDir, nil
	}
	if dir := os.Getenv(dataDirVariable); dir != "" {
		return dir, nil
	}
	if os.Geteuid() == 0 {
		return e.systemData, nil
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

// organization is the organization that commands speak of.
func (e *env) organization() string {
	if e.globals.organization != "" {
		return e.globals.organization
	}
	if name := os.Getenv(organizationVariable); name != "" {
		return name
	}
	if e.organizationThrough != "" {
		return e.organizationThrough
	}
	return defaultOrganization
}

// namespace is where the organization's objects live.
func (e *env) namespace() string { return v1alpha1.NamespacePrefix + e.organization() }

// config returns how to reach the admin plane, which is the way of the machine's owner.
func (e *env) config() (*rest.Config, error) {
	target := kube.Target{Kubeconfig: e.globals.kubeconfig, Context: e.globals.kubeContext, Version: programVersion(), Warn: func(text string) { e.say("warning: %s", text) }}
	if target.Kubeconfig == "" {
		dir, err := e.dataDir()
		if err != nil {
			return nil, err
		}
		target.Kubeconfig = filepath.Join(dir, adminKubeconfig)
		if _, err := os.Stat(target.Kubeconfig); os.IsNotExist(err) {
			return nil, fmt.Errorf("KQueen is not set up in %s; start it with: kqueen up --data-dir %s\n"+
				"or sign in to one elsewhere with: kqueen login https://SERVER:8443", dir, shellQuote(dir))
		}
	}
	return kube.Config(target)
}

// connect returns a client of what the installation keeps: through its door for whoever has signed in, and of the admin
// plane itself for the owner of the machine. No call has been made yet.
func (e *env) connect() (client.WithWatch, error) {
	through, err := e.throughDoor()
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	if through {
		d, err := e.door()
		if err != nil {
			return nil, err
		}
		return doorclient.New(d.Client, scheme, e.organization()), nil
	}
	config, err := e.config()
	if err != nil {
		return nil, err
	}
	return kube.Connect(config, scheme)
}

// newScheme knows the kinds that this package speaks of.
func newScheme() (*k8sruntime.Scheme, error) {
	scheme := k8sruntime.NewScheme()
	for _, add := range []func(*k8sruntime.Scheme) error{corev1.AddToScheme, eventsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return scheme, nil
}

// command returns a command line for hints: it repeats the global flags that were given, so that it
// speaks of the same admin plane and organization when it is copied.
func (e *env) command(line string) string {
	for _, flag := range []struct{ name, value string }{
		{"data-dir", e.globals.dataDir},
		{"kubeconfig", e.globals.kubeconfig},
		{"kube-context", e.globals.kubeContext},
		{"context", e.globals.context},
		{"org", e.globals.organization},
	} {
		if flag.value != "" {
			line += " --" + flag.name + " " + shellQuote(flag.value)
		}
	}
	return "kqueen " + line
}
