//go:build linux

// Package all lists the drivers. A new driver is one line here.
//
// It hides which drivers there are. Package app, which wires the program, imports it.
package all

import (
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/provision/hosted"
	"kqueen.io/kqueen/internal/clusters/provision/imported"
)

// Config is what drivers are made of.
type Config struct {
	Hosted   hosted.Config
	Imported imported.Config
}

// Drivers returns every driver by its name.
func Drivers(c Config) map[string]provision.Driver {
	drivers := map[string]provision.Driver{}
	for _, d := range []provision.Driver{
		hosted.New(c.Hosted),
		imported.New(c.Imported),
	} {
		drivers[d.Describe().Name] = d
	}
	return drivers
}
