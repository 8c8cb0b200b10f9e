// Package types has the objects of ECS that Traefik reads.
package types

// HealthStatus is how a task is.
type HealthStatus string

// Some of these.
const (
	HealthStatusHealthy   HealthStatus = "HEALTHY"
	HealthStatusUnhealthy HealthStatus = "UNHEALTHY"
)

// TransportProtocol of a port.
type TransportProtocol string

// TransportProtocolTcp is one of these.
const TransportProtocolTcp TransportProtocol = "tcp"

// DesiredStatus is what a task is meant to do.
type DesiredStatus string

// DesiredStatusRunning is one of these.
const DesiredStatusRunning DesiredStatus = "RUNNING"

// NetworkMode of a task.
type NetworkMode string

// NetworkModeAwsvpc is one of these.
const NetworkModeAwsvpc NetworkMode = "awsvpc"

// Task runs containers.
type Task struct {
	TaskArn, TaskDefinitionArn, ContainerInstanceArn, Group, LastStatus *string

	HealthStatus HealthStatus
	Attachments  []struct{}
	Containers   []Container
}

// Container of a task.
type Container struct {
	Name              *string
	NetworkInterfaces []struct{ PrivateIpv4Address, Ipv6Address *string }
	NetworkBindings   []Port
}

// Port of a container.
type Port struct {
	HostPort, ContainerPort *int32
	Protocol                TransportProtocol
}

// TaskDefinition describes tasks.
type TaskDefinition struct {
	NetworkMode          NetworkMode
	ContainerDefinitions []ContainerDefinition
}

// ContainerDefinition describes a container.
type ContainerDefinition struct {
	Name         *string
	DockerLabels map[string]string
	PortMappings []Port
}

// ContainerInstance is a machine.
type ContainerInstance struct{ ContainerInstanceArn, Ec2InstanceId *string }
