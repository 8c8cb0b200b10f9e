//go:build linux

package local_test

import (
	"os"
	"testing"

	"kqueen.io/kqueen/internal/testplane"
)

func TestMain(m *testing.M) { os.Exit(testplane.Run(m)) }
