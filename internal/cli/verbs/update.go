package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// IntoSpec reads what flags say into a spec.
func IntoSpec(patch map[string]any, spec any) error {
	data, err := json.Marshal(patch)
	if err == nil {
		err = json.Unmarshal(data, spec)
	}
	if err != nil {
		return fmt.Errorf("read the flags: %w", err)
	}
	return nil
}

// Updating is one run of an update command, of any kind.
type Updating struct {
	env  *connection.Env
	kind *kinds.Kind
	// FromFlags returns what the kind's own flags change of the spec; nil for a kind without such flags.
	FromFlags func(*cobra.Command) (map[string]any, error)

	file, spec, dryRun, format string
	labels, annotations        []string
}

// UpdateCommand returns `KIND update`, and its run, for flags of the kind's own.
func UpdateCommand(e *connection.Env, n *kinds.Kind, example string) (*cobra.Command, *Updating) {
	u := &Updating{env: e, kind: n}
	cmd := &cobra.Command{
		Use:   "update [NAME]",
		Short: fmt.Sprintf("Update %s, its labels and annotations", kinds.Article(n.Singular)),
		Long: fmt.Sprintf(`Update %[2]s by flags, or replace %[1]s with what a file says.

--spec takes a JSON merge patch (RFC 7386) of the spec, in JSON or YAML: what it
does not name stays as it is, and null removes. With --filename the whole spec
becomes what the file says, and so do labels and annotations. When the file has a
metadata.resourceVersion, as "get -o yaml" prints it, an object that has changed since
is not updated.`, n.Plural, kinds.Article(n.Singular)),
		Example:           fmt.Sprintf("  %[2]s\n  kqueen %[1]s update demo --label team=blue --label old-\n  kqueen %[1]s update -f %[1]s.yaml --dry-run=server", n.Singular, example),
		Args:              command.Names(0, 1),
		ValidArgsFunction: kinds.CompleteNames(e, n, 1),
		RunE:              u.run,
	}
	f := cmd.Flags()
	f.StringVarP(&u.file, "filename", "f", "", "file with "+n.Plural+", or - for standard input")
	f.StringVar(&u.spec, "spec", "", "change of the spec, as a JSON merge patch")
	f.StringArrayVar(&u.labels, "label", nil, "label to set, as KEY=VALUE, or to remove, as KEY-; may be repeated")
	f.StringArrayVar(&u.annotations, "annotation", nil, "annotation to set, as KEY=VALUE, or to remove, as KEY-; may be repeated")
	RegisterDryRun(cmd, &u.dryRun)
	command.RegisterOutput(cmd, &u.format, "", []string{"name", "json", "yaml"})
	for _, name := range []string{"spec", "label", "annotation"} {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
	return cmd, u
}

func (u *Updating) run(cmd *cobra.Command, args []string) error {
	patch, err := u.patch(cmd)
	if err != nil {
		return err
	}
	says := len(patch.Labels)+len(patch.Annotations)+len(patch.Spec) > 0
	dry, err := DryRun(cmd, u.dryRun)
	if err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"", "name", "json", "yaml"}, u.format):
		return exit.UsageError(cmd, "--output: %q is not a format; choose one of name, json, yaml", u.format)
	case u.file != "" && says:
		return exit.UsageError(cmd, "--filename cannot be used with other changes; leave those out")
	case u.file == "" && len(args) == 0:
		return exit.UsageError(cmd, "give the NAME of %s, or a file with --filename", kinds.Article(u.kind.Singular))
	case u.file == "" && !says:
		return exit.UsageError(cmd, "nothing to change; use --spec, --label or --annotation")
	}
	c, err := u.env.Connect()
	if err != nil {
		return err
	}
	var changed []client.Object
	if u.file != "" {
		changed, err = u.replace(cmd.Context(), c, args, dry)
	} else {
		changed, err = u.merge(cmd.Context(), c, args[0], patch, dry)
	}
	if reported := u.report(changed, dry); err == nil {
		err = reported
	}
	return err
}

// patch is what the flags say; empty when they say nothing.
func (u *Updating) patch(cmd *cobra.Command) (*objects.Patch, error) {
	spec, err := SpecPatch(u.spec)
	if err != nil {
		return nil, exit.UsageError(cmd, "--spec: %w", err)
	}
	if u.FromFlags != nil {
		more, err := u.FromFlags(cmd)
		if err != nil {
			return nil, err
		}
		for name, value := range more {
			if _, twice := spec[name]; twice {
				return nil, exit.UsageError(cmd, "--spec: %s: is set by another flag too", name)
			}
			spec[name] = value
		}
	}
	patch := &objects.Patch{Spec: spec}
	if patch.Labels, err = ParseChanges(u.labels); err != nil {
		return nil, exit.UsageError(cmd, "--label: %w", err)
	}
	if patch.Annotations, err = ParseChanges(u.annotations); err != nil {
		return nil, exit.UsageError(cmd, "--annotation: %w", err)
	}
	return patch, nil
}

// SpecPatch reads a merge patch of a spec.
func SpecPatch(text string) (map[string]any, error) {
	patch := map[string]any{}
	if text == "" {
		return patch, nil
	}
	if err := yaml.UnmarshalStrict([]byte(text), &patch); err != nil || len(patch) == 0 {
		return nil, fmt.Errorf("%q has to be a JSON object with the fields that change, such as {\"version\":\"v1.36.3\"}", text)
	}
	return patch, nil
}

// ParseChanges reads KEY=VALUE, which sets, and KEY-, which removes. A removed one is null, as merge patches have it.
func ParseChanges(words []string) (map[string]any, error) {
	changes := map[string]any{}
	for _, word := range words {
		key, value, set := strings.Cut(word, "=")
		name, removed := strings.CutSuffix(key, "-")
		if !set && removed {
			key = name
		}
		if _, twice := changes[key]; twice || key == "" || !set && !removed {
			return nil, fmt.Errorf("%q has to be KEY=VALUE or KEY-, once for each key", word)
		}
		changes[key] = value
		if !set {
			changes[key] = nil
		}
	}
	return changes, nil
}

// merge changes one object by a merge patch.
func (u *Updating) merge(ctx context.Context, c *objects.Client, name string, patch *objects.Patch, dry bool) ([]client.Object, error) {
	object, err := kinds.Find(ctx, u.env, c, u.kind, name)
	if err != nil {
		return nil, err
	}
	if err := c.Update(ctx, object, *patch, "", dry); err != nil {
		return nil, fmt.Errorf("update %s %s: %w", u.kind.Singular, name, err)
	}
	return []client.Object{object}, nil
}

// replace makes objects say what a file says, and returns those that do.
func (u *Updating) replace(ctx context.Context, c *objects.Client, args []string, dry bool) ([]client.Object, error) {
	wanted, err := readObjects(u.env, u.kind, u.file)
	if err != nil {
		return nil, err
	}
	if len(args) > 0 && (len(wanted) > 1 || wanted[0].GetName() != args[0]) {
		return nil, exit.Fail(exit.Usage, "%s does not hold the %s %q alone; leave out the NAME", u.file, u.kind.Singular, args[0])
	}
	for i, object := range wanted {
		if object.GetName() == "" {
			return nil, fmt.Errorf("%s, %s %d: metadata.name: is missing", u.file, u.kind.Singular, i+1)
		}
	}
	var changed []client.Object
	for _, object := range wanted {
		present, err := kinds.Find(ctx, u.env, c, u.kind, object.GetName())
		if err != nil {
			return changed, err
		}
		if object.GetNamespace() != "" && object.GetNamespace() != present.GetNamespace() {
			return changed, exit.Fail(exit.Usage, "%s, %s %s: metadata.namespace: is %q, and the one of organization %s is in %q",
				u.file, u.kind.Singular, object.GetName(), object.GetNamespace(), u.env.Organization(), present.GetNamespace())
		}
		keepOthers(present, object)
		err = c.Replace(ctx, object, dry)
		if objects.IsConflict(err) {
			return changed, exit.Fail(exit.Failed, "%s %s has changed since it was read; read it again, and repeat your change", u.kind.Singular, object.GetName())
		}
		if err != nil {
			return changed, fmt.Errorf("update %s %s: %w", u.kind.Singular, object.GetName(), err)
		}
		changed = append(changed, object)
	}
	return changed, nil
}

// keepOthers gives an object what a file need not say: where it is, and the revision.
func keepOthers(present, object client.Object) {
	object.SetNamespace(present.GetNamespace())
	if object.GetResourceVersion() == "" {
		object.SetResourceVersion(present.GetResourceVersion())
	}
}

func (u *Updating) report(changed []client.Object, dry bool) error {
	did := "updated"
	if dry {
		did = "would be updated (dry run)"
	}
	for _, object := range changed {
		u.env.Say("%s %s %s", u.kind.Singular, object.GetName(), did)
	}
	if u.format == "" || len(changed) == 0 {
		return nil
	}
	out, err := kinds.NewOutput(u.env.Stdout, u.kind, kinds.OutputOptions{Format: u.format})
	if err != nil {
		return err
	}
	return out.Print(changed, len(changed) == 1)
}
