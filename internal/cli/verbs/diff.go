package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// DiffCommand returns `diff`.
func DiffCommand(e *connection.Env) *cobra.Command {
	a := &applying{env: e}
	cmd := &cobra.Command{
		Use:   "diff -f FILE",
		Short: "Show what applying files would change",
		Long: `Show what "kqueen apply" with the same files would change, as a unified diff of
labels, annotations and spec. The server checks everything and changes nothing.

The exit code is 0 without a difference, 1 with one, and larger when it failed.`,
		Example: `  kqueen diff -f demo.yaml
  kqueen diff -f clusters/ --force-conflicts`,
		Args:              command.NoArguments,
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := a.check(cmd)
			if err == nil {
				err = a.diff(cmd.Context())
			}
			// 1 means a difference, as with kubectl and diff.
			if err != nil && exit.CodeOf(err) == exit.Failed && !errors.Is(err, exit.ErrDiffers) {
				return exit.Fail(exit.Usage, "%w", err)
			}
			return err
		},
	}
	a.register(cmd)
	return cmd
}

// diff prints what would change, and ends with [exit.ErrDiffers] when something would.
func (a *applying) diff(ctx context.Context) error {
	all, err := readManifests(a.env, a.files, a.recursive)
	if err != nil {
		return err
	}
	c, err := a.env.Connect()
	if err != nil {
		return err
	}
	differs := false
	for _, m := range all {
		before, after, err := a.apply(ctx, c, m, true)
		if err != nil {
			return err
		}
		text, err := difference(m, before, after)
		if err != nil {
			return err
		}
		if len(text) == 0 {
			continue
		}
		differs = true
		if _, err := a.env.Stdout.Write(text); err != nil {
			return err
		}
	}
	if differs {
		return exit.ErrDiffers
	}
	return nil
}

// difference is a unified diff of an object as it is and as it would be; empty when both are the same.
func difference(m manifest, before, after client.Object) ([]byte, error) {
	old, err := written(before)
	if err != nil {
		return nil, err
	}
	made, err := written(after)
	if err != nil {
		return nil, err
	}
	name := m.kind.Singular + "/" + m.said.Name
	return []byte(console.Clean(string(diff.Diff("live/"+name, old, "applied/"+name, made)))), nil
}

// written is what users say of an object, as YAML; empty for none.
func written(o client.Object) ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.GetName(), err)
	}
	var whole map[string]any
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.GetName(), err)
	}
	metadata := map[string]any{"name": o.GetName()}
	if o.GetNamespace() != "" {
		metadata["namespace"] = o.GetNamespace()
	}
	if len(o.GetLabels()) > 0 {
		metadata["labels"] = o.GetLabels()
	}
	if len(o.GetAnnotations()) > 0 {
		metadata["annotations"] = o.GetAnnotations()
	}
	whole["metadata"] = metadata
	delete(whole, "status")
	return yaml.Marshal(whole)
}
