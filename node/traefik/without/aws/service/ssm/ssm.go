// Package ssm calls no SSM.
package ssm

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/page"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// Client of SSM.
type Client struct{}

// NewFromConfig returns none.
func NewFromConfig(aws.Config) *Client { return nil }

// DescribeInstanceInformationInput chooses machines.
type DescribeInstanceInformationInput struct {
	Filters []types.InstanceInformationStringFilter
}

// DescribeInstanceInformationOutput has them.
type DescribeInstanceInformationOutput struct {
	InstanceInformationList []types.InstanceInformation
}

// NewDescribeInstanceInformationPaginator lists none.
func NewDescribeInstanceInformationPaginator(*Client, *DescribeInstanceInformationInput) page.None[DescribeInstanceInformationOutput] {
	return page.None[DescribeInstanceInformationOutput]{}
}
