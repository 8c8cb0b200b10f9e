// Package types has the objects of SSM that Traefik reads.
package types

// InstanceInformation is about a machine.
type InstanceInformation struct{ InstanceId, IPAddress *string }

// InstanceInformationStringFilter chooses machines.
type InstanceInformationStringFilter struct {
	Key    *string
	Values []string
}
