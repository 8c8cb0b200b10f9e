package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// creation is one run of a create command, of any noun. What is made comes from the noun's own flags or
// from files.
type creation struct {
	env  *env
	noun *noun
	// fromFlags returns what the noun's own flags say. Without a client, the error is why there is none.
	fromFlags func(ctx context.Context, connected client.Client, away error, name string) ([]client.Object, error)
	// excludes are the flags that say what a file says.
	excludes []string
	// taken is the command line for whoever wanted to add to what already exists; empty for none.
	taken string

	file, dryRun, format string
	wait                 bool
	timeout              time.Duration
}

// register adds the flags that all create commands share.
func (c *creation) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&c.file, "filename", "f", "", "file with "+c.noun.plural+", or - for standard input")
	flags.StringVar(&c.dryRun, "dry-run", dryRunNone, "check and print, but make nothing: none, client, server")
	flags.BoolVar(&c.wait, "wait", false, "wait until the "+c.noun.singular+" is ready")
	registerTimeout(cmd, &c.timeout)
	registerOutput(cmd, &c.format, "", []string{"name", "json", "yaml"})
	_ = cmd.RegisterFlagCompletionFunc("dry-run", oneOf(dryRunNone, dryRunClient, dryRunServer))
}

// check refuses command lines that contradict themselves.
func (c *creation) check(cmd *cobra.Command, args []string) error {
	if c.file == "" && len(args) == 0 {
		return usageError(cmd, "give the %s a NAME, or a file with --filename", c.noun.singular)
	}
	for _, flag := range c.excludes {
		if c.file != "" && cmd.Flags().Changed(flag) {
			return usageError(cmd, "--%s cannot be used with --filename; write it into the file", flag)
		}
	}
	if !slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, c.dryRun) {
		return usageError(cmd, "--dry-run: %q has to be none, client or server", c.dryRun)
	}
	if c.wait && c.dryRun != dryRunNone {
		return usageError(cmd, "--wait cannot be used with --dry-run=%s, which makes nothing to wait for", c.dryRun)
	}
	if !slices.Contains([]string{"", "name", "json", "yaml"}, c.format) {
		return usageError(cmd, "--output: %q is no format; choose one of name, json, yaml", c.format)
	}
	return nil
}

func (c *creation) run(ctx context.Context, args []string) error {
	// A client makes no call before it is used: a dry run on the client needs the server only for what
	// the user left open.
	connected, err := c.env.connect()
	if err != nil && c.dryRun != dryRunClient {
		return err
	}
	objects, err := c.objects(ctx, connected, err, args)
	if err != nil {
		return err
	}
	if err := c.place(objects, args); err != nil {
		return err
	}
	begun := time.Now()
	made := objects
	if c.dryRun != dryRunClient {
		made, err = c.createAll(ctx, connected, objects)
	}
	if reported := c.report(made); err == nil {
		err = reported
	}
	if err != nil {
		c.sayUnmade(made, objects[len(made):])
		return err
	}
	if !c.wait {
		c.sayWait(objects)
		return nil
	}
	return c.awaitAll(ctx, connected, objects, begun)
}

// objects returns what the user wants, from the file or from flags.
func (c *creation) objects(ctx context.Context, connected client.Client, away error, args []string) ([]client.Object, error) {
	if c.file != "" {
		objects, err := c.env.readObjects(c.noun, c.file)
		for _, object := range objects {
			object.SetResourceVersion("") // that of what it was copied from
		}
		return objects, err
	}
	return c.fromFlags(ctx, connected, away, args[0])
}

// place gives each object its kind and namespace, and the name of the command line to the one that a file holds.
func (c *creation) place(objects []client.Object, args []string) error {
	if len(args) == 1 && c.file != "" {
		if len(objects) > 1 {
			return fail(codeUsage, "%s holds %d %s, so the NAME %q cannot be for all of them; leave it out", c.file, len(objects), c.noun.plural, args[0])
		}
		if name := objects[0].GetName(); name != "" && name != args[0] {
			return fail(codeUsage, "%s names the %s %q and the command line %q; leave out one of them", c.file, c.noun.singular, name, args[0])
		}
		objects[0].SetName(args[0])
	}
	seen := map[string]bool{}
	for i, object := range objects {
		n := nounOf(object)
		if object.GetName() == "" {
			return fmt.Errorf("%s, %s %d: metadata.name: is missing", c.file, n.singular, i+1)
		}
		if object.GetNamespace() == "" && n.scope != installation {
			object.SetNamespace(c.env.namespace())
		}
		if n.scope == installation {
			object.SetNamespace("")
		} else if object.GetNamespace() != c.env.namespace() {
			return fmt.Errorf("%s, %s %s: metadata.namespace: is %q, but organization %s has %q; leave it out, or choose with --org",
				c.file, n.singular, object.GetName(), object.GetNamespace(), c.env.organization(), c.env.namespace())
		}
		key := n.kind + "/" + object.GetName()
		if seen[key] {
			return fmt.Errorf("%s, %s %s: metadata.name: there are two of that name", c.file, n.singular, object.GetName())
		}
		seen[key] = true
		object.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(n.kind))
	}
	return nil
}

// createAll makes all objects and returns those that are made. Several are first checked by the server, so
// that a mistake in the last does not leave the others behind.
func (c *creation) createAll(ctx context.Context, connected client.Client, objects []client.Object) ([]client.Object, error) {
	if len(objects) > 1 && c.dryRun == dryRunNone {
		for _, object := range objects {
			trial, ok := object.DeepCopyObject().(client.Object)
			if !ok {
				return nil, fmt.Errorf("create %s: it is a %T", object.GetName(), object)
			}
			if err := c.create(ctx, connected, trial, client.DryRunAll); err != nil {
				return nil, err
			}
		}
	}
	var options []client.CreateOption
	if c.dryRun == dryRunServer {
		options = append(options, client.DryRunAll)
	}
	for i, object := range objects {
		if err := c.create(ctx, connected, object, options...); err != nil {
			return objects[:i], err
		}
		if err := setKind(connected, object); err != nil {
			return objects[:i], err
		}
	}
	return objects, nil
}

func (c *creation) create(ctx context.Context, connected client.Client, object client.Object, options ...client.CreateOption) error {
	n := nounOf(object)
	err := connected.Create(ctx, object, options...)
	if apierrors.IsAlreadyExists(err) {
		instead := ""
		if n == c.noun && c.taken != "" {
			instead = "\nor give it nodes with: " + c.env.command(c.taken)
		}
		where := ""
		if n.scope != installation {
			where = " in organization " + c.env.organization()
		}
		return fail(codeError, "%s %s already exists%s; choose another name, or see it with: %s%s",
			n.singular, object.GetName(), where, c.env.command(n.singular+" get "+object.GetName()), instead)
	}
	if apierrors.IsNotFound(err) && n.scope != installation {
		if absent := c.env.checkOrganization(ctx, connected); absent != nil {
			return absent
		}
	}
	if err != nil {
		return fmt.Errorf("create %s %s: %w", n.singular, object.GetName(), err)
	}
	return nil
}

// report prints what was made, in the format that the user wants, and tells it to people.
func (c *creation) report(objects []client.Object) error {
	made := "created"
	if c.dryRun != dryRunNone {
		made = "would be created (dry run)"
	}
	for _, object := range objects {
		c.env.say("%s %s %s%s", nounOf(object).singular, object.GetName(), made, gist(object))
	}
	if c.format == "" || len(objects) == 0 {
		return nil
	}
	out, err := newOutput(c.env.stdout, c.noun, outputOptions{format: c.format})
	if err != nil {
		return err
	}
	return out.print(objects, len(objects) == 1)
}

// gist is what people want to know first of something new, or nothing.
func gist(object client.Object) string {
	switch o := object.(type) {
	case *v1alpha1.Cluster:
		return " with Kubernetes " + o.Spec.Version
	case *v1alpha1.NodePool:
		return fmt.Sprintf(" with %s in cluster %s", nodes(o.Spec.Replicas), o.Spec.ClusterName)
	}
	return ""
}

// sayUnmade tells how to go on after some objects were made and others were not.
func (c *creation) sayUnmade(made, unmade []client.Object) {
	if len(made) == 0 || c.dryRun != dryRunNone {
		return
	}
	for _, object := range unmade {
		c.env.say("not made: %s %s", nounOf(object).singular, object.GetName())
		if pool, ok := object.(*v1alpha1.NodePool); ok && c.noun == clusterNoun {
			c.env.say("make it with: %s", c.env.command(poolCommand(pool)))
		}
	}
}

// sayWait tells how to wait for what was made: for a cluster with nodes by its nodes, which wait for it.
func (c *creation) sayWait(objects []client.Object) {
	if c.dryRun != dryRunNone {
		return
	}
	object := objects[0]
	if last := objects[len(objects)-1]; c.file == "" {
		object = last
	}
	c.env.say("wait for it with: %s", c.env.command(nounOf(object).singular+" wait "+object.GetName()))
}

// awaitAll waits until all objects are ready. A cluster whose nodes are waited for too is not yet what the
// user wanted, so that what to do next is told after the last.
func (c *creation) awaitAll(ctx context.Context, connected client.WithWatch, objects []client.Object, begun time.Time) error {
	for i, object := range objects {
		goal := waiting{
			noun: nounOf(object), name: object.GetName(), goal: v1alpha1.ConditionReady, timeout: c.timeout, since: begun,
			quiet: c.file == "" && i < len(objects)-1,
		}
		if err := c.env.await(ctx, connected, goal); err != nil {
			return err
		}
		if cluster, ok := object.(*v1alpha1.Cluster); ok && goal.quiet && cluster.Spec.CNI == v1alpha1.CNINone {
			c.env.say("its nodes become ready when the network runs that you bring; install it with: kubectl --kubeconfig <(%s) apply -f FILE",
				c.env.command("cluster kubeconfig "+cluster.Name))
		}
	}
	return nil
}

// nextFor is what a user does with something that is ready.
func (e *env) nextFor(object client.Object) string {
	switch nounOf(object) {
	case organizationNoun:
		return "kqueen cluster create NAME --org " + object.GetName()
	case provisionerNoun:
		return e.command("cluster create NAME --provisioner " + object.GetName() + " --provisioner-namespace " + object.GetNamespace())
	}
	what := "nodes"
	if nounOf(object) == clusterNoun {
		what = "namespaces"
	}
	return fmt.Sprintf("kubectl --kubeconfig <(%s) get %s", e.command("cluster kubeconfig "+clusterOf(object)), what)
}

// nodes says how many nodes.
func nodes(count int32) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}
