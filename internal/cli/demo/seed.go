package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/clusters/simulator"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/platform/text"
)

// Seed fills an installation. All fields are required.
type Seed struct {
	// API is that of the owner of the machine.
	API *client.Client
	// Access is how the simulated clusters are adopted.
	Access *simulator.Access
	// Users is the file of passwords.
	Users string
	// Look is the time between two looks at what is awaited, and NodesWithin how long nodes are awaited.
	Look, NodesWithin time.Duration
	// Report is told of the steps.
	Report func(stage.Step)
}

// Made says what there is.
type Made struct {
	Organizations, Users, Simulated int
	// Hosted is ORGANIZATION/CLUSTER of the hosted cluster, and Nodes how many it has that are ready.
	Hosted string
	Nodes  int
	// Without says why it has no nodes, or why they are not ready yet; empty when they are.
	Without string
}

// Present returns what is there before an installation is for demonstrations.
func (s *Seed) Present(ctx context.Context) (Present, error) {
	var p Present
	organizations, err := s.API.AllObjects(ctx, client.Collection{Kind: "Organization"}, client.ObjectQuery{})
	if err != nil {
		return p, fmt.Errorf("list organizations: %w", err)
	}
	for _, o := range organizations.Items {
		p.Organizations = append(p.Organizations, o.Name)
	}
	clusters, err := s.API.AllObjects(ctx, client.Collection{Kind: "Cluster"}, client.ObjectQuery{})
	if err != nil {
		return p, fmt.Errorf("list clusters: %w", err)
	}
	for _, c := range clusters.Items {
		p.Clusters = append(p.Clusters, c.Organization+"/"+c.Name)
	}
	for _, m := range users() {
		_, err := s.API.GetUser(ctx, m.user)
		if err == nil {
			p.Users = append(p.Users, m.user)
		} else if !isNotFound(err) {
			return p, fmt.Errorf("look for user %s: %w", m.user, err)
		}
	}
	return p, nil
}

// Run makes what is missing, in the order in which it is needed.
func (s *Seed) Run(ctx context.Context) (Made, error) {
	made := Made{Organizations: len(organizations()), Users: len(users()), Simulated: len(s.Access.Clusters), Hosted: hostedIn + "/" + hostedName}
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"Organizations", s.organizations},
		{"Users", s.users},
		{"Adopt " + text.Count(made.Simulated, "simulated cluster"), s.simulated},
		{"Hosted cluster " + made.Hosted, s.hosted},
		{"Its nodes", func(ctx context.Context) (err error) {
			made.Nodes, made.Without, err = s.nodes(ctx)
			return err
		}},
	}
	for _, step := range steps {
		if err := stage.Run(ctx, s.Report, step.name, step.run); err != nil {
			return made, err
		}
	}
	return made, nil
}

func isNotFound(err error) bool {
	p, ok := errors.AsType[*rest.Problem](err)
	return ok && p.Code == rest.CodeNotFound
}

// ensure returns an object, and creates it where there is none.
func (s *Seed) ensure(ctx context.Context, in client.Collection, wanted rest.Input) (*rest.Object, error) {
	have, err := s.API.GetObject(ctx, in, wanted.Name)
	if isNotFound(err) {
		have, err = s.API.CreateObject(ctx, in, wanted, client.Change{})
	}
	if err != nil {
		return nil, fmt.Errorf("create %s %s: %w", in.Kind, wanted.Name, err)
	}
	return have, nil
}

func (s *Seed) organizations(ctx context.Context) error {
	in := client.Collection{Kind: "Organization"}
	for _, o := range organizations() {
		spec, err := o.spec()
		if err != nil {
			return err
		}
		if _, err := s.ensure(ctx, in, rest.Input{Name: o.name, Spec: spec}); err != nil {
			return err
		}
	}
	for _, o := range organizations() {
		if err := s.ready(ctx, in, o.name); err != nil {
			return err
		}
	}
	return nil
}

// users has each user exist, with the password that the file has. The file is written first: a password that is set and not known
// would be of no use. Users with another password keep it.
func (s *Seed) users(ctx context.Context) error {
	known, err := readPasswords(s.Users)
	if err != nil {
		return err
	}
	var open []string
	for _, m := range users() {
		have, err := s.API.GetUser(ctx, m.user)
		if isNotFound(err) {
			have, err = s.API.CreateUser(ctx, rest.NewUser{Name: m.user, DisplayName: m.displayName})
		}
		if err != nil {
			return fmt.Errorf("create user %s: %w", m.user, err)
		}
		if have.HasPassword {
			continue
		}
		open = append(open, m.user)
		if known[m.user] == "" {
			known[m.user] = newPassword()
		}
	}
	if len(open) == 0 {
		return nil
	}
	if err := known.write(s.Users); err != nil {
		return err
	}
	for _, user := range open {
		once, err := s.API.ResetUser(ctx, user)
		if err == nil {
			err = s.API.ChoosePassword(ctx, rest.ChoosePassword{Token: once.Token, Password: known[user]})
		}
		if err != nil {
			return fmt.Errorf("choose a password for user %s: %w", user, err)
		}
	}
	return nil
}

// simulated adopts the simulated clusters, as a user adopts any cluster by its kubeconfig. Those that are meant not to answer are
// adopted all the same.
func (s *Seed) simulated(ctx context.Context) error {
	spec, err := json.Marshal(v1alpha1.ClusterSpec{ProvisionerRef: v1alpha1.ProvisionerReference{Name: "imported", Namespace: v1alpha1.SystemNamespace}})
	if err != nil {
		return err
	}
	for _, o := range organizations() {
		in := client.Collection{Kind: "Cluster", Organization: o.name}
		for _, c := range simulatedOf(o.name, s.Access.Clusters) {
			have, err := s.ensure(ctx, in, rest.Input{Name: c.Name, Labels: map[string]string{v1alpha1.LabelSimulated: "true"}, Spec: spec})
			if err != nil {
				return err
			}
			if err := s.adopt(ctx, o.name, c, have); err != nil {
				return fmt.Errorf("adopt simulated cluster %s/%s: %w", o.name, c.Name, err)
			}
		}
	}
	return nil
}

// adopt sets the kubeconfig of a cluster that has none, or whose own one does not work any more.
func (s *Seed) adopt(ctx context.Context, organization string, c simulator.Served, have *rest.Object) error {
	keys, err := s.API.GetClusterCredentials(ctx, organization, c.Name)
	if err != nil {
		return err
	}
	if slices.Contains(keys.Keys, v1alpha1.CredentialKubeconfig) && (c.Troubled || isReady(have)) {
		return nil
	}
	kubeconfig, err := s.Access.Kubeconfig(c)
	if err != nil {
		return err
	}
	return s.API.SetClusterCredentials(ctx, organization, c.Name, map[string]string{v1alpha1.CredentialKubeconfig: string(kubeconfig)}, client.Setting{Force: c.Troubled})
}

// refusedBy returns why the server does not take what was asked for, as it says; empty for another error. It is pure.
func refusedBy(err error) string {
	p, ok := errors.AsType[*rest.Problem](err)
	if !ok || p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusForbidden {
		return ""
	}
	if len(p.Errors) == 1 { // what else it says is about a request that no user has written
		return strings.TrimPrefix(p.Errors[0].Detail, "Forbidden: ")
	}
	return p.Error()
}
