package cli

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// listing is one run of a list or get command.
type listing struct {
	env     *env
	noun    *noun
	options outputOptions
	watch   bool
	// selector is a label selector, as written by the user.
	selector string
	// cluster, when set, leaves out what is of other clusters.
	cluster string
	// sort orders what is printed; nil leaves it ordered by namespace and name.
	sort func([]client.Object)
}

// newListCommand returns `NOUN list`.
func newListCommand(e *env, n *noun) *cobra.Command {
	l := &listing{env: e, noun: n}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List " + n.plural,
		Example: fmt.Sprintf("  kqueen %[1]s list\n  kqueen %[1]s list -o wide --watch\n  kqueen %[1]s list -o jsonpath='{.items[*].metadata.name}'", n.singular),
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return l.list(cmd.Context())
		},
	}
	l.register(cmd)
	cmd.Flags().StringVarP(&l.selector, "selector", "l", "", "only those with these labels, such as team=blue,stage!=test")
	if n == nodePoolNoun || n == machineNoun {
		cmd.Flags().StringVar(&l.cluster, "cluster", "", "only those of this cluster")
		_ = cmd.RegisterFlagCompletionFunc("cluster", e.completeNames(clusterNoun, -1))
	}
	if n.scope != installation {
		cmd.Flags().BoolVarP(&l.options.everywhere, "all-organizations", "A", false, "those of all organizations")
	}
	return cmd
}

// newGetCommand returns `NOUN get`.
func newGetCommand(e *env, n *noun) *cobra.Command {
	l := &listing{env: e, noun: n}
	cmd := &cobra.Command{
		Use:               "get NAME...",
		Short:             "Show " + n.plural + " by their names",
		Example:           fmt.Sprintf("  kqueen %[1]s get NAME\n  kqueen %[1]s get NAME -o yaml\n  kqueen %[1]s get NAME --watch", n.singular),
		Args:              names(1, -1),
		ValidArgsFunction: e.completeNames(n, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.get(cmd.Context(), args)
		},
	}
	l.register(cmd)
	return cmd
}

func (l *listing) register(cmd *cobra.Command) {
	registerOutput(cmd, &l.options.format, "table", outputFormats)
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "go on and print every change")
	cmd.Flags().BoolVar(&l.options.noHeaders, "no-headers", false, "print tables without headers")
}

// namespaces are where objects of the noun are looked for, nearest first.
func (e *env) namespaces(n *noun, everywhere bool) []string {
	switch {
	case everywhere || n.scope == installation:
		return []string{""}
	case n.scope == shared:
		return []string{e.namespace(), v1alpha1.SystemNamespace}
	}
	return []string{e.namespace()}
}

func (l *listing) list(ctx context.Context) error {
	var options []client.ListOption
	if l.selector != "" {
		selector, err := labels.Parse(l.selector)
		if err != nil {
			return fail(codeUsage, "--selector: %w", err)
		}
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	}
	c, err := l.env.connect()
	if err != nil {
		return err
	}
	var sources []source
	for _, namespace := range l.env.namespaces(l.noun, l.options.everywhere) {
		sources = append(sources, source{noun: l.noun, namespace: namespace, options: options, keep: l.keep})
	}
	return l.show(ctx, c, sources)
}

// keep says whether an object is of the cluster that the user wants.
func (l *listing) keep(object client.Object) bool {
	return l.cluster == "" || clusterOf(object) == l.cluster
}

// clusterOf is the name of the cluster that a pool or a machine is of.
func clusterOf(object client.Object) string {
	switch o := object.(type) {
	case *v1alpha1.NodePool:
		return o.Spec.ClusterName
	case *v1alpha1.Machine:
		return o.Spec.ClusterName
	}
	return object.GetName()
}

// show prints sources, and what changes in them when the user watches.
func (l *listing) show(ctx context.Context, c client.WithWatch, sources []source) error {
	out, err := newOutput(l.env.stdout, l.noun, l.options)
	if err != nil {
		return err
	}
	if l.watch {
		return l.follow(ctx, c, sources, out)
	}
	var all []client.Object
	for _, s := range sources {
		some, err := fetch(ctx, c, s)
		if apierrors.IsNotFound(err) && l.noun.scope != installation && !l.options.everywhere {
			err = cmp.Or(l.env.checkOrganization(ctx, c), err)
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
	if l.sort != nil {
		l.sort(all)
	}
	return out.print(all, false)
}

// nothing tells why there is nothing to list.
func (l *listing) nothing(ctx context.Context, c client.Client) error {
	where := ""
	if l.noun.scope == organization && !l.options.everywhere {
		if err := l.env.checkOrganization(ctx, c); err != nil {
			return err
		}
		where = " in organization " + l.env.organization()
	}
	if l.cluster != "" {
		if _, err := l.env.find(ctx, c, clusterNoun, l.cluster); err != nil && !l.options.everywhere {
			return err
		}
		where = " of cluster " + l.cluster + where
	}
	l.env.say("no %s%s", l.noun.plural, where)
	if l.noun.none != "" && l.selector == "" {
		l.env.say("make one with: %s", l.env.command(l.noun.none))
	}
	return nil
}

// checkOrganization returns an error when the organization's namespace does not exist. Who may not look
// is believed.
func (e *env) checkOrganization(ctx context.Context, c client.Client) error {
	err := c.Get(ctx, client.ObjectKey{Name: e.namespace()}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		all := *e
		all.globals.organization = ""
		return fail(codeNotFound, "organization %q does not exist; see which there are with: %s", e.organization(), all.command("organization list"))
	}
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// follow prints sources and then every change, until the user stops it.
func (l *listing) follow(ctx context.Context, c client.WithWatch, sources []source, out *output) error {
	var printing sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range sources {
		f := &follower{client: c, source: s, lost: l.env.sayLost, see: func(changes []change) (bool, error) {
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
func (l *listing) printChanges(out *output, changes []change) error {
	var shown []client.Object
	for _, change := range changes {
		if !change.gone {
			shown = append(shown, change.object)
			continue
		}
		l.env.say("%s %s is gone", l.noun.singular, change.object.GetName())
	}
	if l.sort != nil {
		l.sort(shown)
	}
	return out.print(shown, true)
}

// sayLost tells that a watch cannot be resumed for now.
func (e *env) sayLost(err error) { e.say("lost the admin plane, trying again: %v", err) }

func (l *listing) get(ctx context.Context, names []string) error {
	c, err := l.env.connect()
	if err != nil {
		return err
	}
	var objects []client.Object
	for _, name := range names {
		object, err := l.env.find(ctx, c, l.noun, name)
		if err != nil {
			return err
		}
		objects = append(objects, object)
	}
	if l.watch {
		return l.show(ctx, c, only(l.noun, objects))
	}
	out, err := newOutput(l.env.stdout, l.noun, l.options)
	if err != nil {
		return err
	}
	return out.print(objects, len(objects) == 1)
}

// only returns sources that hold these objects and no others.
func only(n *noun, objects []client.Object) []source {
	var sources []source
	for _, object := range objects {
		sources = append(sources, source{
			noun:      n,
			namespace: object.GetNamespace(),
			options:   []client.ListOption{client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", object.GetName())}},
		})
	}
	return sources
}

// find returns the object of that name, from the nearest namespace that has one.
func (e *env) find(ctx context.Context, c client.Client, n *noun, name string) (client.Object, error) {
	for _, namespace := range e.namespaces(n, false) {
		object := n.object()
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get %s %s: %w", n.singular, name, err)
		}
		return object, setKind(c, object)
	}
	return nil, e.missing(n, name)
}

// missing is the error for a name that nothing has.
func (e *env) missing(n *noun, name string) error {
	where := ""
	if n.scope != installation {
		where = " in organization " + e.organization()
	}
	return fail(codeNotFound, "there is no %s %q%s; see: %s", n.singular, name, where, e.command(n.singular+" list"))
}
