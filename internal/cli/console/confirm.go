package console

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/exit"
)

// Confirmable refuses to do something about which no user is there to be asked. act is what it would do: "delete".
func (c *Console) Confirmable(cmd *cobra.Command, sure bool, act string) error {
	if sure || IsTerminal(c.Stdin) {
		return nil
	}
	return exit.UsageError(cmd, "standard input is not a terminal; use --yes to %s without being asked", act)
}

// Confirmed returns an error unless the user is sure, or says so when asked. act is what they are asked about: "delete".
func (c *Console) Confirmed(cmd *cobra.Command, sure bool, act, question string) error {
	if err := c.Confirmable(cmd, sure, act); err != nil || sure {
		return err
	}
	yes, err := confirm(cmd.Context(), c.Stdin, c.Stderr, question)
	if err == nil && !yes {
		err = exit.Fail(exit.Failed, "nothing was done")
	}
	return err
}

// confirm asks a question whose answer is no unless it is yes. The end of the input is a no.
func confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprintf(out, "%s [y/N] ", Clean(question))
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
