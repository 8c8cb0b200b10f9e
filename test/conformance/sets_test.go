//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPhases(t *testing.T) {
	const driver = "External Storage [Driver: local-volumes.kqueen.io] "
	names := []string{
		"a [Conformance]", "b [Serial] [Conformance]", "c", "d [Serial]",
		"[sig-network] Netpol API should support creating NetworkPolicy API operations",
		"[sig-network] Netpol NetworkPolicy between server and client should support allow-all policy [Feature:NetworkPolicy]",
		"[sig-network] Netpol [Feature:SCTPConnectivity] [LinuxOnly] NetworkPolicy between server and client using SCTP should enforce policy based on Ports [Feature:NetworkPolicy]",
		driver + "[Testpattern: Dynamic PV (default fs)] volumes should store data",
		driver + "[Testpattern: Dynamic PV (default fs)] read-write-once-pod should preempt lower priority pods using ReadWriteOncePod volumes [Serial]",
		driver + "[Testpattern: Dynamic PV (default fs)] disruptive[Disruptive][LinuxOnly] Should test that pv used in a pod that is deleted while the kubelet is down cleans up when the kubelet returns.",
		driver + "[Testpattern: Dynamic PV (xfs)] [Slow] volumes should store data",
		driver + "[Testpattern: Generic Ephemeral-volume (default fs) (immediate-binding)] ephemeral should create read-only inline ephemeral volume",
		driver + "[Testpattern: Generic Ephemeral-volume (default fs) (late-binding)] ephemeral should create read-only inline ephemeral volume",
		"[sig-autoscaling] [Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) ReplicaSet light Should scale from 1 pod to 2 pods",
		"[sig-autoscaling] [Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) ReplicaSet [Slow] Should scale from 1 pod to 3 pods and then from 3 pods to 5 pods",
	}
	got := map[string][]string{}
	for _, s := range sets() {
		for _, p := range s.phases {
			for _, name := range names {
				if p.has(name) {
					got[s.name+" "+p.name] = append(got[s.name+" "+p.name], strings.TrimPrefix(name, driver))
				}
			}
		}
	}
	want := map[string][]string{
		"conformance parallel": {names[0]},
		"conformance serial":   {names[1]},
		"addons policies":      {names[4], names[5]},
		"addons volumes": {
			"[Testpattern: Dynamic PV (default fs)] volumes should store data",
			"[Testpattern: Generic Ephemeral-volume (default fs) (late-binding)] ephemeral should create read-only inline ephemeral volume",
		},
		"addons volumes-serial": {"[Testpattern: Dynamic PV (default fs)] read-write-once-pod should preempt lower priority pods using ReadWriteOncePod volumes [Serial]"},
		"addons autoscaling":    {names[13]},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestChosenPhases(t *testing.T) {
	o := options{tests: addonTests(), procs: 7, phase: "volumes", focus: "claims"}
	want := []phase{{name: "volumes", procs: 7, focus: []string{"claims"}, skip: []string{`\[Feature:`, `\[Disruptive\]`}}}
	if diff := cmp.Diff(want, o.phases(), cmp.AllowUnexported(phase{})); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, p := range (options{tests: conformanceTests(), procs: 7}).phases() {
		want := map[string]phase{
			"parallel": {name: "parallel", procs: 7, label: "Conformance", focus: []string{`\[Conformance\]`}},
			"serial":   {name: "serial", procs: 1, label: "Conformance", focus: []string{`\[Conformance\]`}, serial: true},
		}[p.name]
		if diff := cmp.Diff(want, p, cmp.AllowUnexported(phase{})); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
		if filter := p.filter(); filter != map[bool]string{false: "Conformance && !Serial", true: "Conformance && Serial"}[p.serial] {
			t.Errorf("%s: the labels are filtered by %q", p.name, filter)
		}
	}
	if _, err := setOf("all"); err == nil || err.Error() != `"all" is none of [conformance addons]` {
		t.Errorf("a set that there is not: %v", err)
	}
}
