//go:build linux

package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// markSerial is in the names of tests that run alone.
const markSerial = "[Serial]"

// set is a part of upstream's tests that is run as a whole.
type set struct {
	name    string // as the flag -tests has it
	command string // that runs it all, of make
	phases  []phase
	missing []lack
}

// sets are in the order in which the command names them.
func sets() []set {
	return []set{conformanceTests(), addonTests()}
}

// setOf returns the set of a name.
func setOf(name string) (set, error) {
	var names []string
	for _, s := range sets() {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	return set{}, fmt.Errorf("%q is none of %v", name, names)
}

// phase is one run of ginkgo: the tests that match one of focus and none of skip, which are regular expressions.
type phase struct {
	name   string
	procs  int // most tests at a time; 0: as the user says
	serial bool
	label  string // that the tests have in ginkgo, too; empty: any
	focus  []string
	skip   []string
}

// has says whether a test belongs to the phase, by its name.
func (p phase) has(name string) bool {
	matches := func(expr string) bool { return regexp.MustCompile(expr).MatchString(name) }
	return strings.Contains(name, markSerial) == p.serial && slices.ContainsFunc(p.focus, matches) && !slices.ContainsFunc(p.skip, matches)
}

// filter is what ginkgo asks of the labels of a test.
func (p phase) filter() string {
	filter := "!Serial"
	if p.serial {
		filter = "Serial"
	}
	if p.label != "" {
		filter = p.label + " && " + filter
	}
	return filter
}

func conformanceTests() set {
	all := phase{label: "Conformance", focus: []string{`\[Conformance\]`}}
	parallel, serial := all, all
	parallel.name, serial.name = "parallel", "serial"
	serial.serial, serial.procs = true, 1
	return set{name: "conformance", command: "make conformance", phases: []phase{parallel, serial}, missing: lacksOfConformance()}
}

// localVolumes describes the addon to upstream's tests of storage. Without topology keys: a test of capacity would look
// for the driver in CSINodes, in which a driver without a CSI socket is not.
//
//go:embed local-volumes.yaml
var localVolumes []byte

// addonTests are of what the addons promise: network policies, volumes and metrics. Those of volumes are upstream's tests
// of storage drivers for what is created on demand once a pod wants it; file systems of a driver's own choice and block
// devices are no part of the addon, and neither are features that its description does not claim.
func addonTests() set {
	policies := phase{name: "policies", focus: []string{`\[sig-network\] Netpol `}, skip: []string{`\[Feature:SCTPConnectivity\]`}}
	volumes := phase{
		name: "volumes",
		focus: []string{
			`External Storage \[Driver: local-volumes\.kqueen\.io\] \[Testpattern: (Dynamic PV \((default fs|filesystem volmode)\)|Generic Ephemeral-volume \(default fs\) \(late-binding\))\]`,
			`\[Driver: local-volumes\.kqueen\.io\] \[Testpattern: Dynamic PV \(block volmode\)\] volumeMode should fail in binding`,
			`StatefulSetPersistentVolumeClaimPolicy`, `StatefulSet .* with PVCs$`, `\[sig-storage\] PVC Protection`,
			`PersistentVolumes Default StorageClass .* pods that use multiple volumes should be reschedulable`,
		},
		skip: []string{`\[Feature:`, `\[Disruptive\]`},
	}
	serial := volumes
	serial.name, serial.serial, serial.procs = "volumes-serial", true, 1
	// The pods of two tests ask for more processors than two nodes have.
	autoscaling := phase{
		name: "autoscaling", procs: 1, skip: []string{`\[Slow\]`},
		focus: []string{`Horizontal pod autoscaling \(scale resource: CPU\)`},
	}
	return set{name: "addons", command: "make conformance-addons", phases: []phase{policies, volumes, serial, autoscaling}, missing: lacksOfAddons()}
}
