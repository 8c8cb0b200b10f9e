package join

import (
	"errors"
	"fmt"

	"kqueen.io/kqueen/internal/hosting/release"
)

// Programs are what a machine needs of a store.
type Programs struct {
	Parts release.NodeParts
	// Addons are the newest images of addons; its folder is empty where there are none, with which a node is of use too.
	Addons   release.AddonImages
	Binaries release.Binaries
}

// FindPrograms finds the programs of a version of Kubernetes, and what else a node is made of: the newest parts, or
// those that the machine has already.
func FindPrograms(releases, version, parts string) (Programs, error) {
	v, err := release.ParseVersion(version)
	if err != nil {
		return Programs{}, fmt.Errorf("the cluster's version: %w", err)
	}
	store := release.NewStore(releases)
	binaries, ok, err := store.Lookup(v)
	if err != nil {
		return Programs{}, err
	}
	if !ok {
		return Programs{}, fmt.Errorf("the programs of Kubernetes %s are not in %s; %s", version, releases, fillStore)
	}
	if binaries.NodeDamage != nil {
		return Programs{}, fmt.Errorf("%w; %s", binaries.NodeDamage, fillStore)
	}
	if !binaries.HasNode() {
		return Programs{}, fmt.Errorf("kubelet and kube-proxy %s are not in %s; %s", version, releases, fillStore)
	}
	found, ok, err := store.LookupNodeParts()
	if parts != "" {
		found, ok, err = store.NodePartsAt(parts)
	}
	if err != nil {
		return Programs{}, err
	}
	if !ok {
		return Programs{}, fmt.Errorf("containerd and its company are not in %s; %s", releases, fillStore)
	}
	addons, _, err := store.LookupAddonImages()
	if errors.Is(err, release.ErrDamaged) {
		err = nil
	}
	return Programs{Parts: found, Binaries: binaries, Addons: addons}, err
}

// fillStore says how programs come to a machine.
const fillStore = "build them with: kqueen release build, or copy the folder /var/cache/kqueen/releases of a machine that has them"
