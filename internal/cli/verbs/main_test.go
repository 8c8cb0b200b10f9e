//go:build linux

package verbs

import (
	"os"
	"testing"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }
