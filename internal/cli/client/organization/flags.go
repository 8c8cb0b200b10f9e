package organization

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// organizationFlags are the flags that say what an organization is and may have.
type organizationFlags struct {
	displayName     string
	podSecurity     string
	clusters, nodes string
	// cpu, memory and store are quantities.
	cpu, memory, store string
	machines           map[string]string
	lists              []listFlag
}

// listFlag is one that says what of many an organization may use.
type listFlag struct {
	name, field, usage string
	// within is the list's name where it stands in an object, which field is then.
	within   string
	complete cobra.CompletionFunc
	value    []string
}

func newOrganizationFlags(e *connection.Env) *organizationFlags {
	return &organizationFlags{lists: []listFlag{
		{
			name: "provisioner", field: "provisionerNames", complete: kinds.CompleteNames(e, kinds.Provisioner, -1),
			usage: "shared provisioner that it may use; may be repeated (default all)",
		},
		{
			name: "release", field: "releases", complete: kinds.CompleteNames(e, kinds.Release, -1),
			usage: "version of Kubernetes that it may use, such as v1.36.3, or v1.36 for all of them; may be repeated (default all)",
		},
		{
			name: "driver", field: "drivers", complete: command.NoCompletion,
			usage: "driver that it may use, also by provisioners of its own; may be repeated (default all)",
		},
		{
			name: "data-store", field: "dataStoreNames", complete: command.NoCompletion,
			usage: "data store that it may use, also by provisioners of its own; may be repeated (default those of the shared provisioners that it may use)",
		},
		{
			name: "machine-provider", field: "machineProviders", complete: command.OneOf(v1alpha1.ProviderLocal, v1alpha1.ProviderManual),
			usage: "provider that its machines may have: local, on the host of KQueen, or manual; may be repeated (default manual)",
		},
		{
			name: "egress-allow", field: "egress", within: "allow", complete: command.NoCompletion,
			usage: "address or range and port that the API servers of its clusters may call beside their own clusters, such as 192.0.2.0/24:443; may be repeated (default none)",
		},
	}}
}

func (o *organizationFlags) register(cmd *cobra.Command) []string {
	f := cmd.Flags()
	f.StringVar(&o.displayName, "display-name", "", "name to show")
	f.StringVar(&o.clusters, "max-clusters", "", "how many clusters it may have, or none for no limit")
	f.StringVar(&o.nodes, "max-nodes", "", "how many nodes its clusters may have together, or none for no limit")
	f.StringToStringVar(&o.machines, "max-machines", nil, "how many of those nodes a machine provider may create, as `PROVIDER=NUMBER`, such as local=4, or local=none; may be repeated")
	f.StringVar(&o.cpu, "max-cpu", "", "how many processors its nodes may have together, such as 16, or none for no limit")
	f.StringVar(&o.memory, "max-memory", "", "how much memory its nodes may have together, such as 64Gi, or none for no limit")
	f.StringVar(&o.store, "max-store", "", "how much its control planes may hold in data stores together, such as 8Gi, or none for no limit")
	flags := []string{"display-name", "max-clusters", "max-nodes", "max-machines", "max-cpu", "max-memory", "max-store"}
	for _, name := range flags {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
	f.StringVar(&o.podSecurity, "pod-security", "", "weakest Pod Security level that its clusters may have: privileged, baseline or restricted (default baseline)")
	_ = cmd.RegisterFlagCompletionFunc("pod-security", command.OneOf(v1alpha1.PodSecurityLevels()...))
	flags = append(flags, "pod-security")
	for i := range o.lists {
		list := &o.lists[i]
		f.StringSliceVar(&list.value, list.name, nil, list.usage)
		_ = cmd.RegisterFlagCompletionFunc(list.name, list.complete)
		flags = append(flags, list.name)
	}
	return flags
}

// spec returns what the flags that were given say, as a merge patch of a spec.
func (o *organizationFlags) spec(cmd *cobra.Command) (map[string]any, error) {
	patch, changed := map[string]any{}, cmd.Flags().Changed
	if changed("display-name") {
		patch["displayName"] = o.displayName
	}
	if changed("pod-security") {
		patch["podSecurity"] = nil
		if o.podSecurity != "" {
			patch["podSecurity"] = o.podSecurity
		}
	}
	quota, err := o.quota(cmd)
	if err != nil {
		return nil, err
	}
	if len(quota) > 0 {
		patch["quota"] = quota
	}
	for _, list := range o.lists {
		switch {
		case !changed(list.name):
		case strings.Join(list.value, "") == "":
			patch[list.field] = nil // what it is without
		case list.within != "":
			patch[list.field] = map[string]any{list.within: list.value}
		default:
			patch[list.field] = list.value
		}
	}
	return patch, nil
}

// quota is the part of spec that bounds.
func (o *organizationFlags) quota(cmd *cobra.Command) (map[string]any, error) {
	quota, machines := map[string]any{}, map[string]any{}
	for _, limit := range []struct{ flag, field, value string }{{"max-clusters", "clusters", o.clusters}, {"max-nodes", "nodes", o.nodes}} {
		if !cmd.Flags().Changed(limit.flag) {
			continue
		}
		most, err := parseLimit(limit.value)
		if err != nil {
			return nil, exit.UsageError(cmd, "--%s: %w", limit.flag, err)
		}
		quota[limit.field] = most
	}
	for _, limit := range []struct{ flag, field, value string }{{"max-cpu", "cpu", o.cpu}, {"max-memory", "memory", o.memory}, {"max-store", "store", o.store}} {
		if !cmd.Flags().Changed(limit.flag) {
			continue
		}
		most, err := parseAmount(limit.value)
		if err != nil {
			return nil, exit.UsageError(cmd, "--%s: %w", limit.flag, err)
		}
		quota[limit.field] = most
	}
	for provider, value := range o.machines {
		if provider != v1alpha1.ProviderLocal && provider != v1alpha1.ProviderManual {
			return nil, exit.UsageError(cmd, "--max-machines: %q has to be %s or %s", provider, v1alpha1.ProviderLocal, v1alpha1.ProviderManual)
		}
		most, err := parseLimit(value)
		if err != nil {
			return nil, exit.UsageError(cmd, "--max-machines: %s: %w", provider, err)
		}
		machines[provider] = most
	}
	if len(machines) > 0 {
		quota["machines"] = machines
	}
	return quota, nil
}

// parseAmount reads a quantity, or none, which is null.
func parseAmount(text string) (any, error) {
	if text == "none" {
		return nil, nil
	}
	most, err := resource.ParseQuantity(text)
	if err != nil || most.Sign() < 0 {
		return nil, fmt.Errorf("%q has to be a quantity such as 16, 500m or 64Gi, or none", text)
	}
	return most.String(), nil
}

// parseLimit reads a number, or none, which is null.
func parseLimit(text string) (any, error) {
	if text == "none" {
		return nil, nil
	}
	most, err := strconv.ParseInt(text, 10, 32)
	if err != nil || most < 0 {
		return nil, fmt.Errorf("%q has to be a number from 0 on, or none", text)
	}
	return most, nil
}
