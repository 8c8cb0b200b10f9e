//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/machine"
)

// errNotBuilt says that no parts of nodes are in the store.
var errNotBuilt = errors.New("the parts of nodes are not built")

// awaitPrograms says how far the build of the programs of nodes is, what is damaged of those that are there, or that there
// are none and no build is under way. It is pure.
func awaitPrograms(step release.Step, building bool, damage error) (machine.Observed, error) {
	if building {
		return machine.Observed{State: machine.Preparing, Message: "waiting for the programs of nodes, which are being built: " + step.String()}, nil
	}
	if damage != nil {
		return machine.Observed{}, fmt.Errorf("%w; build it again with: kqueen release build", damage)
	}
	return machine.Observed{}, fmt.Errorf("%w: the programs of nodes (kubelet, containerd and others) are not on it; build them with: kqueen release build", machine.ErrUnsupported)
}

// awaiting is a machine whose programs are awaited. What it had of them may run on.
func (p *Provider) awaiting(ctx context.Context, uid types.UID, step release.Step, building bool, damage error) (machine.Observed, error) {
	observed, err := awaitPrograms(step, building, damage)
	if err != nil {
		return machine.Observed{}, err
	}
	status, err := p.Runner.Status(ctx, string(uid))
	if err != nil {
		return machine.Observed{}, fmt.Errorf("look for the programs of the machine: %w", err)
	}
	observed.LifeBegan = lifeBegan(status.Health(), p.began)
	return observed, nil
}

// binariesOf returns the programs of a version of Kubernetes. Those of nodes may not be among them yet.
func (p *Provider) binariesOf(text string) (release.Binaries, error) {
	version, err := release.ParseVersion(text)
	if err != nil {
		return release.Binaries{}, invalid.New("spec.version", "%v", err)
	}
	binaries, ok, err := p.Releases.Lookup(version)
	if err == nil && !ok {
		err = &invalid.Error{Field: "spec.version", Problem: "the programs of " + text + " are not on this machine; see: kqueen release list"}
	}
	return binaries, err
}

// parts are those with which the machine was made.
func (p *Provider) parts(r record) (release.NodeParts, error) {
	parts, ok, err := p.Releases.NodePartsAt(r.Parts)
	if err == nil && !ok {
		err = fmt.Errorf("the programs with which the machine was made are no longer in %s", r.Parts)
	}
	return parts, err
}
