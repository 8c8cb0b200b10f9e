package verbs

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// Deletion is one run of a delete command.
type Deletion struct {
	Env  *connection.Env
	Kind *kinds.Kind
	// Content is what goes with the objects, for the question whether they shall go; empty for nothing.
	Content string
	// Losses tells the user what goes with the objects that is not seen at them; nil for nothing.
	Losses func(context.Context, *objects.Client, []client.Object) error
	// Deleted tidies what this machine knows of objects of these names, which are gone or going; nil for nothing.
	Deleted func(names []string)
	wait    bool
	sure    bool
	timeout time.Duration
}

// Register adds what all delete commands share.
func (d *Deletion) Register(cmd *cobra.Command) {
	cmd.Args = command.Names(1, -1)
	cmd.ValidArgsFunction = kinds.CompleteNames(d.Env, d.Kind, -1)
	cmd.RunE = d.run
	cmd.Flags().BoolVar(&d.wait, "wait", true, "wait until they are gone")
	cmd.Flags().BoolVarP(&d.sure, "yes", "y", false, "do not ask")
	command.RegisterTimeout(cmd, &d.timeout)
}

func (d *Deletion) run(cmd *cobra.Command, names []string) error {
	if err := d.Env.Confirmable(cmd, d.sure, "delete"); err != nil {
		return err
	}
	ctx := cmd.Context()
	c, err := d.Env.Connect()
	if err != nil {
		return err
	}
	var doomed []client.Object
	for _, name := range names {
		object, err := kinds.Find(ctx, d.Env, c, d.Kind, name)
		if err != nil {
			return err
		}
		doomed = append(doomed, object)
	}
	if d.Losses != nil {
		if err := d.Losses(ctx, c, doomed); err != nil {
			return err
		}
	}
	if err := d.Env.Confirmed(cmd, d.sure, "delete", deleteQuestion(d.Kind, names, d.Content)); err != nil {
		return err
	}
	return d.delete(ctx, c, doomed)
}

// delete deletes exactly the objects that it is given: one of the same name that came after them stays.
func (d *Deletion) delete(ctx context.Context, c *objects.Client, doomed []client.Object) error {
	begun := time.Now()
	for _, object := range doomed {
		if err := c.Delete(ctx, object); err != nil {
			return fmt.Errorf("delete %s %s: %w", d.Kind.Singular, object.GetName(), err)
		}
		if !d.wait {
			d.Env.Say("%s %s is being deleted", d.Kind.Singular, object.GetName())
		}
	}
	if d.Deleted != nil {
		names := make([]string, 0, len(doomed))
		for _, object := range doomed {
			names = append(names, object.GetName())
		}
		d.Deleted(names)
	}
	if !d.wait {
		return nil
	}
	return AwaitGone(ctx, d.Env, c, doomed, d.timeout, begun)
}

// AwaitGone waits until exactly these objects are gone.
func AwaitGone(ctx context.Context, e *connection.Env, c *objects.Client, doomed []client.Object, timeout time.Duration, begun time.Time) error {
	for _, object := range doomed {
		goal := Waiting{
			Kind: kinds.KindOf(object), Name: object.GetName(), shared: kinds.Shared(object), Goal: goalDeleted, Uid: object.GetUID(),
			Timeout: timeout, Since: begun, Named: len(doomed) > 1,
		}
		if err := Await(ctx, e, c, goal); err != nil {
			return err
		}
	}
	return nil
}

// deleteQuestion asks whether objects of these names shall go, with all that is in them.
func deleteQuestion(n *kinds.Kind, names []string, content string) string {
	if content == "" && len(names) == 1 {
		return fmt.Sprintf("Delete %s %s?", n.Singular, names[0])
	}
	if content == "" {
		return fmt.Sprintf("Delete %s %s?", n.Plural, console.List(names))
	}
	if len(names) == 1 {
		return fmt.Sprintf("Delete %s %s and all its %s?", n.Singular, names[0], content)
	}
	return fmt.Sprintf("Delete %s %s and all their %s?", n.Plural, console.List(names), content)
}
