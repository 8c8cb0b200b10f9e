// Package types has the objects of EC2 that Traefik reads.
package types

// InstanceStateName is what an instance does.
type InstanceStateName string

// InstanceStateNameRunning is one of these.
const InstanceStateNameRunning InstanceStateName = "running"

// Instance is a machine.
type Instance struct {
	InstanceId, PrivateIpAddress *string
	State                        struct{ Name InstanceStateName }
}

// Reservation has instances.
type Reservation struct{ Instances []Instance }
