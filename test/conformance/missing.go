//go:build linux

package main

// missing says which tests cannot run here, by their whole names, and what is missing. A name that is none of a test
// fails the run; -prove runs these tests, too, and fails when one passes.
func missing() map[string]string {
	return map[string]string{
		"[sig-node] ImageVolume should succeed with pod and pull policy of Always [LinuxOnly] [MinimumKubeletVersion:1.35] [Conformance]": "a registry: the pull policy Always asks it for the image, also where the node has it",
	}
}
