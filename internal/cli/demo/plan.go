// Package demo fills an installation with what "kqueen up --demo" shows: organizations with users of each role and quotas, a hosted cluster with
// nodes, and simulated clusters beside it.
//
// It hides what there is to show, and that it is made by the REST API step by step: a step that was done is found and not done again, so that
// a second run goes on where the first one ended. The passwords of the users are in a file of their owner alone. Only package host enters it.
package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/simulator"
)

// organization is one of the demonstration.
type organization struct {
	name, displayName string
	quota             v1alpha1.Quota
	// providers of its machines; nil for the usual one.
	providers []string
	members   []member
}

// member is a user with a role.
type member struct {
	user, displayName string
	role              v1alpha1.Role
}

// auditor is the one user who belongs to all organizations.
const auditor = "auditor"

// organizations are all of the demonstration. Names of users say their roles, so that one knows as whom to sign in.
func organizations() []organization {
	return []organization{
		{
			name: "shop", displayName: "Shop", providers: []string{v1alpha1.ProviderLocal, v1alpha1.ProviderManual},
			quota: v1alpha1.Quota{Clusters: ptr.To(int32(8)), Nodes: ptr.To(int32(6)), Machines: &v1alpha1.MachineQuota{Local: ptr.To(int32(2))}},
			members: []member{
				{"shop-owner", "Olga Ortiz", v1alpha1.RoleOwner}, {"shop-operator", "Omar Petit", v1alpha1.RoleOperator},
				{"shop-developer", "Dana Dvorak", v1alpha1.RoleDeveloper}, {auditor, "Ada Brandt", v1alpha1.RoleViewer},
			},
		},
		{
			name: "bank", displayName: "Bank", quota: v1alpha1.Quota{Clusters: ptr.To(int32(6)), Nodes: ptr.To(int32(20))},
			members: []member{
				{"bank-owner", "Bela Olsen", v1alpha1.RoleOwner}, {"bank-operator", "Petra Blum", v1alpha1.RoleOperator}, {auditor, "Ada Brandt", v1alpha1.RoleViewer},
			},
		},
		{
			name: "games", displayName: "Games", quota: v1alpha1.Quota{Clusters: ptr.To(int32(3)), Nodes: ptr.To(int32(4))},
			members: []member{
				{"games-owner", "Gina Okafor", v1alpha1.RoleOwner}, {"games-developer", "Dario Galli", v1alpha1.RoleDeveloper}, {auditor, "Ada Brandt", v1alpha1.RoleViewer},
			},
		},
	}
}

// spec is what the REST API takes.
func (o organization) spec() (json.RawMessage, error) {
	spec := v1alpha1.OrganizationSpec{DisplayName: o.displayName, Quota: &o.quota, MachineProviders: o.providers}
	for _, m := range o.members {
		spec.Members = append(spec.Members, v1alpha1.Member{User: m.user, Role: m.role})
	}
	return json.Marshal(spec)
}

// The hosted cluster, its organization and its nodes.
const (
	hostedIn, hostedName = "shop", "checkout"
	poolName, poolNodes  = "workers", 2
)

// simulatedOf are the simulated clusters of an organization: those whose names begin with its own.
func simulatedOf(o string, all []simulator.Served) []simulator.Served {
	var own []simulator.Served
	for _, c := range all {
		if strings.HasPrefix(c.Name, o+"-") {
			own = append(own, c)
		}
	}
	return own
}

// users are those of all organizations, each once, in order of their names.
func users() []member {
	var all []member
	for _, o := range organizations() {
		all = append(all, o.members...)
	}
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.user, b.user) })
	return slices.CompactFunc(all, func(a, b member) bool { return a.user == b.user })
}

// Present is what an installation has that is not there for demonstrations.
type Present struct {
	// Organizations and Users are their names, Clusters those of clusters, each with its organization.
	Organizations, Clusters, Users []string
}

// Refusal says why an installation is not filled, or nil. One is when it is new: it has the organization "default" alone, which every
// installation has, no cluster, and no user whose name is wanted. It is pure.
func Refusal(p Present) error {
	var has []string
	for _, o := range p.Organizations {
		if o != "default" {
			has = append(has, "the organization "+o)
		}
	}
	for _, c := range p.Clusters {
		has = append(has, "the cluster "+c)
	}
	for _, u := range p.Users {
		if slices.ContainsFunc(users(), func(m member) bool { return m.user == u }) {
			has = append(has, "the user "+u)
		}
	}
	if len(has) == 0 {
		return nil
	}
	more := ""
	if n := len(has) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("--demo: this installation is in use: it has %s%s; nothing was added. Demonstrate with one of its own: kqueen up --demo --data-dir DIRECTORY", has[0], more)
}
