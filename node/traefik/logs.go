package main

import (
	"fmt"
	stdlog "log"
	"os"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
	"github.com/sirupsen/logrus"
	"github.com/traefik/traefik/v3/pkg/observability/logs"
)

// setUpLogs writes JSON to standard error: what upstream's packages say, and at the level debug what its libraries do.
func setUpLogs(o *logOptions) error {
	level, err := zerolog.ParseLevel(o.Level)
	if err != nil {
		return fmt.Errorf("--log.level=%s: %w", o.Level, err)
	}
	zerolog.SetGlobalLevel(level)
	log.Logger = zerolog.New(os.Stderr).With().Timestamp().Logger().Level(level)
	zerolog.DefaultContextLogger = &log.Logger
	libraries := logs.NoLevel(log.Logger, zerolog.DebugLevel)
	logrus.StandardLogger().Out = libraries
	stdlog.SetFlags(stdlog.Lshortfile)
	stdlog.SetOutput(libraries)
	return nil
}
