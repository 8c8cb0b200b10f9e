package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deletion is one run of a delete command.
type deletion struct {
	env  *env
	noun *noun
	// content is what goes with the objects, for the question whether they shall go.
	content string
	// losses tells the user what goes with the objects that is not seen at them; nil for nothing.
	losses  func(context.Context, client.Client, []client.Object) error
	wait    bool
	sure    bool
	timeout time.Duration
}

// register adds what all delete commands share.
func (d *deletion) register(cmd *cobra.Command) {
	cmd.Args = names(1, -1)
	cmd.ValidArgsFunction = d.env.completeNames(d.noun, -1)
	cmd.RunE = d.run
	cmd.Flags().BoolVar(&d.wait, "wait", true, "wait until they are gone")
	cmd.Flags().BoolVarP(&d.sure, "yes", "y", false, "do not ask")
	registerTimeout(cmd, &d.timeout)
}

func (d *deletion) run(cmd *cobra.Command, names []string) error {
	if err := d.env.confirmable(cmd, d.sure, "delete"); err != nil {
		return err
	}
	ctx := cmd.Context()
	c, err := d.env.connect()
	if err != nil {
		return err
	}
	var doomed []client.Object
	for _, name := range names {
		object, err := d.env.find(ctx, c, d.noun, name)
		if err != nil {
			return err
		}
		doomed = append(doomed, object)
	}
	if d.losses != nil {
		if err := d.losses(ctx, c, doomed); err != nil {
			return err
		}
	}
	if err := d.env.confirmed(cmd, d.sure, "delete", deleteQuestion(d.noun, names, d.content)); err != nil {
		return err
	}
	return d.delete(ctx, c, doomed)
}

// delete deletes exactly the objects that it is given: one of the same name that came after them stays.
func (d *deletion) delete(ctx context.Context, c client.WithWatch, doomed []client.Object) error {
	begun := time.Now()
	for _, object := range doomed {
		uid := object.GetUID()
		err := c.Delete(ctx, object, client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete %s %s: %w", d.noun.singular, object.GetName(), err)
		}
		if !d.wait {
			d.env.say("%s %s is being deleted", d.noun.singular, object.GetName())
		}
	}
	if !d.wait {
		return nil
	}
	return d.env.awaitGone(ctx, c, doomed, d.timeout, begun)
}

// awaitGone waits until exactly these objects are gone.
func (e *env) awaitGone(ctx context.Context, c client.WithWatch, doomed []client.Object, timeout time.Duration, begun time.Time) error {
	for _, object := range doomed {
		goal := waiting{noun: nounOf(object), name: object.GetName(), goal: goalDeleted, uid: object.GetUID(), timeout: timeout, since: begun}
		if err := e.await(ctx, c, goal); err != nil {
			return err
		}
	}
	return nil
}

// deleteQuestion asks whether objects of these names shall go, with all that is in them.
func deleteQuestion(n *noun, names []string, content string) string {
	if len(names) == 1 {
		return fmt.Sprintf("Delete %s %s and all its %s?", n.singular, names[0], content)
	}
	return fmt.Sprintf("Delete %s %s and all their %s?", n.plural, list(names), content)
}
