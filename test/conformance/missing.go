//go:build linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// lack says why some tests cannot run here. A lack that matches no test fails the run; -prove runs its tests, too, and
// fails when one passes.
type lack struct {
	tests string // regular expression of names
	why   string // what is missing
}

func lacksOfConformance() []lack {
	return []lack{
		{`\[sig-node\] ImageVolume should succeed with pod and pull policy of Always`, "a registry: the pull policy Always asks it for the image, also where the node has it"},
	}
}

func lacksOfAddons() []lack {
	const (
		block = "block devices"
		clone = "copies of volumes"
		grow  = "growing: upstream runs this for drivers that can"
		move  = "volumes that another node can reach"
	)
	return []lack{
		{`ephemeral should support expansion of pvcs`, grow},
		{`multiVolume \[Slow\] should access to two volumes with different volume mode`, block},
		{`multiVolume \[Slow\] .* on different node`, move},
		{`provisioning should mount multiple PV pointing to the same storage`, "two PersistentVolumes for one volume"},
		{`provisioning should provision storage with any volume data source`, "the image hello-populator, which upstream has in its registry"},
		{`provisioning should provision storage with mount options`, "options of mounts: upstream runs this for drivers that have some"},
		{`provisioning should provision storage with pvc data source`, clone},
		{`volume-expand should not allow expansion of pvcs without AllowVolumeExpansion property`, grow},
		{`volume-lifecycle-performance`, "aims for how fast volumes come, which a description of the driver would have to name"},
		{`volume-stress multiple pods should access different volumes repeatedly`, "how many pods and volumes to try, which a description of the driver would have to name"},
		{`volumeLimits`, "limits of how many volumes a node can have: nodes say them by CSI, and folders need none"},
		{`volumeMode should fail to use a volume in a pod with mismatched mode`, block},
	}
}

// reasons says for each of the tests that cannot run what is missing.
func reasons(lacks []lack, names map[string]bool) (map[string]string, error) {
	why := map[string]string{}
	var errs []error
	for _, l := range lacks {
		expr := regexp.MustCompile(l.tests)
		before := len(why)
		for name := range maps.Keys(names) {
			if expr.MatchString(name) {
				why[name] = l.why
			}
		}
		if len(why) == before {
			errs = append(errs, fmt.Errorf("%q is said not to be able to run, and is no test of this version; take it from the table", l.tests))
		}
	}
	return why, errors.Join(errs...)
}

// skips are the regular expressions of what cannot run.
func skips(lacks []lack) []string {
	var exprs []string
	for _, l := range lacks {
		exprs = append(exprs, l.tests)
	}
	return slices.Compact(exprs)
}
