// Package upgrade has the commands about upgrades of clusters. Only the one that ends an upgrade asks first.
//
// It hides how an upgrade is built from flags, and how its steps and what stands against them are shown. Only the root command imports it.
package upgrade
