// Package config reads none.
package config

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// LoadOptions say where to read.
type LoadOptions struct{}

// WithLogger changes nothing.
func WithLogger(any) func(*LoadOptions) error { return unsupported }

// WithRegion changes nothing.
func WithRegion(string) func(*LoadOptions) error { return unsupported }

// WithEC2IMDSRegion changes nothing.
func WithEC2IMDSRegion() func(*LoadOptions) error { return unsupported }

// WithCredentialsProvider changes nothing.
func WithCredentialsProvider(aws.CredentialsProvider) func(*LoadOptions) error { return unsupported }

func unsupported(*LoadOptions) error { return errors.ErrUnsupported }

// LoadDefaultConfig fails.
func LoadDefaultConfig(context.Context, ...func(*LoadOptions) error) (aws.Config, error) {
	return aws.Config{}, errors.ErrUnsupported
}
