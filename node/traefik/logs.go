package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
	slogzerolog "github.com/samber/slog-zerolog/v2"
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
	logrus.StandardLogger().Out = logs.NoLevel(log.Logger, zerolog.DebugLevel)
	slog.SetLogLoggerLevel(slog.LevelDebug) // of package log, whose output slog takes over
	slog.SetDefault(slog.New(slogzerolog.Option{Level: slog.LevelDebug, Logger: &log.Logger}.NewZerologHandler()))
	return nil
}
