package inventory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

const (
	// perSearch is how many digests the server takes at once.
	perSearch = 1000
	// maxDigests bounds a feed.
	maxDigests = 100_000
)

func newWhoRunsCommand(e *connection.Env) *cobra.Command {
	q := &question{env: e}
	cmd := &cobra.Command{
		Use:   "who-runs IMAGE",
		Short: "List the containers that run an image, or images of a list of digests",
		Long: `List the containers that run an image. IMAGE is its name, as nginx, nginx:1.27 or
registry.example.com/shop/web; a name without a registry is one of docker.io, and
* stands for any text. It can be a digest, too.

With - digests are read from standard input, one in a line, as a feed of
vulnerabilities has them; what is before an @ and what follows a # is left out.`,
		Example: `  kqueen inventory who-runs nginx:1.27 -A
  kqueen inventory who-runs '*/log4j*' -A --at 'last friday'
  kqueen inventory who-runs sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  kqueen inventory who-runs - -A -o csv < digests.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return exit.UsageError(cmd, "%s needs one IMAGE, or - for digests from standard input", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" {
				return ofDigests(cmd, q)
			}
			w := parseImage(args[0])
			q.filter.Repository, q.filter.Tag = w.repository, w.tag
			if w.digest != "" {
				q.filter.Digests = []string{w.digest}
			}
			return containers(nil).run(cmd, q)
		},
	}
	q.registerWhere(cmd, formats)
	q.registerAt(cmd)
	q.registerNamespace(cmd)
	return cmd
}

// ofDigests answers for digests from standard input, as many of them at a time as the server takes.
func ofDigests(cmd *cobra.Command, q *question) error {
	digests, err := readDigests(q.env.Stdin)
	if err != nil {
		return exit.UsageError(cmd, "standard input: %w", err)
	}
	if len(digests) <= perSearch {
		return containers(&rest.InventorySearch{Digests: digests}).run(cmd, q)
	}
	if q.exports() {
		return exit.UsageError(cmd, "-o %s: there are more than %d digests; give fewer at a time, or use -o json", q.format, perSearch)
	}
	if err := q.settle(cmd, time.Now()); err != nil {
		return err
	}
	d, err := q.env.API()
	if err != nil {
		return err
	}
	page, err := searched(cmd.Context(), d, q, digests)
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	return containers(nil).show(q, page)
}

// searched joins the answers to several searches.
func searched(ctx context.Context, d *connection.API, q *question, digests []string) (*rest.InventoryPage[rest.InventoryContainer], error) {
	all := &rest.InventoryPage[rest.InventoryContainer]{Items: []rest.InventoryContainer{}}
	for some := range slices.Chunk(digests, perSearch) {
		if len(all.Items) >= q.limit {
			all.Cursor = "more"
			break
		}
		page, err := containers(&rest.InventorySearch{Digests: some}).read(ctx, d, q.filter, q.limit-len(all.Items))
		if err != nil {
			return nil, err
		}
		all.Items, all.AsOf, all.Cursor = append(all.Items, page.Items...), page.AsOf, page.Cursor
	}
	return all, nil
}

// readDigests reads one digest in a line, each of them once.
func readDigests(from io.Reader) ([]string, error) {
	var all []string
	known := map[string]bool{}
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		text = strings.TrimSpace(text)
		if _, digest, ok := strings.Cut(text, "@"); ok {
			text = digest
		}
		switch {
		case text == "" || known[text]:
			continue
		case !isDigest(text):
			return nil, fmt.Errorf("line %d: want the digest of an image, such as sha256: and 64 hexadecimal digits", number)
		case len(all) == maxDigests:
			return nil, fmt.Errorf("there are more than %d digests", maxDigests)
		}
		known[text] = true
		all = append(all, text)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("there is no digest in it")
	}
	return all, nil
}
