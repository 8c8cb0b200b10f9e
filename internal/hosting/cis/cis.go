// Package cis holds what a control plane runs with against the CIS Kubernetes Benchmark 1.12, sections 1 to 3, and a node against
// section 4: the arguments of their programs and the files that they read. Section 5 is about what a cluster's own users decide,
// and is not here.
//
// It hides the items of the benchmark and what each asks for. It finds nothing itself: tests give it what they describe or
// find running. Only tests import it; docs/development/cis.md is made from the same table.
package cis

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Names of the programs, as in [Found].
const (
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	etcd              = "etcd"
	kubelet           = "kubelet"
	kubeProxy         = "kube-proxy"
)

// Found is what runs for one control plane, its etcd included, or on one node.
type Found struct {
	// Programs by name.
	Programs map[string]Program
	// Files by absolute path: all of the folders in which the programs run, and etcd's folder of data.
	Files map[string]File
}

// Program is one that runs.
type Program struct {
	// Args are its arguments, --name=value.
	Args []string
	// User and Group are the ids of those as which it runs.
	User, Group uint32
}

// File is a file or a folder.
type File struct {
	Mode fs.FileMode
	// Owner and Group are the ids of its user and group.
	Owner, Group uint32
	Data         []byte
}

// Item is one recommendation.
type Item struct {
	// Number is the benchmark's, and Title what it asks for, in our words.
	Number, Title string
	// Holds says what is not as asked for; nil where there is nothing to look at.
	Holds func(Found) error
	// Reason says why the item is not met as it stands, and what is there in its place. Holds is then what the benchmark
	// asks for, and fails: a reason for what holds would be out of date. Instead has to hold in its place.
	Reason  string
	Instead func(Found) error
}

// Result is what was found of an item.
type Result struct {
	Item
	// Problem is what has to change; nil for an item that is met, and for one that is not for its reason.
	Problem error
}

// Check looks at every item of a control plane. It is pure.
func Check(f Found) []Result { return look(f, Items()) }

// CheckNode looks at every item of a node. It is pure.
func CheckNode(f Found) []Result { return look(f, NodeItems()) }

func look(f Found, items []Item) []Result {
	var all []Result
	for _, item := range items {
		all = append(all, Result{item, item.check(f)})
	}
	return all
}

func (i Item) check(f Found) error {
	if i.Reason == "" {
		if i.Holds == nil {
			return errors.New("it has neither a check nor a reason")
		}
		return i.Holds(f)
	}
	if i.Holds != nil && i.Holds(f) == nil {
		return errors.New("it is met, and has a reason why it is not: take the reason away")
	}
	if i.Instead != nil {
		return i.Instead(f)
	}
	return nil
}

// Items is the table of a control plane, in the benchmark's order.
func Items() []Item {
	return slices.Concat(filesOfPlane(), serverItems(), managerItems(), storeItems(), auditItems())
}

// Page is docs/development/cis.md.
func Page() string {
	return head + table(Items()) + headOfNodes + table(NodeItems())
}

func table(items []Item) string {
	var text strings.Builder
	text.WriteString("| item | what it asks for | |\n|---|---|---|\n")
	met := 0
	for _, item := range items {
		state := "met"
		if item.Reason != "" {
			state = item.Reason
		} else {
			met++
		}
		fmt.Fprintf(&text, "| %s | %s | %s |\n", item.Number, item.Title, state)
	}
	fmt.Fprintf(&text, "\n%d of %d are met as they stand; each of the others has its reason above.\n", met, len(items))
	return text.String()
}

const head = `# The CIS Kubernetes Benchmark

Hosted control planes and nodes against the CIS Kubernetes Benchmark 1.12, sections 1 to 4: by the arguments of the programs that run,
and the files that they read. This page is made from the tables in ` + "`internal/hosting/cis`" + `, which tests hold against every
description, and end-to-end tests against what runs. Section 5 is what the users of a cluster decide.

## Control planes

Each control plane has a user of its own, with a group in which no other is: a file that this group may read is closed
to others.

`

const headOfNodes = `
## Nodes

Of machines on this host. Root of a machine of the level ` + "`UserNamespace`" + ` is a user of its own on the host. On a machine that a user joins, all is
the same but 4.2.6: the kubelet creates no chains there, so that it leaves none in the packet filter when the machine leaves.

`
