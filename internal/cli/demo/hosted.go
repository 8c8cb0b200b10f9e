package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/Masterminds/semver/v3"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/client"
)

// hosted creates the hosted cluster, with the newest release that is ready, and waits for it.
func (s *Seed) hosted(ctx context.Context) error {
	in := client.Collection{Kind: "Cluster", Organization: hostedIn}
	_, err := s.API.GetObject(ctx, in, hostedName)
	if isNotFound(err) {
		err = s.create(ctx, in)
	}
	if err != nil {
		return fmt.Errorf("create cluster %s/%s: %w", hostedIn, hostedName, err)
	}
	return s.ready(ctx, in, hostedName)
}

func (s *Seed) create(ctx context.Context, in client.Collection) error {
	releases, err := s.API.AllObjects(ctx, client.Collection{Kind: "Release"}, client.ObjectQuery{})
	if err != nil {
		return err
	}
	version := newest(releases.Items)
	if version == "" {
		return errors.New("no release of Kubernetes is ready yet; see what they wait for: kqueen release list -o wide")
	}
	spec, err := json.Marshal(v1alpha1.ClusterSpec{
		ProvisionerRef: v1alpha1.ProvisionerReference{Name: "hosted", Namespace: v1alpha1.SystemNamespace}, Version: version,
	})
	if err != nil {
		return err
	}
	_, err = s.API.CreateObject(ctx, in, rest.Input{Name: hostedName, Spec: spec}, client.Change{})
	return err
}

// newest returns the newest release that is ready; empty when none is. It is pure.
func newest(releases []rest.Object) string {
	var most *semver.Version
	name := ""
	for i := range releases {
		version, err := semver.NewVersion(releases[i].Name)
		if err == nil && isReady(&releases[i]) && releases[i].DeletionRequestedAt == nil && (most == nil || version.GreaterThan(most)) {
			most, name = version, releases[i].Name
		}
	}
	return name
}

// nodes creates the nodes of the hosted cluster and waits for them for a while: what nodes run may be being built. It returns how many there
// are and, where there are none, why: the host cannot have any, or they are not ready yet.
func (s *Seed) nodes(ctx context.Context) (ready int, why string, err error) {
	in := client.Collection{Kind: "NodePool", Organization: hostedIn}
	spec, err := json.Marshal(v1alpha1.NodePoolSpec{ClusterName: hostedName, Replicas: poolNodes, Template: v1alpha1.MachineTemplate{Provider: v1alpha1.ProviderLocal}})
	if err != nil {
		return 0, "", err
	}
	if _, err := s.ensure(ctx, in, rest.Input{Name: poolName, Spec: spec}); err != nil {
		if why := refusedBy(err); why != "" {
			return 0, why, nil
		}
		return 0, "", err
	}
	waiting, cancel := context.WithTimeout(ctx, s.NodesWithin)
	defer cancel()
	err = s.ready(waiting, in, poolName)
	if late, ok := errors.AsType[*lateError](err); ok && ctx.Err() == nil {
		return 0, "not ready yet: " + late.said, nil
	}
	if err != nil {
		return 0, "", err
	}
	return poolNodes, "", nil
}

// lateError says that something was not ready in time.
type lateError struct{ what, said string }

func (e *lateError) Error() string { return e.what + " is not ready yet: " + e.said }

// ready waits until an object is ready. One that is not when ctx ends is a *lateError.
func (s *Seed) ready(ctx context.Context, in client.Collection, name string) error {
	late := &lateError{what: in.Kind + " " + name, said: "nothing is known of it yet"}
	look := time.NewTicker(s.Look)
	defer look.Stop()
	for {
		found, err := s.API.GetObject(ctx, in, name)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("look at %s: %w", late.what, err)
		}
		if err == nil {
			if isReady(found) {
				return nil
			}
			if c := condition(found, v1alpha1.ConditionReady); c != nil && c.Message != "" {
				late.said = c.Message
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return late
		}
	}
}

// isReady says whether an object is ready as it is wanted now.
func isReady(o *rest.Object) bool {
	c := condition(o, v1alpha1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.Generation
}

// condition returns one of an object, or nil.
func condition(o *rest.Object, kind string) *metav1.Condition {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	if len(o.Status) == 0 || json.Unmarshal(o.Status, &status) != nil {
		return nil
	}
	return apimeta.FindStatusCondition(status.Conditions, kind)
}
