package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// Listing is one run of a list or get command.
type Listing struct {
	Env     *connection.Env
	Kind    *kinds.Kind
	options kinds.OutputOptions
	watch   bool
	// selector is a label selector, as written by the user.
	selector string
	// cluster, when set, leaves out what is of other clusters.
	cluster string
	// provisioner and version, when set, leave out other clusters.
	provisioner, version string
	// Sort orders what is printed; nil leaves it ordered by namespace and name.
	Sort func([]client.Object)
	// sortBy is the field by which the user wants it ordered.
	sortBy string
}

// ListCommand returns `KIND list`.
func ListCommand(e *connection.Env, n *kinds.Kind) *cobra.Command {
	l := &Listing{Env: e, Kind: n}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List " + n.Plural,
		Example: fmt.Sprintf("  kqueen %[1]s list\n  kqueen %[1]s list -o wide --watch\n  kqueen %[1]s list --sort-by=.metadata.creationTimestamp\n  kqueen %[1]s list -o custom-columns=NAME:.metadata.name,CREATED:.metadata.creationTimestamp", n.Singular),
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return l.list(cmd.Context())
		},
	}
	l.Register(cmd)
	cmd.Flags().StringVarP(&l.selector, "selector", "l", "", "label selector, such as team=blue,stage!=test")
	if slices.Contains([]*kinds.Kind{kinds.NodePool, kinds.Machine, kinds.Backup, kinds.BackupSchedule, kinds.Restore, kinds.Rehearsal, kinds.Rotation, kinds.Upgrade}, n) {
		cmd.Flags().StringVar(&l.cluster, "cluster", "", "only those of this cluster")
		_ = cmd.RegisterFlagCompletionFunc("cluster", kinds.CompleteNames(e, kinds.Cluster, -1))
	}
	if n == kinds.Cluster {
		cmd.Flags().StringVar(&l.provisioner, "provisioner", "", "only those of this provisioner")
		cmd.Flags().StringVar(&l.version, "version", "", "only those that run this version of Kubernetes, such as v1.36.3")
		_ = cmd.RegisterFlagCompletionFunc("provisioner", kinds.CompleteNames(e, kinds.Provisioner, -1))
		_ = cmd.RegisterFlagCompletionFunc("version", kinds.CompleteNames(e, kinds.Release, -1))
	}
	if n.Scope() != rest.ScopeInstallation {
		cmd.Flags().BoolVarP(&l.options.Everywhere, "all-organizations", "A", false, "list across all organizations")
	}
	return cmd
}

// GetCommand returns `KIND get`.
func GetCommand(e *connection.Env, n *kinds.Kind) *cobra.Command {
	l := &Listing{Env: e, Kind: n}
	cmd := &cobra.Command{
		Use:               "get NAME...",
		Short:             "Show " + n.Plural + " by name",
		Example:           fmt.Sprintf("  kqueen %[1]s get NAME\n  kqueen %[1]s get NAME -o yaml\n  kqueen %[1]s get NAME --watch", n.Singular),
		Args:              command.Names(1, -1),
		ValidArgsFunction: kinds.CompleteNames(e, n, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.get(cmd.Context(), args)
		},
	}
	l.Register(cmd)
	return cmd
}

// Register adds the flags that list and get share.
func (l *Listing) Register(cmd *cobra.Command) {
	command.RegisterOutput(cmd, &l.options.Format, "table", kinds.OutputFormats)
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "keep watching, and print every change")
	cmd.Flags().BoolVar(&l.options.NoHeaders, "no-headers", false, "print tables without headers")
	cmd.Flags().StringVar(&l.sortBy, "sort-by", "", "sort by this field, as a JSONPath such as .metadata.creationTimestamp")
	_ = cmd.RegisterFlagCompletionFunc("sort-by", command.OneOf(".metadata.name", ".metadata.creationTimestamp"))
}

func (l *Listing) list(ctx context.Context) error {
	if _, err := labels.Parse(l.selector); err != nil {
		return exit.Fail(exit.Usage, "--selector: %w", err)
	}
	c, err := l.Env.Connect()
	if err != nil {
		return err
	}
	sources := kinds.Sources(l.Env, l.Kind, l.options.Everywhere)
	for i := range sources {
		sources[i].Labels, sources[i].Keep = l.selector, l.keep
		sources[i].Provisioner, sources[i].Version = l.provisioner, l.version
	}
	return l.Show(ctx, c, sources)
}

// keep says whether an object is of the cluster that the user wants.
func (l *Listing) keep(object client.Object) bool {
	return l.cluster == "" || kinds.ClusterOf(object) == l.cluster
}

// orderBy heeds the field by which the user wants the list ordered.
func (l *Listing) orderBy() error {
	if l.sortBy == "" {
		return nil
	}
	if l.watch {
		return exit.Fail(exit.Usage, "--sort-by cannot be used with --watch, which prints changes as they come")
	}
	path, err := kinds.ParsePath(l.sortBy)
	if err != nil {
		return exit.Fail(exit.Usage, "--sort-by: read the path %q: %w", l.sortBy, err)
	}
	l.Sort = func(all []client.Object) { kinds.SortBy(all, path) }
	return nil
}

// Show prints sources, and what changes in them when the user watches.
func (l *Listing) Show(ctx context.Context, c *objects.Client, sources []kinds.Source) error {
	if err := l.orderBy(); err != nil {
		return err
	}
	out, err := kinds.NewOutput(l.Env.Stdout, l.Kind, l.options)
	if err != nil {
		return err
	}
	if l.watch {
		return l.follow(ctx, c, sources, out)
	}
	var all []client.Object
	for _, s := range sources {
		some, err := kinds.Fetch(ctx, c, s)
		if objects.IsNotFound(err) && l.Kind.Scope() != rest.ScopeInstallation && !l.options.Everywhere {
			err = cmp.Or(kinds.CheckOrganization(ctx, l.Env, c), err)
		}
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		if err := l.nothing(ctx, c); err != nil {
			return err
		}
	}
	if l.Sort != nil {
		l.Sort(all)
	}
	return out.Print(all, false)
}

// nothing tells why there is nothing to list.
func (l *Listing) nothing(ctx context.Context, c *objects.Client) error {
	where := ""
	if l.Kind.Scope() == rest.ScopeOrganization && !l.options.Everywhere {
		if err := kinds.CheckOrganization(ctx, l.Env, c); err != nil {
			return err
		}
		where = " in organization " + l.Env.Organization()
	}
	if l.cluster != "" {
		if _, err := kinds.Find(ctx, l.Env, c, kinds.Cluster, l.cluster); err != nil && !l.options.Everywhere {
			return err
		}
		where = " of cluster " + l.cluster + where
	}
	narrowed := l.selector != ""
	if l.provisioner != "" {
		where, narrowed = " of provisioner "+l.provisioner+where, true
	}
	if l.version != "" {
		where, narrowed = " with version "+l.version+where, true
	}
	l.Env.Say("no %s%s", l.Kind.Plural, where)
	if l.Kind.None != "" && !narrowed {
		l.Env.Say("create one with: %s", l.Env.Command(l.Kind.None))
	}
	return nil
}

// follow prints sources and then every change, until the user stops it.
func (l *Listing) follow(ctx context.Context, c *objects.Client, sources []kinds.Source, out *kinds.Output) error {
	var printing sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range sources {
		f := &follower{client: c, source: s, lost: func(err error) { sayLost(l.Env, err) }, see: func(changes []change) (bool, error) {
			printing.Lock()
			defer printing.Unlock()
			return false, l.printChanges(out, changes)
		}}
		group.Go(func() error { return f.run(ctx) })
	}
	return group.Wait()
}

// printChanges prints what is new or changed as data. That something is gone is said, because a row or a
// document cannot say it.
func (l *Listing) printChanges(out *kinds.Output, changes []change) error {
	var shown []client.Object
	for _, change := range changes {
		if !change.gone {
			shown = append(shown, change.object)
			continue
		}
		l.Env.Say("%s %s is gone", l.Kind.Singular, change.object.GetName())
	}
	if l.Sort != nil {
		l.Sort(shown)
	}
	return out.Print(shown, true)
}

func (l *Listing) get(ctx context.Context, names []string) error {
	c, err := l.Env.Connect()
	if err != nil {
		return err
	}
	var found []client.Object
	for _, name := range names {
		object, err := kinds.Find(ctx, l.Env, c, l.Kind, name)
		if err != nil {
			return err
		}
		found = append(found, object)
	}
	if l.watch {
		return l.Show(ctx, c, l.only(found))
	}
	if err := l.orderBy(); err != nil {
		return err
	}
	out, err := kinds.NewOutput(l.Env.Stdout, l.Kind, l.options)
	if err != nil {
		return err
	}
	if l.Sort != nil {
		l.Sort(found)
	}
	return out.Print(found, len(found) == 1)
}

// only returns sources that hold these objects and no others.
func (l *Listing) only(wanted []client.Object) []kinds.Source {
	var sources []kinds.Source
	for _, object := range wanted {
		s := kinds.In(l.Env, l.Kind)
		s.Name, s.Shared = object.GetName(), kinds.Shared(object)
		sources = append(sources, s)
	}
	return sources
}
