// Package ecs calls no ECS.
package ecs

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/page"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// ListClustersInput is empty.
type ListClustersInput struct{}

// ListClustersOutput has the names of clusters.
type ListClustersOutput struct{ ClusterArns []string }

// ListTasksInput chooses tasks.
type ListTasksInput struct {
	Cluster       *string
	DesiredStatus types.DesiredStatus
}

// ListTasksOutput has the names of tasks.
type ListTasksOutput struct{ TaskArns []string }

// DescribeTasksInput chooses tasks.
type DescribeTasksInput struct {
	Cluster *string
	Tasks   []string
}

// DescribeTasksOutput has them.
type DescribeTasksOutput struct{ Tasks []types.Task }

// DescribeTaskDefinitionInput chooses a definition.
type DescribeTaskDefinitionInput struct{ TaskDefinition *string }

// DescribeTaskDefinitionOutput has it.
type DescribeTaskDefinitionOutput struct{ TaskDefinition *types.TaskDefinition }

// DescribeContainerInstancesInput chooses machines.
type DescribeContainerInstancesInput struct {
	Cluster            *string
	ContainerInstances []string
}

// DescribeContainerInstancesOutput has them.
type DescribeContainerInstancesOutput struct{ ContainerInstances []types.ContainerInstance }

// Client of ECS.
type Client struct{}

// NewFromConfig returns none.
func NewFromConfig(aws.Config) *Client { return nil }

// NewListClustersPaginator lists none.
func NewListClustersPaginator(*Client, *ListClustersInput) page.None[ListClustersOutput] {
	return page.None[ListClustersOutput]{}
}

// NewListTasksPaginator lists none.
func NewListTasksPaginator(*Client, *ListTasksInput) page.None[ListTasksOutput] {
	return page.None[ListTasksOutput]{}
}

// DescribeTasks fails.
func (*Client) DescribeTasks(context.Context, *DescribeTasksInput) (*DescribeTasksOutput, error) {
	return nil, errors.ErrUnsupported
}

// DescribeTaskDefinition fails.
func (*Client) DescribeTaskDefinition(context.Context, *DescribeTaskDefinitionInput) (*DescribeTaskDefinitionOutput, error) {
	return nil, errors.ErrUnsupported
}

// DescribeContainerInstances fails.
func (*Client) DescribeContainerInstances(context.Context, *DescribeContainerInstancesInput) (*DescribeContainerInstancesOutput, error) {
	return nil, errors.ErrUnsupported
}
