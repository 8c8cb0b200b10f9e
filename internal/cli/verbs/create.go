package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// What --dry-run takes: make it, check it here, or let the API server check it.
const (
	dryRunNone   = "none"
	DryRunClient = "client"
	DryRunServer = "server"
)

// Creation is one run of a create command, of any kind. What is created comes from the kind's own flags or
// from files.
type Creation struct {
	Env  *connection.Env
	Kind *kinds.Kind
	// FromFlags returns what the kind's own flags say. Without a client, the error is why there is none.
	FromFlags func(ctx context.Context, connected *objects.Client, away error, name string) ([]client.Object, error)
	// Excludes are the flags that say what a file says.
	Excludes []string
	// Goal is the condition that is waited for; empty for Ready.
	Goal string
	// Taken is the command line for a user who wanted to add to what already exists; empty for none.
	Taken string

	File, DryRun, format string
	wait                 bool
	timeout              time.Duration
}

// Register adds the flags that all create commands share.
func (c *Creation) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&c.File, "filename", "f", "", "file with "+c.Kind.Plural+", or - for standard input")
	flags.StringVar(&c.DryRun, "dry-run", dryRunNone, "check and print, but create nothing: none, client, server")
	flags.BoolVar(&c.wait, "wait", false, "wait until the "+c.Kind.Singular+" is ready")
	command.RegisterTimeout(cmd, &c.timeout)
	command.RegisterOutput(cmd, &c.format, "", []string{"name", "json", "yaml"})
	_ = cmd.RegisterFlagCompletionFunc("dry-run", command.OneOf(dryRunNone, DryRunClient, DryRunServer))
}

// Format is the value of --output; empty for what users read.
func (c *Creation) Format() string { return c.format }

// Waits says whether what is created is waited for.
func (c *Creation) Waits() bool { return c.wait }

// WaitFor has what is created waited for, without the flags that say so.
func (c *Creation) WaitFor(timeout time.Duration) { c.wait, c.timeout = true, timeout }

// Check refuses command lines that contradict themselves.
func (c *Creation) Check(cmd *cobra.Command, args []string) error {
	if c.File == "" && len(args) == 0 {
		return exit.UsageError(cmd, "give the %s a NAME, or a file with --filename", c.Kind.Singular)
	}
	for _, flag := range c.Excludes {
		if c.File != "" && cmd.Flags().Changed(flag) {
			return exit.UsageError(cmd, "--%s cannot be used with --filename; write it into the file", flag)
		}
	}
	if !slices.Contains([]string{dryRunNone, DryRunClient, DryRunServer}, c.DryRun) {
		return exit.UsageError(cmd, "--dry-run: %q has to be none, client or server", c.DryRun)
	}
	if c.wait && c.DryRun != dryRunNone {
		return exit.UsageError(cmd, "--wait cannot be used with --dry-run=%s, which creates nothing to wait for", c.DryRun)
	}
	if !slices.Contains([]string{"", "name", "json", "yaml"}, c.format) {
		return exit.UsageError(cmd, "--output: %q is not a format; choose one of name, json, yaml", c.format)
	}
	return nil
}

// Run makes what the user wants, says what was made, and waits until it is ready if the user wants that too.
func (c *Creation) Run(ctx context.Context, args []string) error {
	// A client makes no call before it is used: a dry run on the client needs the server only for what
	// the user left open.
	connected, err := c.Env.Connect()
	if err != nil && c.DryRun != DryRunClient {
		return err
	}
	wanted, err := c.objects(ctx, connected, err, args)
	if err != nil {
		return err
	}
	if err := c.place(wanted, args); err != nil {
		return err
	}
	begun := time.Now()
	made := wanted
	if c.DryRun != DryRunClient {
		made, err = c.createAll(ctx, connected, wanted)
	}
	if reported := c.report(made); err == nil {
		err = reported
	}
	if err != nil {
		c.sayUnmade(made, wanted[len(made):])
		return err
	}
	if !c.wait {
		c.sayWait(wanted)
		return nil
	}
	return c.awaitAll(ctx, connected, wanted, begun)
}

// objects returns what the user wants, from the file or from flags.
func (c *Creation) objects(ctx context.Context, connected *objects.Client, away error, args []string) ([]client.Object, error) {
	if c.File != "" {
		wanted, err := readObjects(c.Env, c.Kind, c.File)
		for _, object := range wanted {
			object.SetResourceVersion("") // that of what it was copied from
		}
		return wanted, err
	}
	return c.FromFlags(ctx, connected, away, args[0])
}

// place gives each object its kind and namespace, and the name of the command line to the one that a file holds.
func (c *Creation) place(wanted []client.Object, args []string) error {
	if len(args) == 1 && c.File != "" {
		if len(wanted) > 1 {
			return exit.Fail(exit.Usage, "%s holds %d %s, so the NAME %q cannot be for all of them; leave it out", c.File, len(wanted), c.Kind.Plural, args[0])
		}
		if name := wanted[0].GetName(); name != "" && name != args[0] {
			return exit.Fail(exit.Usage, "%s names the %s %q and the command line %q; leave out one of them", c.File, c.Kind.Singular, name, args[0])
		}
		wanted[0].SetName(args[0])
	}
	seen := map[string]bool{}
	for i, object := range wanted {
		n := kinds.KindOf(object)
		if object.GetName() == "" {
			return fmt.Errorf("%s, %s %d: metadata.name: is missing", c.File, n.Singular, i+1)
		}
		if object.GetNamespace() == "" && n.Scope() != rest.ScopeInstallation {
			object.SetNamespace(c.Env.Namespace())
		}
		if n.Scope() == rest.ScopeInstallation {
			object.SetNamespace("")
		} else if object.GetNamespace() != c.Env.Namespace() {
			return fmt.Errorf("%s, %s %s: metadata.namespace: is %q, but organization %s has %q; leave it out, or choose with --org",
				c.File, n.Singular, object.GetName(), object.GetNamespace(), c.Env.Organization(), c.Env.Namespace())
		}
		key := n.Kind + "/" + object.GetName()
		if seen[key] {
			return fmt.Errorf("%s, %s %s: metadata.name: there are two of that name", c.File, n.Singular, object.GetName())
		}
		seen[key] = true
		object.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(n.Kind))
	}
	return nil
}

// createAll makes all objects and returns those that are made. Several are first checked by the server, so
// that a mistake in the last does not leave the others behind.
func (c *Creation) createAll(ctx context.Context, connected *objects.Client, wanted []client.Object) ([]client.Object, error) {
	if len(wanted) > 1 && c.DryRun == dryRunNone {
		for _, object := range wanted {
			if err := c.create(ctx, connected, object.DeepCopyObject().(client.Object), true); err != nil {
				return nil, err
			}
		}
	}
	for i, object := range wanted {
		if err := c.create(ctx, connected, object, c.DryRun == DryRunServer); err != nil {
			return wanted[:i], err
		}
	}
	return wanted, nil
}

func (c *Creation) create(ctx context.Context, connected *objects.Client, object client.Object, dryRun bool) error {
	n := kinds.KindOf(object)
	err := connected.Create(ctx, object, dryRun)
	if objects.Exists(err) {
		instead := ""
		if n == c.Kind && c.Taken != "" {
			instead = "\nor give it nodes with: " + c.Env.Command(c.Taken)
		}
		where := ""
		if n.Scope() != rest.ScopeInstallation {
			where = " in organization " + c.Env.Organization()
		}
		return exit.Fail(exit.Failed, "%s %s already exists%s; choose another name, or see it with: %s%s",
			n.Singular, object.GetName(), where, c.Env.Command(n.Singular+" get "+object.GetName()), instead)
	}
	if objects.IsNotFound(err) && n.Scope() != rest.ScopeInstallation {
		if absent := kinds.CheckOrganization(ctx, c.Env, connected); absent != nil {
			return absent
		}
	}
	if err != nil {
		return fmt.Errorf("create %s %s: %w", n.Singular, object.GetName(), err)
	}
	return nil
}

// report prints what was made, in the format that the user wants, and tells the user.
func (c *Creation) report(made []client.Object) error {
	did := "created"
	if c.DryRun != dryRunNone {
		did = "would be created (dry run)"
	}
	for _, object := range made {
		c.Env.Say("%s %s %s%s", kinds.KindOf(object).Singular, object.GetName(), did, gist(object))
	}
	if c.format == "" || len(made) == 0 {
		return nil
	}
	out, err := kinds.NewOutput(c.Env.Stdout, c.Kind, kinds.OutputOptions{Format: c.format})
	if err != nil {
		return err
	}
	return out.Print(made, len(made) == 1)
}

// gist is what users want to know first of something new, or nothing.
func gist(object client.Object) string {
	switch o := object.(type) {
	case *v1alpha1.Cluster:
		if kinds.Adopted(o) {
			return ""
		}
		return " with Kubernetes " + o.Spec.Version
	case *v1alpha1.NodePool:
		return fmt.Sprintf(" with %s in cluster %s", kinds.Nodes(o.Spec.Replicas), o.Spec.ClusterName)
	case *v1alpha1.Backup:
		return " of cluster " + o.Spec.ClusterName
	case *v1alpha1.Restore:
		if o.Spec.NewClusterName != "" {
			return " from backup " + o.Spec.BackupName + " as cluster " + o.Spec.NewClusterName
		}
		return " from backup " + o.Spec.BackupName
	case *v1alpha1.Rotation:
		return " of the " + string(o.Spec.Credential) + " of cluster " + o.Spec.ClusterName
	case *v1alpha1.Rehearsal:
		return " of an upgrade of cluster " + o.Spec.ClusterName + " to " + o.Spec.Version
	case *v1alpha1.Upgrade:
		return " of cluster " + o.Spec.ClusterName + " to " + o.Spec.Version
	}
	return ""
}

// sayUnmade tells how to go on after some objects were made and others were not.
func (c *Creation) sayUnmade(made, unmade []client.Object) {
	if len(made) == 0 || c.DryRun != dryRunNone {
		return
	}
	for _, object := range unmade {
		c.Env.Say("not created: %s %s", kinds.KindOf(object).Singular, object.GetName())
		if pool, ok := object.(*v1alpha1.NodePool); ok && c.Kind == kinds.Cluster {
			c.Env.Say("create it with: %s", c.Env.Command(kinds.PoolCommand(pool)))
		}
	}
}

// sayWait tells how to wait for what was made: for a cluster with nodes by its nodes, which wait for it.
func (c *Creation) sayWait(wanted []client.Object) {
	if c.DryRun != dryRunNone {
		return
	}
	object := wanted[0]
	if last := wanted[len(wanted)-1]; c.File == "" {
		object = last
	}
	c.Env.Say("wait for it with: %s", c.Env.Command(kinds.KindOf(object).Singular+" wait "+object.GetName()))
}

// awaitAll waits until all objects are ready. A cluster whose nodes are waited for too is not yet what the
// user wanted, so that what to do next is told after the last.
func (c *Creation) awaitAll(ctx context.Context, connected *objects.Client, made []client.Object, begun time.Time) error {
	for i, object := range made {
		goal := Waiting{
			Kind: kinds.KindOf(object), Name: object.GetName(), Goal: cmp.Or(c.Goal, v1alpha1.ConditionReady), Timeout: c.timeout, Since: begun,
			Quiet: c.File == "" && i < len(made)-1, Named: len(made) > 1,
		}
		if err := Await(ctx, c.Env, connected, goal); err != nil {
			return err
		}
		if cluster, ok := object.(*v1alpha1.Cluster); ok && goal.Quiet && cluster.Spec.CNI == v1alpha1.CNINone {
			c.Env.Say("its nodes become ready when your network plugin runs; connect with: %s\nand install it with: kubectl apply -f FILE",
				c.Env.Command("cluster connect "+cluster.Name))
		}
	}
	return nil
}

// nextFor is what a user does with something that is ready.
func nextFor(e *connection.Env, object client.Object) string {
	switch kinds.KindOf(object) {
	case kinds.Organization:
		return "kqueen cluster create NAME --org " + object.GetName()
	case kinds.Provisioner:
		return e.Command("cluster create NAME --provisioner " + object.GetName() + " --provisioner-namespace " + object.GetNamespace())
	}
	switch o := object.(type) {
	case *v1alpha1.BackupStore:
		return e.Command("backup create NAME --cluster CLUSTER --store " + o.Name)
	case *v1alpha1.Backup:
		return e.Command("restore create NAME --compare-only --backup " + o.Name)
	case *v1alpha1.Restore:
		if o.Spec.NewClusterName != "" && !o.Spec.CompareOnly {
			return e.Command("cluster connect " + o.Spec.NewClusterName)
		}
		return e.Command("restore describe " + o.Name)
	case *v1alpha1.Rotation:
		return e.Command("rotation describe " + o.Name)
	case *v1alpha1.Rehearsal:
		return e.Command("rehearsal describe " + o.Name)
	case *v1alpha1.Upgrade:
		return e.Command("upgrade describe " + o.Name)
	}
	return e.Command("cluster connect " + kinds.ClusterOf(object))
}
