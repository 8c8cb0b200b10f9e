package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deletion is one run of `cluster delete`.
type deletion struct {
	env     *env
	wait    bool
	sure    bool
	timeout time.Duration
}

// newDeleteCommand returns `cluster delete`.
func newDeleteCommand(e *env) *cobra.Command {
	d := &deletion{env: e}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete clusters and all their data",
		Long: `Delete clusters and all their data.

A terminal is asked first. Without one, --yes is required.`,
		Example: `  kqueen cluster delete demo
  kqueen cluster delete demo test --yes --wait=false`,
		Args:              names(1, -1),
		ValidArgsFunction: e.completeNames(clusterNoun, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.run(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&d.wait, "wait", true, "wait until they are gone")
	cmd.Flags().BoolVarP(&d.sure, "yes", "y", false, "do not ask")
	registerTimeout(cmd, &d.timeout)
	return cmd
}

func (d *deletion) run(cmd *cobra.Command, names []string) error {
	terminal := isTerminal(d.env.stdin)
	if !d.sure && !terminal {
		return usageError(cmd, "standard input is not a terminal to ask on; say --yes to delete without being asked")
	}
	ctx := cmd.Context()
	c, err := d.env.connect()
	if err != nil {
		return err
	}
	var doomed []client.Object
	for _, name := range names {
		cluster, err := d.env.find(ctx, c, clusterNoun, name)
		if err != nil {
			return err
		}
		doomed = append(doomed, cluster)
	}
	if !d.sure {
		yes, err := confirm(ctx, d.env.stdin, d.env.stderr, deleteQuestion(names))
		if err != nil {
			return err
		}
		if !yes {
			return fail(codeError, "nothing was deleted")
		}
	}
	return d.delete(ctx, c, doomed)
}

// delete deletes exactly the objects that it is given: one of the same name that came after them stays.
func (d *deletion) delete(ctx context.Context, c client.WithWatch, doomed []client.Object) error {
	begun := time.Now()
	for _, cluster := range doomed {
		uid := cluster.GetUID()
		err := c.Delete(ctx, cluster, client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete cluster %s: %w", cluster.GetName(), err)
		}
		if !d.wait {
			d.env.say("cluster %s is being deleted", cluster.GetName())
		}
	}
	if !d.wait {
		return nil
	}
	for _, cluster := range doomed {
		goal := waiting{name: cluster.GetName(), goal: goalDeleted, uid: cluster.GetUID(), timeout: d.timeout, since: begun}
		if err := d.env.await(ctx, c, goal); err != nil {
			return err
		}
	}
	return nil
}

// deleteQuestion asks whether clusters of these names shall go.
func deleteQuestion(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("Delete cluster %s and all its data?", names[0])
	}
	return fmt.Sprintf("Delete clusters %s and all their data?", list(names))
}

// confirm asks a question whose answer is no unless it is yes. The end of the input is a no.
func confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprintf(out, "%s [y/N] ", clean(question))
	answers := make(chan string, 1)
	// A read from a terminal cannot be interrupted, so it is left behind when the user gives up.
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n')
		answers <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
		return false, context.Cause(ctx)
	case answer := <-answers:
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "y" || answer == "yes", nil
	}
}
