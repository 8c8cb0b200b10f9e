package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/workers/machine"
)

// joinCommand is what a machine joins with, as `node join-command -o json` promises it.
type joinCommand struct {
	Machine string `json:"machine"`
	Cluster string `json:"cluster"`
	// Version of Kubernetes that the machine is to have.
	Version string `json:"version"`
	// Server is host:port of the API server.
	Server string `json:"server"`
	// Token is good for this one machine until Expires. It is a secret.
	Token   string    `json:"token"`
	Expires time.Time `json:"expiresAt"`
	// CACertHashes are those of the public keys that may sign the server's certificate.
	CACertHashes []string `json:"caCertHashes"`
	// Command joins the machine when it is run there: one of Commands.
	Command string `json:"command"`
	// Commands are what joins the machine, by the program that does: kqueen, kubeadm.
	Commands map[string]string `json:"commands"`
}

// Programs that join a machine.
const (
	withKQueen  = "kqueen"
	withKubeadm = "kubeadm"
)

// joining is one run of `node join-command`.
type joining struct {
	env                *connection.Env
	pool, format, with string
}

// newJoinCommand returns `node join-command`.
func newJoinCommand(e *connection.Env) *cobra.Command {
	j := &joining{env: e}
	cmd := &cobra.Command{
		Use:   "join-command [NAME]",
		Short: "Print the command that joins a machine of your own",
		Long: `Print the command that joins a machine of your own to a nodepool of provider
manual. It is a "kqueen node join", which installs containerd, kubelet and
kube-proxy, or with --with kubeadm a "kubeadm join" that upstream's kubeadm understands.
Without a NAME it is for the first waiting machine.

The command holds a secret, with which this one machine can join, once and within
a day; after that this prints another.`,
		Example: `  kqueen nodepool create hand --cluster demo --provider manual --nodes 1
  kqueen node join-command --pool hand
  kqueen node join-command --pool hand --with kubeadm
  kqueen node join-command hand-x7k2f -o json`,
		Args: command.Names(0, 1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return kinds.NamesOf(cmd, e, kinds.Machine, begun, awaitsJoin), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && j.pool != "" {
				return exit.UsageError(cmd, "give NAME or --pool, not both")
			}
			if j.with != withKQueen && j.with != withKubeadm {
				return exit.UsageError(cmd, "--with: %q joins no machine; choose one of %s, %s", j.with, withKQueen, withKubeadm)
			}
			return j.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&j.pool, "pool", "", "for the first waiting machine of this nodepool")
	_ = cmd.RegisterFlagCompletionFunc("pool", kinds.CompleteNames(e, kinds.NodePool, -1))
	cmd.Flags().StringVar(&j.with, "with", withKQueen, "program that joins the machine: "+withKQueen+", "+withKubeadm)
	_ = cmd.RegisterFlagCompletionFunc("with", command.OneOf(withKQueen, withKubeadm))
	command.RegisterOutput(cmd, &j.format, "text", []string{"text", "json", "yaml"})
	return cmd
}

func (j *joining) run(ctx context.Context, args []string) error {
	c, err := j.env.Connect()
	if err != nil {
		return err
	}
	chosen, err := j.choose(ctx, c, args)
	if err != nil {
		return err
	}
	found, err := joinCommandOf(ctx, j.env, c, chosen)
	if err != nil {
		return err
	}
	found.Command = found.Commands[j.with]
	return j.print(found)
}

// awaitsJoin says whether its operator has to join the machine.
func awaitsJoin(o client.Object) bool {
	m, ok := o.(*v1alpha1.Machine)
	return ok && m.Spec.Provider == v1alpha1.ProviderManual && m.Status.JoinTime == nil && m.DeletionTimestamp == nil
}

// choose finds the machine that the user names, or the first that waits.
func (j *joining) choose(ctx context.Context, c *objects.Client, args []string) (*v1alpha1.Machine, error) {
	if len(args) == 0 {
		return j.first(ctx, c)
	}
	m, err := findMachine(ctx, j.env, c, args[0])
	switch {
	case err != nil:
		return nil, err
	case m.Spec.Provider != v1alpha1.ProviderManual:
		return nil, exit.Fail(exit.Failed, "node %s is created by the provider %s, which joins it; a command is only for machines of your own (nodepool create --provider %s)",
			m.Name, m.Spec.Provider, v1alpha1.ProviderManual)
	case m.DeletionTimestamp != nil:
		return nil, exit.Fail(exit.Failed, "node %s is being removed", m.Name)
	case m.Status.JoinTime != nil:
		return nil, exit.Fail(exit.Failed, "node %s has joined already", m.Name)
	}
	return m, nil
}

// first returns the first machine, by name, that waits.
func (j *joining) first(ctx context.Context, c *objects.Client) (*v1alpha1.Machine, error) {
	from, where := kinds.In(j.env, kinds.Machine), ""
	if j.pool != "" {
		if _, err := findPool(ctx, j.env, c, j.pool); err != nil {
			return nil, err
		}
		from, where = machinesOf(j.env, j.pool), " of nodepool "+j.pool
	}
	machines, err := kinds.Fetch(ctx, c, from)
	if err != nil {
		return nil, err
	}
	for _, o := range machines {
		if m, ok := o.(*v1alpha1.Machine); ok && awaitsJoin(m) {
			return m, nil
		}
	}
	return nil, exit.Fail(exit.NotFound, "no machine%s waits to be joined; see: %s", where, j.env.Command("node list"))
}

// joinCommandOf reads what a machine joins with.
func joinCommandOf(ctx context.Context, e *connection.Env, c *objects.Client, m *v1alpha1.Machine) (*joinCommand, error) {
	cluster, err := objects.Named[*v1alpha1.Cluster](ctx, c, kinds.Cluster.Kind, m.Spec.ClusterName)
	if err != nil {
		return nil, fmt.Errorf("get cluster %s: %w", m.Spec.ClusterName, err)
	}
	if cluster.Status.Join == nil {
		return nil, exit.Fail(exit.Failed, "cluster %s cannot be joined yet\nwait for it with: %s", cluster.Name, e.Command("cluster wait "+cluster.Name))
	}
	if err := checkReachable(cluster.Status.Join.Server); err != nil {
		return nil, err
	}
	hashes, err := machine.KeyHashes(cluster.Status.Join.CA)
	if err != nil {
		return nil, fmt.Errorf("status.join.ca of cluster %s: %w", cluster.Name, err)
	}
	token, err := joinToken(ctx, e, m.Name)
	if err != nil {
		return nil, fmt.Errorf("get what node %s joins with: %w", m.Name, err)
	}
	if token == nil {
		return nil, exit.Fail(exit.Failed, "what node %s joins with is not there yet: %s; try again in a moment", m.Name, missingToken(m))
	}
	found := &joinCommand{
		Machine: m.Name, Cluster: cluster.Name, Version: m.Spec.Version,
		Server: cluster.Status.Join.Server, Token: token.Token, Expires: token.Expires.UTC(), CACertHashes: hashes,
	}
	found.Commands = map[string]string{withKQueen: found.kqueen(), withKubeadm: found.kubeadm()}
	return found, nil
}

// joinToken returns what a machine joins with; nil when it is not there yet.
func joinToken(ctx context.Context, e *connection.Env, name string) (*rest.JoinToken, error) {
	d, err := e.API()
	if err != nil {
		return nil, err
	}
	found, err := d.CreateJoinToken(ctx, e.Organization(), name)
	if exit.ProblemStatus(err) == http.StatusConflict {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return found, err
}

// missingToken says what a machine's token waits for.
func missingToken(m *v1alpha1.Machine) string {
	found := kinds.Condition(m, v1alpha1.ConditionBootstrapped)
	if found == nil {
		return "its condition " + v1alpha1.ConditionBootstrapped + " is not known yet"
	}
	return fmt.Sprintf("its condition %s is %s: %s", v1alpha1.ConditionBootstrapped, found.Status, console.CleanLine(found.Message))
}

// kubeadm is the stock command, for a shell. It takes the token as an argument and in no other way beside a file.
func (j *joinCommand) kubeadm() string {
	return j.line([]string{"kubeadm", "join", j.Server, "--token", j.Token}, "--discovery-token-ca-cert-hash")
}

// kqueen is the command that brings everything with it, for a shell, whose own echo is no process.
func (j *joinCommand) kqueen() string {
	return "echo " + console.ShellQuote(j.Token) + " | " + j.line([]string{"kqueen", "node", "join", j.Server, "--token-file", "-"}, "--ca-cert-hash")
}

func (j *joinCommand) line(words []string, hashFlag string) string {
	for _, hash := range j.CACertHashes {
		words = append(words, hashFlag, hash)
	}
	words = append(words, "--node-name", j.Machine)
	for i := range words {
		words[i] = console.ShellQuote(words[i])
	}
	return strings.Join(words, " ")
}

// checkReachable refuses the address that stands in for that of a KQueen which listens on loopback alone (see
// docs/development/adr/0008): a command with it would wait for nothing, on every machine.
func checkReachable(server string) error {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return fmt.Errorf("read the address of the API server: %w", err)
	}
	if host == machine.NoAddress().String() {
		return exit.Fail(exit.Failed, "machines elsewhere cannot reach this KQueen, which listens on this host alone; start it with: kqueen up --listen ADDRESS, with an address that they reach")
	}
	return nil
}

func (j *joining) print(found *joinCommand) error {
	var data []byte
	var err error
	switch j.format {
	case "text":
		data = []byte(found.Command + "\n")
	case "json":
		data, err = json.MarshalIndent(found, "", "    ")
		data = append(data, '\n')
	case "yaml":
		data, err = yaml.Marshal(found)
	default:
		return exit.Fail(exit.Usage, "--output: %q is not a format; choose one of text, json, yaml", j.format)
	}
	if err != nil {
		return err
	}
	if _, err := j.env.Stdout.Write(data); err != nil {
		return err
	}
	j.env.Say("run it as root on the machine that becomes node %s; it is a secret, and expires at %s", found.Machine, found.Expires.Format(time.RFC3339))
	if j.with == withKubeadm {
		j.env.Say("the machine needs containerd, and kubeadm and kubelet %s; KQueen does not install them", found.Version)
		j.env.Say("other users of the machine see the token among the arguments while kubeadm runs; the command of --with kqueen hides it")
		return nil
	}
	j.env.Say("the machine needs this program, and the programs of Kubernetes %s and of nodes: kqueen release build, or a copy of the folder that has them here", found.Version)
	return nil
}
