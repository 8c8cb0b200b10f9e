package inventory

import (
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// question is what the flags of a command ask for.
type question struct {
	env    *connection.Env
	filter client.InventoryFilter
	all    bool
	limit  int
	format string
	// at, from, to and between are moments as the user says them.
	at, from, to string
	between      []string
}

// defaultMax is how many rows are shown unless the user says otherwise.
const defaultMax = 1000

// The formats.
var (
	formats  = []string{"table", "wide", "json", "yaml", "csv"}
	ofImages = []string{"table", "wide", "json", "yaml", "csv", "cyclonedx"}
)

// registerWhere adds the flags that every command has.
func (q *question) registerWhere(cmd *cobra.Command, formats []string) {
	f := cmd.Flags()
	f.BoolVarP(&q.all, "all-organizations", "A", false, "ask about all organizations that you belong to")
	f.StringArrayVar(&q.filter.Clusters, "cluster", nil, "only this cluster; may be repeated")
	f.StringArrayVar(&q.filter.ClusterLabels, "cluster-label", nil, "only clusters with this label, KEY=VALUE; repeated, all of them")
	f.IntVar(&q.limit, "limit", defaultMax, "maximum number of rows; csv and cyclonedx have all")
	_ = cmd.RegisterFlagCompletionFunc("cluster", kinds.CompleteNames(q.env, kinds.Cluster, -1))
	_ = cmd.RegisterFlagCompletionFunc("cluster-label", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("limit", command.NoCompletion)
	command.RegisterOutput(cmd, &q.format, "table", formats)
}

func (q *question) registerAt(cmd *cobra.Command) {
	cmd.Flags().StringVar(&q.at, "at", "", "as of when: a time, a date, an age such as 36h or 7d, yesterday, last tuesday")
	_ = cmd.RegisterFlagCompletionFunc("at", command.OneOf(command.Moments()...))
}

func (q *question) registerBetween(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&q.from, "from", "", "show what appeared and vanished since then, said as for --at")
	f.StringVar(&q.to, "to", "", "with --from: until then, instead of until now")
	f.StringSliceVar(&q.between, "between", nil, "--from and --to in one, separated by a comma")
	for _, name := range []string{"from", "to", "between"} {
		_ = cmd.RegisterFlagCompletionFunc(name, command.OneOf(command.Moments()...))
	}
}

func (q *question) registerNamespace(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&q.filter.Namespaces, "namespace", "n", nil, "only this namespace; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("namespace", command.OneOf("default", "kube-system"))
}

func (q *question) registerImage(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&q.filter.Repository, "repository", "", "only images of this repository in full, with * for any text")
	f.StringVar(&q.filter.Tag, "tag", "", "only images with this tag")
	f.StringVar(&q.filter.Text, "text", "", "only images whose name has this text")
	f.StringArrayVar(&q.filter.Digests, "digest", nil, "only images with this digest; may be repeated")
	for _, name := range []string{"repository", "tag", "text", "digest"} {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
}

func (q *question) registerComponent(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&q.filter.Components, "component", nil, "only this program, such as kubelet; may be repeated")
	f.StringVar(&q.filter.Version, "version", "", "only versions that fit, such as '<1.34'")
	f.BoolVar(&q.filter.Places, "places", false, "a row for each place where one runs")
	_ = cmd.RegisterFlagCompletionFunc("component", command.OneOf(
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "kubelet", "kube-proxy", "containerd", "coredns"))
	_ = cmd.RegisterFlagCompletionFunc("version", command.NoCompletion)
}

// settle makes a filter of what was said.
func (q *question) settle(cmd *cobra.Command, now time.Time) error {
	if q.limit < 1 {
		return exit.UsageError(cmd, "--limit must be 1 or more")
	}
	if q.exports() && cmd.Flags().Changed("limit") {
		return exit.UsageError(cmd, "--limit: -o %s has all rows; leave it out, or use -o json", q.format)
	}
	if err := q.settleTimes(cmd, now); err != nil {
		return err
	}
	if !q.all {
		q.filter.Organizations = []string{q.env.Organization()}
	}
	return nil
}

// settleTimes reads the times.
func (q *question) settleTimes(cmd *cobra.Command, now time.Time) error {
	if len(q.between) > 0 {
		if len(q.between) != 2 || q.from != "" || q.to != "" {
			return exit.UsageError(cmd, "--between has to be two times, separated by a comma, and to be given without --from and --to")
		}
		q.from, q.to = q.between[0], q.between[1]
	}
	if q.to != "" && q.from == "" {
		return exit.UsageError(cmd, "--to needs --from")
	}
	if q.at != "" && q.from != "" {
		return exit.UsageError(cmd, "--at cannot be used with --from or --between")
	}
	for _, m := range []struct {
		flag, said string
		into       *time.Time
	}{{"at", q.at, &q.filter.At}, {"from", q.from, &q.filter.From}, {"to", q.to, &q.filter.To}} {
		if m.said == "" {
			continue
		}
		var err error
		if *m.into, err = command.Moment(m.said, now); err != nil {
			return exit.UsageError(cmd, "--%s: %w", m.flag, err)
		}
	}
	return nil
}

// compares says whether two times are compared.
func (q *question) compares() bool { return q.from != "" || len(q.between) > 0 }

// exports says whether the server writes what is printed.
func (q *question) exports() bool { return q.format == "csv" || q.format == "cyclonedx" }
